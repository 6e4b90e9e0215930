"""Consolidator: removes nodes whose pods fit elsewhere, and replaces nodes by cheaper ones, as Karpenter does.

A command is checked a second time after a while. Then its nodes are tainted, the replacement is ordered, and once that
is ready the nodes are terminated. What is remembered is lost with a restart.
karpenter 1.15: pkg/controllers/disruption
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Client, Key, WatchEventType
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_active
from mockkube.nodegroups.consolidation import (
    DISRUPTED_TAINT,
    FOREVER,
    ConsolidationCommand,
    ConsolidationPlanner,
    DisruptionCandidate,
    find_node_blocker,
    find_pod_blocker,
    find_protected_until,
    has_to_move,
)
from mockkube.nodegroups.disruption_policy import EMPTY, UNDERUTILIZED
from mockkube.nodegroups.drainability import is_daemon_pod
from mockkube.nodegroups.draining import PodsOfNode, change_taints
from mockkube.nodegroups.group_status import is_ready
from mockkube.nodegroups.instances import Instances, is_settled
from mockkube.nodegroups.node_group import NodeGroup, price_of
from mockkube.nodegroups.node_termination import NodeTerminations
from mockkube.nodegroups.placement import Placement
from mockkube.nodegroups.scale_down import DISRUPTED
from mockkube.nodegroups.scale_up import GroupState, sort_by_priority
from mockkube.runtime.clock import Clock

NAME: Final = "karpenter"
_API_VERSION: Final = "control.mockkube.dev/v1alpha1"
_VALIDATION_SECONDS: Final = 15.0
# A replacement that is not ready for longer is not waited for.
_REPLACEMENT_SECONDS_MAX: Final = 600.0


@dataclass(frozen=True, slots=True)
class ClusterView:
    """Cluster at the time of a scan; `coming` are names of nodes that are not ready yet."""

    groups: Sequence[NodeGroup]
    states: Sequence[GroupState]
    nodes: Mapping[Key, ReadOnlyObject]
    pods: Sequence[ReadOnlyObject]
    pods_of: PodsOfNode
    budgets: Sequence[ReadOnlyObject]
    daemon_sets: Sequence[ReadOnlyObject]
    coming: frozenset[str]
    make_placement: Callable[[], Awaitable[Placement]]


@dataclass(slots=True)
class _Replacing:
    """Command whose nodes wait for the node that replaces them."""

    command: ConsolidationCommand
    replacement: str
    until: float


class Consolidator:
    """Consolidation of all node groups with a disruption policy."""

    def __init__(self, client: Client, clock: Clock, events: EventRecorder, instances: Instances) -> None:
        self._client, self._clock, self._events, self._instances = client, clock, events, instances
        self._terminations = NodeTerminations(client, clock, events)
        # When a pod was last bound to a node or left it, else when the node was first seen ready.
        self._pod_events: dict[str, float] = {}
        self._proposed: tuple[ConsolidationCommand, float] | None = None
        self._replacing: list[_Replacing] = []
        # Last event about each node, and about each group and reason of disruption: it is not repeated.
        self._last_events: dict[tuple[str, str], str] = {}
        self._due_at: list[float] = []
        # Number of nodes that were removed, by group.
        self.removed: Counter[str] = Counter()

    @property
    def proposed(self) -> frozenset[str]:
        """Names of nodes that are to be disrupted unless something changes."""
        return frozenset() if self._proposed is None else self._proposed[0].names

    def due_at(self) -> float | None:
        """Return when something is to be done although nothing changes."""
        terminations = self._terminations.due_at()
        times = [*self._due_at, *(one.until for one in self._replacing)]
        return min(times if terminations is None else [*times, terminations], default=None)

    def on_pod_change(self, change: ObjectChange) -> None:
        """Note that a pod was bound to a node, ended or is about to: its node is left alone for a while."""
        pod, old = change.object, change.old
        node = pod["spec"].get("nodeName")
        if not node or is_daemon_pod(pod):
            return
        is_new = old is None or not old["spec"].get("nodeName") or change.type is WatchEventType.DELETED
        if is_new or (old is not None and is_active(old) and not is_active(pod)):
            self._pod_events[node] = self._clock.monotonic()

    # Commands that are carried out

    async def advance(self, view: ClusterView) -> None:
        """Continue with commands, and untaint nodes that no command concerns."""
        now = self._clock.monotonic()
        for replacing in list(self._replacing):
            node = view.nodes.get(Key("", replacing.replacement))
            if node is not None and is_settled(node):
                self._replacing.remove(replacing)
                self._terminate(replacing.command, view)
            elif now >= replacing.until or (node is None and replacing.replacement not in view.coming):
                # The replacement does not come: its group is gone, or it was deleted.
                self._replacing.remove(replacing)
        known = self._terminations.names.union(*(one.command.names for one in self._replacing))
        for node in view.nodes.values():
            name = node["metadata"]["name"]
            if name not in known and _has_taint(node) and any(one.contains(node) for one in view.groups):
                await self._set_taint(name, is_disrupted=False)
        await self._terminations.advance(view.pods_of)

    async def _start(self, command: ConsolidationCommand, view: ClusterView) -> None:
        """Taint the nodes of a command, and order their replacement or terminate them at once."""
        tainted = [one for one in command.candidates if await self._set_taint(one.name, is_disrupted=True)]
        if command.replacement is None:
            command = ConsolidationCommand(command.reason, tuple(tainted))
            self._terminate(command, view)
            await self._terminations.advance(view.pods_of)
            return
        if len(tainted) < len(command.candidates):
            # The next scan removes the taints.
            return
        name = self._instances.order(command.replacement, view.nodes)
        text = f"Launching node {name} of type {command.replacement.instance_type.name}: {command.reason}"
        for candidate in command.candidates:
            self._events.record(candidate.node, NORMAL, "DisruptionLaunching", text)
        until = self._clock.monotonic() + command.replacement.group.provision_seconds + _REPLACEMENT_SECONDS_MAX
        self._replacing.append(_Replacing(command, name, until))

    def _terminate(self, command: ConsolidationCommand, view: ClusterView) -> None:
        for candidate in command.candidates:
            if Key("", candidate.name) in view.nodes:
                self.removed[candidate.group.name] += 1
                self._terminations.begin(candidate.node, command.reason)

    async def _set_taint(self, name: str, *, is_disrupted: bool) -> bool:
        """Add or remove the taint of disrupted nodes; return whether that was possible."""
        added = [DISRUPTED_TAINT] if is_disrupted else []
        try:
            await change_taints(
                self._client, name, lambda taints: [*(one for one in taints if one["key"] != DISRUPTED), *added]
            )
        except ApiError:
            return False
        return True

    # Commands that are looked for

    async def consolidate(self, view: ClusterView) -> None:
        """Carry out the proposed command if it is still right, else look for one."""
        now = self._clock.monotonic()
        self._due_at.clear()
        names = {key.name for key in view.nodes}
        self._pod_events = {name: at for name, at in self._pod_events.items() if name in names}
        kept = names.union(group.name for group in view.groups)
        self._last_events = {key: event for key, event in self._last_events.items() if key[0] in kept}
        candidates = self._find_candidates(view, now)
        proposed, self._proposed = self._proposed, None
        if proposed is not None and now < proposed[1]:
            self._propose(*proposed)
            return
        if not candidates and proposed is None:
            return
        planner = ConsolidationPlanner(view.states, view.daemon_sets, self._count_allowed(view))
        if proposed is not None:
            valid = await self._validate(planner, proposed[0], candidates, view)
            if valid is not None:
                await self._start(valid, view)
                # Other nodes may be consolidated meanwhile, within budgets.
                self._due_at.append(now)
                return
        command = await self._find_command(planner, candidates, view)
        if command is not None:
            self._propose(command, now + _VALIDATION_SECONDS)
            return
        for name, reason in planner.reasons.items():
            self._record_once(view.nodes[Key("", name)], "Unconsolidatable", reason)
        if planner.is_limited:
            times = (at for one in view.groups if one.disruption for at in one.disruption.find_changes(self._now()))
            self._due_at += [now + (at - self._now()).total_seconds() for at in times]

    def _propose(self, command: ConsolidationCommand, at: float) -> None:
        self._proposed = (command, at)
        self._due_at.append(at)

    async def _validate(
        self,
        planner: ConsolidationPlanner,
        command: ConsolidationCommand,
        candidates: Sequence[DisruptionCandidate],
        view: ClusterView,
    ) -> ConsolidationCommand | None:
        """Return the command if it is still right; of empty nodes those that are still empty."""
        chosen = [one for one in candidates if one.name in command.names]
        if command.reason == EMPTY:
            return planner.find_empty(chosen)
        if len(chosen) < len(command.candidates) or any(one.is_empty for one in chosen):
            return None
        chosen = planner.limit(chosen, UNDERUTILIZED)
        found = planner.check(await self._make_placement(view), chosen) if chosen else None
        return found if command.is_like(found) else None

    async def _find_command(
        self, planner: ConsolidationPlanner, candidates: Sequence[DisruptionCandidate], view: ClusterView
    ) -> ConsolidationCommand | None:
        if (command := planner.find_empty(candidates)) is not None:
            return command
        if not any(one.is_underutilized for one in candidates):
            return None
        return planner.find_underutilized(await self._make_placement(view), candidates)

    async def _make_placement(self, view: ClusterView) -> Placement:
        """Return the cluster once pods that wait or leave a node have their place, without nodes that are coming."""
        placement = await view.make_placement()
        disrupted = self._list_disrupted(view)
        for pod in sort_by_priority(view.pods):
            node = pod["spec"].get("nodeName")
            if not node and is_active(pod):
                placement.place(pod)
            elif node in disrupted and has_to_move(pod):
                placement.remove_pod(pod)
                placement.place(pod)
        for name in view.coming:
            placement.remove_node(name)
        return placement

    def _list_disrupted(self, view: ClusterView) -> set[str]:
        return {node["metadata"]["name"] for node in view.nodes.values() if _has_taint(node)}

    def _find_candidates(self, view: ClusterView, now: float) -> list[DisruptionCandidate]:
        """Return the nodes that may be disrupted now."""
        found = []
        for state in view.states:
            policy = state.group.disruption
            if policy is None or policy.consolidate_after is None:
                continue
            for node in state.nodes:
                name = node["metadata"]["name"]
                if name in view.coming or not is_settled(node) or node["metadata"].get("deletionTimestamp"):
                    continue
                at = self._pod_events.setdefault(name, now) + policy.consolidate_after
                if at > now:
                    self._due_at.append(at)
                elif not self._is_blocked(node, view):
                    pods = tuple(pod for pod in view.pods_of(name) if has_to_move(pod))
                    found.append(DisruptionCandidate(node, state.group, price_of(node, [state.group]), pods))
        return found

    def _is_blocked(self, node: ReadOnlyObject, view: ClusterView) -> bool:
        """Return whether the node or a pod of it may not be disrupted, and say why in an event."""
        moment = self._now()
        pods = view.pods_of(node["metadata"]["name"])
        reasons = (find_node_blocker(node), *(find_pod_blocker(pod, view.budgets, moment) for pod in pods))
        reason = next(filter(None, reasons), "")
        if not reason:
            return False
        self._record_once(node, "DisruptionBlocked", reason)
        for pod in pods:
            until = find_protected_until(pod, moment)
            if until is not None and until != FOREVER and is_active(pod):
                self._due_at.append(self._clock.monotonic() + (until - moment).total_seconds())
        return True

    def _count_allowed(self, view: ClusterView) -> dict[str, dict[str, int]]:
        """Return how many nodes of each group may be disrupted, by reason."""
        allowed: dict[str, dict[str, int]] = {EMPTY: {}, UNDERUTILIZED: {}}
        for group in view.groups:
            if group.disruption is None:
                continue
            nodes = [one for one in view.nodes.values() if group.contains(one)]
            nodes = [one for one in nodes if one["metadata"]["name"] not in view.coming]
            disrupted = sum(_has_taint(one) or not is_ready(one) for one in nodes)
            for reason, counts in allowed.items():
                most = group.disruption.count_allowed(len(nodes), reason, self._now())
                counts[group.name] = max(most - disrupted, 0)
                if nodes and not most:
                    text = f"No allowed disruptions for disruption reason {reason} due to blocking budget"
                    reference = {"apiVersion": _API_VERSION, "kind": "NodeGroup", "name": group.name}
                    self._record_once(reference, "DisruptionBlocked", text, reason)
        return allowed

    def _record_once(self, obj: ReadOnlyObject, reason: str, message: str, about: str = "") -> None:
        """Record an event unless it was the last one about the object."""
        key = (obj.get("name") or obj["metadata"]["name"], about)
        if self._last_events.get(key) != message:
            self._last_events[key] = message
            self._events.record(obj, NORMAL, reason, message)

    def _now(self) -> datetime:
        return self._clock.now()


def _has_taint(node: ReadOnlyObject) -> bool:
    """Return whether a node has the taint of disrupted ones."""
    return any(taint["key"] == DISRUPTED for taint in (node.get("spec") or {}).get("taints") or ())
