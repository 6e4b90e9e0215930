import re

import pytest

from mockkube.api.kinds.batch.indexes import count_indexes, find_common_index


@pytest.mark.parametrize(("text", "count"), [("", 0), ("0", 1), ("0,2-4", 4)])
def test_indexes_are_counted(text, count):
    assert count_indexes(text, 5) == count


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("5", 'too large index: "5"', id="too large"),
        pytest.param("x", 'cannot convert string to integer for index: "x"', id="no number"),
        pytest.param("2,1", "non-increasing order, previous: 2, current: 1", id="falling"),
        pytest.param("3-3", "non-increasing order, previous: 3, current: 3", id="empty interval"),
        pytest.param(
            "1-2-3",
            'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated '
            "by '-'",
            id="three parts",
        ),
    ],
)
def test_what_is_out_of_form_is_named(text, complaint):
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}$"):
        count_indexes(text, 5)


@pytest.mark.parametrize(
    ("completed", "failed", "index"), [("0-2", "2-3", 2), ("0,4", "1-3", None), ("", "1", None), ("x,3", "3", 3)]
)
def test_an_index_is_done_or_lost_not_both(completed, failed, index):
    assert find_common_index(completed, failed, 5) == index
