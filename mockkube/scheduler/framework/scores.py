"""Bringing raw scores to the range that weights count on."""

from mockkube.scheduler.framework.plugins import SCORE_MAX


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
