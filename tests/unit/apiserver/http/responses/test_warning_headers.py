from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from mockkube.apiserver.http.responses.warning_headers import (
    TOTAL_CHARACTERS_MAX,
    TRUNCATED_CHARACTERS_MAX,
    format_warning_headers,
)


def test_a_warning_is_quoted() -> None:
    assert format_warning_headers(['a "b" \\']) == ['299 - "a \\"b\\" \\\\"']


def test_what_a_header_cannot_hold_is_not_sent_nor_anything_twice() -> None:
    assert format_warning_headers(["a\nb", "c", "", "c", "d\x85", "ü"]) == ['299 - "c"', '299 - "ü"']


def test_a_long_warning_alone_is_whole() -> None:
    assert format_warning_headers(["x" * TOTAL_CHARACTERS_MAX]) == [f'299 - "{"x" * TOTAL_CHARACTERS_MAX}"']


def test_too_many_are_cut_and_the_rest_left_out() -> None:
    found = format_warning_headers([f"{number:03}{'x' * 400}" for number in range(40)])
    assert len(found) == TOTAL_CHARACTERS_MAX // TRUNCATED_CHARACTERS_MAX
    assert found[-1] == f'299 - "015{"x" * (TRUNCATED_CHARACTERS_MAX - 3)}"'


@given(st.lists(st.text(max_size=600), max_size=30))
def test_whatever_is_told_fits(texts: list[str]) -> None:
    sent = format_warning_headers(texts)
    whole = sum(len(text) for text in set(texts)) <= TOTAL_CHARACTERS_MAX
    assert whole or sum(map(len, sent)) <= (TOTAL_CHARACTERS_MAX + TRUNCATED_CHARACTERS_MAX) * 2 + len(sent) * 8


def test_no_more_warnings_are_read_than_can_be_sent() -> None:
    read = []

    def texts() -> Iterator[str]:
        for number in range(600_000):
            read.append(number)
            yield f"line {number}: key already set in map"

    assert sum(map(len, format_warning_headers(texts()))) < 6000
    assert len(read) < 200
