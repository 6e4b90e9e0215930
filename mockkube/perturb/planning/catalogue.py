"""Catalogue of the kinds of perturbations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from mockkube.perturb.perturbation import Perturbation
from mockkube.perturb.planning import crashes, errors, watches, webhooks
from mockkube.perturb.recorder import RunRecord
from mockkube.perturb.workload import Workload

Planner = Callable[[RunRecord, Workload], Iterator[Perturbation]]

KINDS: Final[Mapping[str, Planner]] = {
    crashes.CRASH: crashes.plan_crashes,
    errors.TIMEOUT: errors.plan_timeouts,
    watches.TIME_TRAVEL: watches.plan_time_travel,
    watches.LAG: watches.plan_lags,
    watches.MISSED: watches.plan_missed_events,
    errors.ERROR: errors.plan_errors,
    errors.CONFLICT: errors.plan_conflicts,
    crashes.RESTART: crashes.plan_restarts,
    watches.BROKEN: watches.plan_broken_watches,
    watches.REPEATED: watches.plan_repeated_events,
    errors.THROTTLE: errors.plan_throttling,
    errors.READ_ERROR: errors.plan_read_errors,
    errors.SLOW: errors.plan_slow_writes,
    webhooks.TIMEOUT: webhooks.plan_webhook_timeouts,
    webhooks.SLOW: webhooks.plan_slow_webhooks,
    watches.LEADERSHIP: watches.plan_lost_leadership,
}
"""Planners by kind, most promising first."""


def plan_perturbations(record: RunRecord, workload: Workload) -> Sequence[Perturbation]:
    """Return the perturbations to try: the first of each kind, then the second of each, and so on."""
    kinds = workload.kinds or tuple(KINDS)
    planned = [list(planner(record, workload)) for kind, planner in KINDS.items() if kind in kinds]
    ordered = [one for row in zip_longest(*planned) for one in row if one is not None]
    # Two writes of one descriptor may give one perturbation.
    return list({one.id: one for one in ordered}.values())
