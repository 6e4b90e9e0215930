"""Why a text is not JSON, in Go's words."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mockkube.api.decoding import go_json_errors

MENDED = "invalid character in string"
"""What is said of a text that Go's parser would take."""


def is_json(text: bytes) -> bool:
    """Whether a strict parser takes the text."""

    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(b"", "unexpected end of JSON input", id="nothing"),
        pytest.param(b"  ", "unexpected end of JSON input", id="space"),
        pytest.param(b"{", "unexpected end of JSON input", id="an object without an end"),
        pytest.param(b'{"a"', "unexpected end of JSON input", id="a key without an end"),
        pytest.param(b'{"a":1', "unexpected end of JSON input", id="a member without an end"),
        pytest.param(b'"a', "unexpected end of JSON input", id="a string without an end"),
        pytest.param(b"tru", "unexpected end of JSON input", id="a literal without an end"),
        pytest.param(b"x", "invalid character 'x' looking for beginning of value", id="no value"),
        pytest.param(b"[1,]", "invalid character ']' looking for beginning of value", id="a comma too many"),
        pytest.param(b"{a:1}", "invalid character 'a' looking for beginning of object key string", id="a bare key"),
        pytest.param(b'{"a" 1}', "invalid character '1' after object key", id="no colon"),
        pytest.param(b'{"a":1 "b"}', "invalid character '\"' after object key:value pair", id="no comma"),
        pytest.param(b"[1 2]", "invalid character '2' after array element", id="no comma in an array"),
        pytest.param(b"{} x", "invalid character 'x' after top-level value", id="more than a value"),
        pytest.param(b"trux", "invalid character 'x' in literal true (expecting 'e')", id="no literal"),
        pytest.param(b"-x", "invalid character 'x' in numeric literal", id="a minus alone"),
        pytest.param(b"1.x", "invalid character 'x' after decimal point in numeric literal", id="a point alone"),
        pytest.param(b"1ex", "invalid character 'x' in exponent of numeric literal", id="an exponent alone"),
        pytest.param(b"01", "invalid character '1' after top-level value", id="a zero in front"),
        pytest.param(b'"\\q"', "invalid character 'q' in string escape code", id="an unknown escape"),
        pytest.param(b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape", id="no digit"),
        pytest.param(b'"a\nb"', "invalid character '\\n' in string literal", id="a line break"),
        pytest.param(b'"a\x00b"', "invalid character '\\x00' in string literal", id="a NUL"),
        pytest.param(b"\xef\xbb\xbf{}", "invalid character '\u00ef' looking for beginning of value", id="a mark"),
        pytest.param(b"'a'", "invalid character '\\'' looking for beginning of value", id="a quote"),
    ],
)
def test_the_first_place_that_is_wrong_is_named(text: bytes, complaint: str) -> None:
    assert go_json_errors.find_syntax_error(text) == complaint


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:\\ tfn10.-e\n', max_size=40).map(str.encode))
@example(b"\xff")
def test_there_is_always_a_complaint(text: bytes) -> None:
    assert go_json_errors.find_syntax_error(text)


@given(st.text(alphabet='{}[]",:\\ truefalsn10.-eE\n', max_size=30).map(str.encode))
@example(b"[1e5,-0.5E-3]")
@example(b'{"":[{},"\\u12aF"]}')
@example(b"1.e")
def test_a_text_is_json_exactly_if_nothing_is_found(text: bytes) -> None:
    assert (go_json_errors.find_syntax_error(text) == MENDED) is is_json(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_nothing_is_found_in_what_a_writer_of_json_wrote(value: Any) -> None:
    assert go_json_errors.find_syntax_error(json.dumps(value).encode()) == MENDED
    assert (
        go_json_errors.find_syntax_error(json.dumps(value, ensure_ascii=False, indent=1).encode(errors="replace"))
        == MENDED
    )


@pytest.mark.parametrize("opening", [b"[", b'{"a":'], ids=["arrays", "objects"])
def test_depth_is_no_more_than_a_complaint(opening: bytes) -> None:
    assert go_json_errors.find_syntax_error(opening * 9_000) == "unexpected end of JSON input"
    assert go_json_errors.find_syntax_error(opening * 20_000) == "exceeded max depth"


@pytest.mark.parametrize(
    ("char", "quoted"),
    [(b"a", "'a'"), (b"'", r"'\''"), (b'"', "'\"'"), (b"\n", r"'\n'"), (b"\x07", r"'\x07'"), (b"\xe9", "'\u00e9'")],
)
def test_a_character_is_quoted_as_go_does(char: bytes, quoted: str) -> None:
    assert go_json_errors.quote_byte(char) == quoted
