"""The decision about one pod: pure, made from a picture, re-runnable on any other.

pre-filter → filter, with the pods nominated to nodes → post-filter when no node is left → pre-score → score → choose.

upstream 1.36: pkg/scheduler/schedule_one.go
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from mockkube.runtime.chance import Chance
from mockkube.scheduler.feasible_nodes import Found, Rotation, Search
from mockkube.scheduler.fit_error import Refusal, Rejectors
from mockkube.scheduler.framework.interface import CycleState, Remedy, Verdicts
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.runtime import Candidates, PluginFailed, Points
from mockkube.scheduler.framework.status import Code, Status
from mockkube.scheduler.metrics import PLUGIN_SAMPLE_PERCENT
from mockkube.scheduler.node_scores import Ranking, Scores
from mockkube.scheduler.verdict_cache import Tables

_ABSENT: Final = Verdicts({}).absent


@dataclass(frozen=True, slots=True)
class Placement:
    """The pod goes to a node."""

    node_name: str
    nodes_seen: int
    nodes_feasible: int


@dataclass(frozen=True, slots=True)
class Failure:
    """No decision could be made: a plugin failed."""

    message: str


Decision = Placement | Refusal | Failure


class Decider:
    """Decides for the pods of one profile."""

    def __init__(self, points: Points, chance: Chance, *, percentage: int, rotation: Rotation) -> None:
        self.points = points
        tables = Tables(points.profile, points.picture)
        self._chance = chance
        own = points.profile.percentage
        self._search = Search(points, tables, percentage if own is None else own, rotation)
        self._ranking = Ranking(points, tables, chance)

    def state(self) -> CycleState:
        """Return a state for one cycle."""
        state = CycleState()
        state.timed = self._chance.random.randrange(100) < PLUGIN_SAMPLE_PERCENT
        return state

    def decide(self, state: CycleState, pod: PodInfo) -> Decision:
        """Return where the pod goes, or why nowhere."""
        total = len(self.points.picture.all)
        if not total:
            return Refusal(0)
        try:
            refusal, found = self._find(state, pod, total)
            if refusal is None:
                return self._place(state, pod, found)
        except PluginFailed as error:
            return Failure(str(error))
        return self._remedied(state, pod, refusal)

    def explain(self, state: CycleState, pod: PodInfo) -> tuple[Decision, Mapping[str, Status], Scores]:
        """Return the decision, what refused each other node, and the scores of those that fit; every node is asked.

        When a plugin fails there are no scores, and no nodes either if it failed before they were asked.
        """
        try:
            refused, scores = self._explain(state, pod, self.points.pre_filter(state, pod))
        except PluginFailed:
            refused, scores = {}, {}
        return self.decide(self.state(), pod), refused, scores

    def _explain(self, state: CycleState, pod: PodInfo, candidates: Candidates) -> tuple[dict[str, Status], Scores]:
        """Raises PluginFailed when the nodes that fit cannot be ranked."""
        picture = self.points.picture
        refused: dict[str, Status] = {}
        slots = []
        for slot, node in enumerate(picture.all):
            status = candidates.status
            if status.ok and candidates.node_names is not None and node.name not in candidates.node_names:
                status = _left_out(candidates.narrowed_by)
            if status.ok:
                status = self._filtered(state, pod, node)
            if status.ok:
                slots.append(slot)
            else:
                refused[node.name] = status
        return refused, self._ranking.scores(state, pod, slots) if len(slots) > 1 else {}

    def _filtered(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        try:
            return self.points.filter_with_nominated(state, pod, node)
        except PluginFailed as error:
            return Status.error(str(error))

    def _find(self, state: CycleState, pod: PodInfo, total: int) -> tuple[Refusal | None, Found]:
        """Return the nodes that fit, or the refusal when there is none."""
        candidates = self.points.pre_filter(state, pod)
        status = candidates.status
        if not status.ok:
            rejectors = Rejectors.of([(status.plugin, status.code)], candidates.narrowed_by)
            return Refusal(total, Verdicts({}, status), status.message, rejectors), Found()
        tried = Found()
        if pod.nominated_node:
            tried = self._try_nominated(state, pod)
            if tried.slots:
                return None, tried
        found = self._search.some(state, pod, candidates.node_names)
        if found.slots:
            return None, found
        absent = _ABSENT if candidates.node_names is None else _left_out(candidates.narrowed_by)
        answers = tried.answers | found.answers
        refused = {**tried.refused, **found.refused} if tried.refused else found.refused
        curable = all(code is Code.UNSCHEDULABLE for _, code in answers)
        verdicts = Verdicts(refused, absent, all_curable=curable, counted=found.reasons)
        rejectors = Rejectors.of(answers, candidates.narrowed_by)
        return Refusal(total, verdicts, rejectors=rejectors), found

    def _try_nominated(self, state: CycleState, pod: PodInfo) -> Found:
        """Look at the node that room was made on; a failure there only means that the others are looked at."""
        try:
            return self._search.one(state, pod, pod.nominated_node)
        except PluginFailed:
            return Found()

    def _place(self, state: CycleState, pod: PodInfo, found: Found) -> Placement:
        """Choose among the nodes that fit. Raises PluginFailed."""
        only_one = len(found.slots) == 1
        slot = found.slots[0] if only_one else self._ranking.choose(state, pod, found.slots)
        return Placement(self.points.picture.all[slot].name, found.seen, len(found.slots))

    def _remedied(self, state: CycleState, pod: PodInfo, refusal: Refusal) -> Refusal:
        if not self.points.profile.post_filters:
            return replace(refusal, remedy=Remedy(Status.unschedulable(), node_name=""))
        return replace(refusal, remedy=self.points.post_filter(state, pod, refusal.verdicts))


def _left_out(plugins: tuple[str, ...]) -> Status:
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]")
