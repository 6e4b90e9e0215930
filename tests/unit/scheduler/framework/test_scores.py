import pytest

from mockkube.scheduler.framework.scores import default_normalize_score


@pytest.mark.parametrize(
    ("scores", "reverse", "expected"),
    [
        pytest.param([1, 2, 3], False, [33, 66, 100], id="the greatest is 100, the rest rounded down"),
        pytest.param([1, 2, 3], True, [67, 34, 0], id="reversed after rounding"),
        pytest.param([0, 0], False, [0, 0], id="nothing scored"),
        pytest.param([0, 0], True, [100, 100], id="nothing held against anyone"),
        pytest.param([], True, [], id="no nodes"),
    ],
)
def test_scores_are_scaled_by_the_greatest(scores: list[int], reverse: bool, expected: list[int]) -> None:
    default_normalize_score(scores, reverse=reverse)
    assert scores == expected
