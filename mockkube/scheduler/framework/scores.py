"""Bringing raw scores to the range that weights count on."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.interface import SCORE_MAX

_SHAPE_SCORE_MAX: Final = 10
"""The greatest score that a shape in a plugin's arguments may name."""


def proportional(scores: list[int], *, reverse: bool = False) -> None:
    """Scale scores so that the greatest becomes SCORE_MAX, in place; reversed, it becomes 0 and 0 becomes SCORE_MAX."""
    # upstream 1.36: pkg/scheduler/framework/plugins/helper/normalize_score.go
    greatest = max(scores, default=0)
    if greatest <= 0:
        if reverse:
            scores[:] = [SCORE_MAX] * len(scores)
    elif reverse:
        scores[:] = [SCORE_MAX - SCORE_MAX * score // greatest for score in scores]
    else:
        scores[:] = [SCORE_MAX * score // greatest for score in scores]


def broken_line(shape: Iterable[ReadOnlyObject]) -> Callable[[int], int]:
    """Return the function that a shape of utilization and score describes, level before its first and after its last.

    Its scores reach up to SCORE_MAX; in between it is linear, truncated to whole scores.
    """
    # upstream 1.36: pkg/scheduler/framework/plugins/helper/shape_score.go
    scale = SCORE_MAX // _SHAPE_SCORE_MAX
    points = [(point.get("utilization", 0), point.get("score", 0) * scale) for point in shape]

    def score(utilization: int) -> int:
        if utilization <= points[0][0]:
            return int(points[0][1])
        for (left, low), (right, high) in pairwise(points):
            if utilization <= right:
                rise = (high - low) * (utilization - left)
                step = abs(rise) // (right - left)
                return int(low + step if rise >= 0 else low - step)
        return int(points[-1][1])

    return score
