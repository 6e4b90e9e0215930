"""Sets of completion indexes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.controllers.job.indexes import OrderedIntervals

INDEXES = st.sets(st.integers(0, 30))


def members(intervals):
    return {index for index in range(40) if index in intervals}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        pytest.param("", "", id="none"),
        pytest.param("0,2-4,9", "0,2-4,9", id="runs"),
        pytest.param("0,1", "0,1", id="two in a row are named"),
        pytest.param("0,1,2", "0-2", id="three in a row are a run"),
        pytest.param("0-3,8-12", "0-3,8,9", id="what is not asked for is cut off"),
        pytest.param("0,x,2-y,4", "0,4", id="what cannot be read is passed over"),
        pytest.param("12,3", "", id="nothing is read after one that is not asked for"),
    ],
)
def test_texts_are_read_below_a_bound_and_written_shortest(text, read):
    assert str(OrderedIntervals.parse(text, 10)) == read


@given(INDEXES)
def test_what_is_written_is_read_again(indexes):
    assert members(OrderedIntervals.parse(str(OrderedIntervals.from_indexes(indexes)), 100)) == indexes


@given(INDEXES, INDEXES)
def test_they_are_sets(one, other):
    left, right = OrderedIntervals.from_indexes(one), OrderedIntervals.from_indexes(other)
    assert members(left | right) == one | other
    assert len(left) == len(one)
    assert left.count_shared(right) == len(one & other)


@given(INDEXES, st.integers(0, 35), st.integers(0, 10))
def test_what_is_missing_comes_in_order(indexes, completions, count):
    missing = [index for index in range(completions) if index not in indexes]
    assert OrderedIntervals.from_indexes(indexes).first_missing(completions, count) == missing[:count]
