"""One run as the page shows it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.cluster.simulated_cluster import CONTROLLER_CLIENT_LIMITS
from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.run_timelines import Trial, draw_trials
from mockkube.report.pages.failures import AskedObject, find_objects
from mockkube.report.sentences import step_descriptions
from mockkube.report.sentences.events import EventSummary, merge_events, read_events
from mockkube.scenario.output.claim_results import ClaimResult, decide_claims
from mockkube.scenario.runner.results import RunOutcome, RunResult, StepResult
from mockkube.scenario.runner.run_pool import replay_command

# Outcomes that stand last: nothing went wrong.
LAST: Final = (RunOutcome.SKIPPED, RunOutcome.PASSED)
_MANY_PODS: Final = 100
_CHART_SECONDS_MAX: Final = 120


@dataclass(frozen=True, slots=True)
class Pace:
    """Pace at which pods were created."""

    label: str
    requests_per_second: str
    """Limit of kube-controller-manager's client."""
    counts: Sequence[int]
    """Pods made in each second; empty if there are too many seconds for a chart."""


class RunView:
    """One run as the page shows it."""

    def __init__(self, anchor: str, run: RunResult) -> None:
        self.anchor = anchor
        self.run = run
        self.failed = run.outcome not in LAST
        self.command = replay_command(run)
        self.failed_index = step_descriptions.find_failed_step(run)
        self.planned = max(run.planned_steps, len(run.steps))

    @property
    def claims(self) -> Sequence[ClaimResult]:
        """The claims that the run decides, or would have decided."""
        return decide_claims([self.run])

    @property
    def failed_step(self) -> StepResult | None:
        """The step that ended the run."""
        return self.run.steps[self.failed_index] if self.failed_index is not None else None

    @property
    def objects(self) -> Iterator[AskedObject]:
        """The objects that the failed step asked about."""
        return find_objects(self.run, self.failed_step) if self.failed_step is not None else iter(())

    @property
    def events(self) -> list[EventSummary]:
        """All events, each occurrence separately."""
        return [one for _, one in read_events(self.run.traced_steps)]

    @property
    def gathered_events(self) -> list[EventSummary]:
        """All events, those alike together."""
        return merge_events(self.events)

    @property
    def trials(self) -> list[Trial]:
        """Timelines with drawings and pod counts: one, and one more for each restored snapshot."""
        return draw_trials(self.run)

    @property
    def pace(self) -> Pace | None:
        """Pace at which pods were created, if there were many."""
        pods = Counter(
            int(moment.at)
            for moment in self.run.traced_steps
            for write in moment.writes
            if write.resource == "core/pods" and write.verb == "create"
        )
        if pods.total() < _MANY_PODS:
            return None
        first, last = min(pods), max(pods)
        label = (
            f"{pods.total()} pods were made from {first} s to {last} s of virtual time, at most {max(pods.values())} "
            "within a second"
        )
        counts = [pods[second] for second in range(first, last + 1)] if last - first < _CHART_SECONDS_MAX else []
        return Pace(label, str(CONTROLLER_CLIENT_LIMITS["kube-api-qps"]), counts)
