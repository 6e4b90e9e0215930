"""Daemon pods to create and delete: per node, and within the limits of a rolling update.

upstream 1.36: pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode), daemon/update.go (rollingUpdate)
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.controllers.daemonset.placement import GENERATION_LABEL, NodeFit, template_generation
from mockkube.controllers.deployment.scaling import resolve_int_or_percent
from mockkube.controllers.pods.readiness import is_available
from mockkube.controllers.pods.template_hash import HASH_LABEL
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_ready

# The pods of a set by the node they are bound or pinned to.
Daemons = Mapping[str, Sequence[ReadOnlyObject]]


@dataclass(slots=True)
class PodChanges:
    """Nodes that need a pod, and pods to delete."""

    nodes_needing_pods: list[str] = field(default_factory=list)
    pods_to_delete: list[ReadOnlyObject] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CurrentRevision:
    """Current revision of a set, and the current time."""

    daemon_set: ReadOnlyObject
    revision_hash: str
    now: datetime

    def is_updated(self, pod: ReadOnlyObject) -> bool:
        """Return whether a pod belongs to the current revision."""
        labels = pod["metadata"].get("labels") or {}
        # Pods of clusters older than revisions carry a template generation instead of a hash.
        generation = template_generation(self.daemon_set)
        by_generation = bool(generation) and labels.get(GENERATION_LABEL) == generation
        return by_generation or (bool(self.revision_hash) and labels.get(HASH_LABEL) == self.revision_hash)

    def is_available(self, pod: ReadOnlyObject) -> bool:
        """Return whether a pod has been ready for minReadySeconds."""
        return is_available(pod, self.daemon_set["spec"].get("minReadySeconds", 0), self.now)


def _rolling_update_parameters(daemon_set: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the parameters of a rolling update; None for strategy OnDelete."""
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return None
    rolling: ReadOnlyObject = strategy.get("rollingUpdate") or {}
    return rolling


def surge_count(daemon_set: ReadOnlyObject, nodes: int) -> int:
    """Return on how many nodes an old and a new pod may run at the same time."""
    rolling = _rolling_update_parameters(daemon_set)
    return 0 if rolling is None else resolve_int_or_percent(rolling.get("maxSurge", 0), nodes, math.ceil)


def unavailable_count(daemon_set: ReadOnlyObject, nodes: int) -> int:
    """Return on how many nodes pods may be unavailable during an update."""
    rolling = _rolling_update_parameters(daemon_set)
    return 0 if rolling is None else resolve_int_or_percent(rolling.get("maxUnavailable", 0), nodes, math.ceil)


def sort_by_age(pods: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Return pods, bound ones first, then the oldest."""

    def rank(pod: ReadOnlyObject) -> tuple[bool, str, str]:
        metadata = pod["metadata"]
        return (not pod["spec"].get("nodeName"), metadata.get("creationTimestamp", ""), metadata["name"])

    return sorted(pods, key=rank)


def filter_not_terminating(pods: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Return the pods that are not terminating."""
    return [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]


def pods_should_be_on_node(
    node: str,
    fit: NodeFit,
    pods: Sequence[ReadOnlyObject] | None,
    revision: CurrentRevision,
    remove_finished: Callable[[ReadOnlyObject], bool],
) -> PodChanges:
    """Return the changes for one node; `pods` is None if the node has no pod at all.

    `remove_finished` returns whether a finished pod may be deleted now.
    """
    if fit.should_run and pods is None:
        return PodChanges(nodes_needing_pods=[node])
    if not fit.should_continue:
        return PodChanges(pods_to_delete=filter_not_terminating(pods or ()))
    moves, running = PodChanges(), []
    for pod in filter_not_terminating(pods or ()):
        if (pod.get("status") or {}).get("phase") not in ("Failed", "Succeeded"):
            running.append(pod)
        elif remove_finished(pod):
            moves.pods_to_delete.append(pod)
    # Without surge there is one pod per node: the oldest stays, bound ones first.
    if surge_count(revision.daemon_set, 1) == 0:
        moves.pods_to_delete += sort_by_age(running)[1:]
    elif len(running) > 1:
        moves.pods_to_delete += _surplus_with_surge(running, revision)
    # Upstream creates the replacement only with surge here; without it the node is found empty in the next sync.
    elif not running and fit.should_run:
        moves.nodes_needing_pods.append(node)
    return moves


def _surplus_with_surge(running: Sequence[ReadOnlyObject], revision: CurrentRevision) -> list[ReadOnlyObject]:
    """Return the pods to delete on a node that may have an old and a new pod while surging."""
    new: ReadOnlyObject | None = None
    old: ReadOnlyObject | None = None
    surplus = []
    for pod in sort_by_age(running):
        current = (pod["metadata"].get("labels") or {}).get(HASH_LABEL) == revision.revision_hash
        if current and new is None:
            new = pod
        elif not current and old is None:
            old = pod
        else:
            surplus.append(pod)
    if new is not None and old is not None and (not is_ready(old) or revision.is_available(new)):
        surplus.append(old)
    return surplus


def _new_and_old_pod(
    pods: Sequence[ReadOnlyObject], revision: CurrentRevision
) -> tuple[ReadOnlyObject | None, ReadOnlyObject | None] | None:
    """Return the new and the old pod of a node; None if there are several of either."""
    new = [pod for pod in filter_not_terminating(pods) if revision.is_updated(pod)]
    old = [pod for pod in filter_not_terminating(pods) if not revision.is_updated(pod)]
    if len(new) > 1 or len(old) > 1:
        return None
    return (new[0] if new else None, old[0] if old else None)


def rolling_update(daemons: Daemons, fits: Mapping[str, NodeFit], revision: CurrentRevision) -> PodChanges:
    """Return the pods that a rolling update replaces now; `fits` has every node."""
    desired = sum(fit.should_run for fit in fits.values())
    # Eligible nodes without pods count as unavailable.
    daemons = {**daemons, **{name: () for name, fit in fits.items() if fit.should_run and name not in daemons}}
    surge = surge_count(revision.daemon_set, desired)
    unavailable = unavailable_count(revision.daemon_set, desired)
    if surge > 0:
        return _update_with_surge(daemons, fits, revision, surge, desired)
    return _update_unavailable(daemons, revision, max(unavailable, 1) if desired else unavailable)


def _update_unavailable(daemons: Daemons, revision: CurrentRevision, unavailable_max: int) -> PodChanges:
    """Return the old pods to delete within maxUnavailable; unavailable ones always go."""
    missing, due, candidates = 0, [], []
    for pods in daemons.values():
        pair = _new_and_old_pod(pods, revision)
        if pair is None or (pair[0] is None) == (pair[1] is None):
            missing += 1
            continue
        new, old = pair
        if old is None:
            missing += not revision.is_available(new) if new else 0
        elif not revision.is_available(old):
            # An old pod that is not available can be replaced without making anything worse, so no limit applies.
            due.append(old)
            missing += 1
        elif missing < unavailable_max:
            candidates.append(old)
    return PodChanges(pods_to_delete=[*due, *candidates[: max(unavailable_max - missing, 0)]])


def _update_with_surge(
    daemons: Daemons, fits: Mapping[str, NodeFit], revision: CurrentRevision, surge_max: int, desired: int
) -> PodChanges:
    """Return the nodes that get a new pod beside the old one, and the old pods that can go."""
    moves, surging, available = PodChanges(), 0, 0
    misplaced: list[ReadOnlyObject] = []
    candidates: list[str] = []
    for node, pods in daemons.items():
        pair = _new_and_old_pod(pods, revision)
        if pair is None:
            surging += 1
            continue
        new, old = pair
        shown = old or new
        available += shown is not None and revision.is_available(shown)
        if old is None:
            continue
        if new is not None:
            # The old pod goes only once its successor has been ready for minReadySeconds.
            if revision.is_available(new):
                moves.pods_to_delete.append(old)
            else:
                surging += 1
            continue
        wanted = node in fits and fits[node].should_run
        if not revision.is_available(old):
            if wanted:
                moves.nodes_needing_pods.append(node)
            else:
                moves.pods_to_delete.append(old)
        elif not wanted:
            misplaced.append(old)
        elif surging < surge_max:
            candidates.append(node)
    moves.pods_to_delete += misplaced[: max(available - desired, 0)]
    moves.nodes_needing_pods += candidates[: max(surge_max - surging, 0)]
    return moves
