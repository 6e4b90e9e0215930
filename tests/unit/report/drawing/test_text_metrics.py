"""Estimated widths of text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.report.drawing.text_metrics import fit, measure, shorten, wrap

WORDS = st.lists(st.text("abcimMW-.", min_size=1, max_size=12), min_size=1, max_size=30).map(" ".join)


@given(WORDS)
def test_lines_have_all_words_and_no_line_is_too_long_unless_it_is_one_word(text: str) -> None:
    lines = wrap(text, 120, 12)
    assert " ".join(lines) == text
    assert all(measure(one, 12) <= 120 or " " not in one for one in lines)


@given(WORDS)
def test_a_shortened_text_fits(text: str) -> None:
    assert measure(shorten(text, 100, 12), 12) <= 100


@pytest.mark.parametrize(
    ("width", "text"), [(200, "controllers"), (60, "control…"), (12, "C"), (2, "")], ids=["all", "part", "letter", "no"]
)
def test_as_much_is_shown_as_fits(width: float, text: str) -> None:
    assert fit("controllers", width, 12) == text
