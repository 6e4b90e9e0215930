"""Normalize raw scores to the range 0..SCORE_MAX."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.scheduler.framework.interface import SCORE_MAX

# Greatest score that a shape in a plugin's arguments may have.
_SHAPE_SCORE_MAX: Final = 10


def default_normalize_score(scores: list[int], *, reverse: bool = False) -> None:
    """Scale scores so that the greatest becomes SCORE_MAX, in place; with `reverse` it becomes 0, and 0 SCORE_MAX."""
    # upstream 1.36: pkg/scheduler/framework/plugins/helper/normalize_score.go
    greatest = max(scores, default=0)
    # All zero: reversed, every node is equally good, and no division by zero may happen.
    if greatest <= 0:
        if reverse:
            scores[:] = [SCORE_MAX] * len(scores)
    elif reverse:
        scores[:] = [SCORE_MAX - SCORE_MAX * score // greatest for score in scores]
    else:
        scores[:] = [SCORE_MAX * score // greatest for score in scores]


def build_broken_linear_function(shape: Iterable[ReadOnlyObject]) -> Callable[[int], int]:
    """Return the piecewise linear function given by points of utilization and score.

    It is constant before the first and after the last point. Scores are scaled to SCORE_MAX and truncated.
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
                # Go's integer division truncates towards zero, Python's rounds down: they differ where the line falls.
                step = abs(rise) // (right - left)
                return int(low + step if rise >= 0 else low - step)
        return int(points[-1][1])

    return score
