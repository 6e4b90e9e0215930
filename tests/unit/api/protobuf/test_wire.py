import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.protobuf import wire
from mockkube.api.protobuf.wire import Malformed


@given(st.integers(min_value=-(1 << 63), max_value=(1 << 63) - 1))
def test_an_int64_is_read_as_it_was_written(value):
    written = wire.encode_varint(value)
    number, end = wire.read_varint(written, 0)
    assert (wire.to_int64(number), end) == (value, len(written))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param(0, "00", id="zero"),
        pytest.param(300, "ac02", id="the lower bits stand first"),
        pytest.param(-1, "ffffffffffffffffff01", id="a negative number takes ten bytes"),
    ],
)
def test_varints_are_written_as_everybody_writes_them(value, written):
    assert wire.encode_varint(value).hex() == written


def test_an_int32_is_the_lower_half():
    assert wire.to_int32(wire.read_varint(wire.encode_varint(-7), 0)[0]) == -7


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param("ff" * 10, "proto: integer overflow", id="a varint without an end"),
        pytest.param("0affffffffffffffffff01", "negative length", id="a length below zero"),
        pytest.param("0a7f00", "unexpected EOF", id="a length past the end"),
        pytest.param("0000", "illegal tag 0", id="field number zero"),
        pytest.param("0c", "end group for non-group", id="the end of a group that never began"),
        pytest.param("0f00", "illegal wireType 7", id="a wire type that does not exist"),
        pytest.param("0d0000", "unexpected EOF", id="half a fixed32"),
        pytest.param("0b" * 101, "nested too deeply", id="groups in groups in groups"),
    ],
)
def test_what_cannot_be_a_message_is_named(data, why):
    with pytest.raises(Malformed, match=why):
        wire.read_fields(bytes.fromhex(data), 0, len(data) // 2)


def test_fields_of_other_wire_types_are_skipped_groups_included():
    group = "33" + "0801" + "3b0801" + "3c" + "34"
    data = bytes.fromhex("1d01020304" + "21" + "00" * 8 + group + "0805")
    assert wire.read_fields(data, 0, len(data)) == {1: 5}


def test_the_last_of_a_repeated_field_counts():
    data = bytes.fromhex("08010802")
    assert wire.read_fields(data, 0, len(data)).get_number(1) == 2


def test_a_number_is_not_taken_for_text_nor_text_for_a_number():
    data = bytes.fromhex("0801120161")
    found = wire.read_fields(data, 0, len(data))
    with pytest.raises(Malformed, match="wrong wireType = 0"):
        found.get_bytes(1)
    with pytest.raises(Malformed, match="wrong wireType = 2"):
        found.get_number(2)
