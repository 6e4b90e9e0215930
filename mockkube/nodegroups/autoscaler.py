"""Autoscaler of the node groups: adds nodes for pods that fit nowhere, and removes nodes that are not needed.

It scans the cluster every ten seconds if something has changed, or when a time has come; a cluster at rest is left
alone. What it remembers is lost with a restart, as that of the cluster-autoscaler.
autoscaler 1.35: cluster-autoscaler/core/static_autoscaler.go
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL
from mockkube.client.informer import InformerFactory, ObjectChange
from mockkube.client.protocol import Client, Key, WatchEventType
from mockkube.explain.recorded_cluster import RecordedCluster
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.nodegroups import consolidator
from mockkube.nodegroups.consolidator import ClusterView, Consolidator
from mockkube.nodegroups.group_status import GroupStatus, is_ready, summarize_group
from mockkube.nodegroups.instances import Instances
from mockkube.nodegroups.node_group import NodeGroup, NodeTemplate
from mockkube.nodegroups.node_removal import NodeRemovals
from mockkube.nodegroups.placement import Placement
from mockkube.nodegroups.scale_down import Candidate, find_candidates, find_unneeded, is_being_removed
from mockkube.nodegroups.scale_up import GroupState, ScaleUpPlan, balance_zones, describe_rejection, plan_scale_up
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal, Worker

NAME: Final = "cluster-autoscaler"
SCAN_SECONDS: Final = 10.0
_EMPTY_NODES_MAX: Final = 10
# The cluster-autoscaler records events about groups at this object.
_STATUS_MAP: Final = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "namespace": "kube-system",
    "name": "cluster-autoscaler-status",
}
_LOG: Final = logging.getLogger("mockkube.nodegroups")

ReportStatus = Callable[[Mapping[str, GroupStatus]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class AutoscalerDependencies:
    """Dependencies of the autoscaler: version and configuration of the scheduler it simulates, reports of sizes."""

    client: Client
    clock: Clock
    random: Random
    capabilities: Capabilities
    report: ReportStatus
    scheduler_configuration: ReadOnlyObject | None = None


class NodeAutoscaler:
    """Autoscaler of all node groups of a cluster: a component, and its own worker."""

    def __init__(self, dependencies: AutoscalerDependencies, groups: Iterable[NodeGroup]) -> None:
        self._dependencies = dependencies
        client, clock = dependencies.client, dependencies.clock
        self.name = f"{NAME}/loop"
        self.signal = Signal()
        self._clock = clock
        self._informers = InformerFactory(client, clock, owner=NAME)
        self._nodes = self._informers.informer_for("Node")
        self._pods = self._informers.informer_for("Pod")
        self._budgets = self._informers.informer_for("PodDisruptionBudget")
        self._daemon_sets = self._informers.informer_for("DaemonSet")
        self._pods_by_node = self._pods.index("node", lambda pod: [pod["spec"].get("nodeName", "")])
        for informer in self._informers.workers:
            informer.add_event_handler(self._on_change)
            informer.notify_when_synced(self.signal)
        self.events = EventRecorder(client, clock, dependencies.random, component=NAME)
        self._instances = Instances(client, clock)
        self.removals = NodeRemovals(client, clock, self.events)
        self._consolidation_events = EventRecorder(client, clock, dependencies.random, component=consolidator.NAME)
        self._consolidator = Consolidator(client, clock, self._consolidation_events, self._instances)
        self._pods.add_event_handler(self._consolidator.on_pod_change)
        self._groups: tuple[NodeGroup, ...] = tuple(groups)
        self._scan_at = clock.monotonic()
        self._has_changed = True
        # When each node was first found not to be needed, and when nodes were added to each group last.
        self._unneeded_since: dict[str, float] = {}
        self._added_at: dict[str, float] = {}

    @property
    def workers(self) -> Sequence[Worker]:
        """Informers, the loop, and the recorders of events."""
        return [*self._informers.workers, self, self.events, self._consolidation_events]

    async def start(self) -> None:
        """Do nothing: informers list and watch in their steps."""

    async def stop(self) -> None:
        """Close all watches."""
        await self._informers.close()

    def set_groups(self, groups: Iterable[NodeGroup]) -> None:
        """Replace the groups."""
        self._groups = tuple(groups)
        self._instances.keep_groups(self._groups)
        self._notify()

    # When to scan

    def is_ready(self) -> bool:
        """Return whether a node registers now, or a scan is due."""
        at = self.wake_at()
        return at is not None and at <= self._clock.monotonic()

    def wake_at(self) -> float | None:
        """Return when a node registers, or the next scan is due."""
        if not self._informers.has_synced():
            return None
        due = self._clock.monotonic() if self._has_changed else self._find_due_time()
        scan = None if due is None else max(due, self._scan_at)
        return min((one for one in (scan, self._instances.due_at()) if one is not None), default=None)

    def _find_due_time(self) -> float | None:
        """Return when to scan although nothing changes: a removal goes on, or a node is not needed for long enough."""
        times = [at for one in (self.removals, self._consolidator) if (at := one.due_at()) is not None]
        for name, since in self._unneeded_since.items():
            group = self._find_group(name)
            if group is not None:
                times.append(self._removable_at(group, since))
        return min(times, default=None)

    def _removable_at(self, group: NodeGroup, since: float) -> float:
        rules = group.scale_down
        added = self._added_at.get(group.name)
        after_add = since if added is None else added + rules.delay_after_add_seconds
        return max(since + rules.unneeded_seconds, after_add)

    def _on_change(self, change: ObjectChange) -> None:
        if change.object["kind"] != "Node" or _is_significant(change):
            self._notify()

    def _notify(self) -> None:
        self._has_changed = True
        self.signal.notify()

    async def step(self) -> None:
        """Register nodes that are there; scan the cluster if that is due."""
        now = self._clock.monotonic()
        await self._instances.register_due()
        if now >= self._scan_at:
            self._has_changed, self._scan_at = False, now + SCAN_SECONDS
            try:
                await self._scan(now)
            except ApiError as error:
                _LOG.info("%s: %s", NAME, error.message)
                self._has_changed = True
            # An object that cannot be read must not end the loop; the next change is scanned again.
            except Exception:
                _LOG.exception("%s: the scan failed", NAME)
        await self._dependencies.report(self._summarize())

    async def _scan(self, now: float) -> None:
        """Continue with removals; add nodes for pods that wait for room, else look for nodes to remove."""
        self._instances.forget_ready(self._nodes.objects)
        await self.removals.advance(self._pods_by_node.get)
        view = self._view_cluster()
        await self._consolidator.advance(view)
        self._fill_to_minimum(now)
        if not await self._scale_up(now):
            await self._scale_down(now)
            await self._consolidator.consolidate(view)

    # Groups

    def _find_group(self, node_name: str) -> NodeGroup | None:
        node = self._nodes.get(Key("", node_name))
        return None if node is None else self._group_of(node)

    def _group_of(self, node: ReadOnlyObject) -> NodeGroup | None:
        return next((group for group in self._groups if group.contains(node)), None)

    def _list_states(self) -> list[GroupState]:
        """Return each group with the nodes that it has and that come, without those that go."""
        # A node that has just registered has no capacity yet, so the ordered one stands for it.
        nodes = {node["metadata"]["name"]: node for node in (*self._nodes.list(), *self._instances.list_coming())}
        found: dict[str, list[ReadOnlyObject]] = {group.name: [] for group in self._groups}
        for node in nodes.values():
            group = self._group_of(node)
            if group is not None and not is_being_removed(node):
                found[group.name].append(node)
        return [GroupState(group, found[group.name]) for group in self._groups]

    def _view_cluster(self) -> ClusterView:
        return ClusterView(
            groups=self._groups,
            states=self._list_states(),
            nodes=self._nodes.objects,
            pods=self._pods.list(),
            pods_of=self._pods_by_node.get,
            budgets=self._budgets.list(),
            daemon_sets=self._daemon_sets.list(),
            coming=frozenset(node["metadata"]["name"] for node in self._instances.list_coming()),
            make_placement=self._make_placement,
        )

    def _summarize(self) -> dict[str, GroupStatus]:
        nodes: dict[str, list[ReadOnlyObject]] = {group.name: [] for group in self._groups}
        coming = dict.fromkeys(nodes, 0)
        for node in self._nodes.list():
            if (group := self._group_of(node)) is not None:
                nodes[group.name].append(node)
        for node in self._instances.list_coming():
            is_registered = Key("", node["metadata"]["name"]) in self._nodes.objects
            if not is_registered and (group := self._group_of(node)) is not None:
                coming[group.name] += 1
        return {
            group.name: summarize_group(
                group,
                nodes[group.name],
                coming[group.name],
                {*self._unneeded_since, *self._consolidator.proposed},
                self._consolidator.removed[group.name],
            )
            for group in self._groups
        }

    # Growth

    def _fill_to_minimum(self, now: float) -> None:
        """Order instances for groups that are smaller than they may be."""
        for state in self._list_states():
            # Of its first type, in the zones that have the fewest nodes.
            templates = [one for one in state.group.templates() if one.instance_type is state.group.instance_types[0]]
            if added := balance_zones(templates, state.nodes, state.group.min_size - state.size):
                self._order_all(added)
                self._added_at[state.group.name] = now

    async def _scale_up(self, now: float) -> bool:
        """Order instances for pods that fit nowhere; return whether any were ordered."""
        pods = [pod for pod in self._pods.list() if _is_unschedulable(pod)]
        if not pods:
            return False
        states = self._list_states()
        plan = plan_scale_up(await self._make_placement(), states, pods, self._daemon_sets.list())
        if plan.added:
            self._order(plan, states, now)
            # As upstream, one group grows at a time; the next scan sees to the pods that are left.
            self._has_changed = True
        for pod, reasons in plan.rejected:
            self.events.record(pod, NORMAL, "NotTriggerScaleUp", describe_rejection(reasons))
        return bool(plan.added)

    def _order(self, plan: ScaleUpPlan, states: Sequence[GroupState], now: float) -> None:
        group = plan.added[0].group
        old = next(state.size for state in states if state.group is group)
        new = old + len(plan.added)
        self._order_all(plan.added)
        self._added_at[group.name] = now
        bound = f"(max: {group.max_size})"
        text = f"Scale-up: setting group {group.name} size to {new} instead of {old} {bound}"
        self.events.record(_STATUS_MAP, NORMAL, "ScaledUpGroup", text)
        for pod in plan.pods:
            text = f"pod triggered scale-up: [{{{group.name} {old}->{new} {bound}}}]"
            self.events.record(pod, NORMAL, "TriggeredScaleUp", text)

    def _order_all(self, templates: Sequence[NodeTemplate]) -> None:
        for template in templates:
            self._instances.order(template, self._nodes.objects)

    async def _make_placement(self) -> Placement:
        """Return the cluster as it will be: nodes on the way are ready."""
        dependencies = self._dependencies
        recording = await RecordedCluster.from_client(
            dependencies.client, dependencies.capabilities, dependencies.clock
        )
        placement = await Placement.from_recording(
            recording, dependencies.capabilities, dependencies.clock, dependencies.scheduler_configuration
        )
        for node in self._instances.list_coming():
            placement.add_node(node)
        return placement

    # Shrinking

    async def _scale_down(self, now: float) -> None:
        """Remember which nodes are not needed, and remove those that were not for long enough."""
        unneeded = await self._find_unneeded()
        names = [one.name for one in unneeded]
        self._unneeded_since = {name: self._unneeded_since.get(name, now) for name in names}
        due = [one for one in unneeded if self._removable_at(one.group, self._unneeded_since[one.name]) <= now]
        for candidate in [one for one in due if not one.movable][:_EMPTY_NODES_MAX]:
            text = f'Scale-down: removing empty node "{candidate.name}"'
            self.events.record(_STATUS_MAP, NORMAL, "ScaleDownEmpty", text)
            await self._remove(candidate)
        occupied = [one for one in due if one.movable]
        if occupied and not self.removals.is_draining:
            candidate = occupied[0]
            pods = ",".join(pod["metadata"]["name"] for pod in candidate.movable)
            text = (
                f"Scale-down: removing node {candidate.name}, utilization: {candidate.utilization:.3g}, "
                f"pods to reschedule: {pods}"
            )
            self.events.record(_STATUS_MAP, NORMAL, "ScaleDown", text)
            await self._remove(candidate)

    async def _remove(self, candidate: Candidate) -> None:
        self._unneeded_since.pop(candidate.name, None)
        await self.removals.begin(candidate)
        # Empty nodes need no further scan, and evictions are sent at once.
        await self.removals.advance(self._pods_by_node.get)

    async def _find_unneeded(self) -> list[Candidate]:
        """Return the nodes that could be removed now."""
        states = self._list_states()
        sizes = {state.group.name: state.size for state in states}
        groups = {
            node["metadata"]["name"]: state.group
            for state in states
            if state.size > state.group.min_size
            for node in state.nodes
            if is_ready(node) and not self.removals.is_paused(node["metadata"]["name"])
        }
        if not groups:
            return []
        candidates = find_candidates(groups, self._nodes.list(), self._pods_by_node.get, self._budgets.list())
        if not any(one.movable for one in candidates):
            # Without pods to move there is nothing to simulate.
            return _limit_to_minimum(candidates, sizes)
        return find_unneeded(await self._make_placement(), candidates, sizes)


def _limit_to_minimum(candidates: Sequence[Candidate], sizes: Mapping[str, int]) -> list[Candidate]:
    """Return the empty candidates that may go without shrinking a group too far."""
    sizes, found = dict(sizes), []
    for candidate in candidates:
        if sizes[candidate.group.name] > candidate.group.min_size:
            sizes[candidate.group.name] -= 1
            found.append(candidate)
    return found


def _is_unschedulable(pod: ReadOnlyObject) -> bool:
    """Return whether the scheduler found no node for a pod, and no preemption makes room for it."""
    status = pod.get("status") or {}
    if pod["spec"].get("nodeName") or status.get("nominatedNodeName") or pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = status.get("conditions") or ()
    return any(one["type"] == "PodScheduled" and one.get("reason") == "Unschedulable" for one in conditions)


def _is_significant(change: ObjectChange) -> bool:
    """Return whether a node changed in more than its heartbeat."""
    if change.old is None or change.type is WatchEventType.DELETED:
        return True
    return _describe(change.object) != _describe(change.old)


def _describe(node: ReadOnlyObject) -> tuple[object, ...]:
    metadata, status = node["metadata"], node.get("status") or {}
    return (
        metadata.get("labels"),
        metadata.get("annotations"),
        metadata.get("deletionTimestamp"),
        node.get("spec"),
        status.get("allocatable"),
        is_ready(node),
    )
