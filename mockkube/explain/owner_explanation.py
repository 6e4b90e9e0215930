"""Explain why a workload creates no pods, or too few: pods that are rejected, nodes without a daemon."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, key_of
from mockkube.controllers.daemonset.placement import NodeFit, compile_placement, daemon_tolerations
from mockkube.controllers.tainteviction.taint_eviction import NO_EXECUTE
from mockkube.explain.api_server import make_view
from mockkube.explain.components import ClusterComponents, DecidingComponent
from mockkube.explain.explanation import Obstacle, ObstacleWithRemedies, PodProgress, Remedy
from mockkube.explain.owners import list_pods
from mockkube.explain.tolerations import find_first_untolerated
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.proposals.component_extensions import make_selector_operators, make_taint_rules
from mockkube.proposals.scheduling_fields import pod_spec
from mockkube.scheduler.plugins.taint_toleration import DO_NOT_SCHEDULE_EFFECTS


@dataclass(frozen=True, slots=True)
class OwnerExplanation:
    """The explanation of a workload."""

    owner: Key
    kind: str
    pods: Sequence[str]
    # Pending pods, then failed ones.
    stopped: Sequence[str]
    # Errors with which the API server would reject a pod of the workload.
    rejections: Sequence[str]
    # Nodes that get no pod of a daemon set, and why.
    nodes: Sequence[tuple[str, str]]
    remedies: Sequence[Remedy]

    def as_json(self) -> Object:
        """Return the explanation as JSON."""
        return {
            "maker": {"kind": self.kind, "namespace": self.owner.namespace, "name": self.owner.name},
            "pods": list(self.pods),
            "stopped": list(self.stopped),
            "refusals": list(self.rejections),
            "nodes": [{"node": node, "reason": reason} for node, reason in self.nodes],
            "whatIf": [one.as_json() for one in self.remedies],
        }


async def explain_owner(
    client: Client, components: ClusterComponents, workload: ReadOnlyObject, now: datetime
) -> OwnerExplanation:
    """Return the explanation of a workload."""
    server = components.server
    refusals = _find_rejections(workload, components, server.caps, now)
    remedies = [] if not refusals else list(_server_remedies(workload, components, now))
    nodes: list[tuple[str, str]] = []
    if workload["kind"] == "DaemonSet":
        all_nodes = (await client.list("Node")).items
        nodes = [
            (key_of(node).name, why)
            for node in all_nodes
            if (why := _why_no_daemon(workload, node, components.manager))
        ]
        remedies += _manager_remedies(workload, all_nodes, components.manager)
    pods = await list_pods(client, workload)
    names = [key_of(pod).name for pod in pods]
    return OwnerExplanation(key_of(workload), workload["kind"], names, _list_stopped(pods), refusals, nodes, remedies)


def _list_stopped(pods: Sequence[ReadOnlyObject]) -> list[str]:
    """Return the names of pending pods, then of failed ones."""
    by_phase: dict[str, list[str]] = {"Pending": [], "Failed": []}
    for pod in pods:
        phase = (pod.get("status") or {}).get("phase")
        if phase in by_phase and "deletionTimestamp" not in pod["metadata"]:
            by_phase[phase].append(key_of(pod).name)
    return [*by_phase["Pending"], *by_phase["Failed"]]


# Would a pod be stored


def _find_rejections(
    workload: ReadOnlyObject, components: ClusterComponents, caps: Capabilities, now: datetime
) -> list[str]:
    """Return the errors with which an API server would reject a pod of the template."""
    # The controller creates pods from the template as its own version decodes it.
    part = pod_spec(components.manager.decode(workload))
    if part is None:
        return []
    view = make_view(caps, now)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": part.value}
    return [str(error) for error in view.simulate_create(view.decode(pod))[1]]


def _server_remedies(workload: ReadOnlyObject, components: ClusterComponents, now: datetime) -> Iterator[Remedy]:
    """Yield changes of the API server after which it would store the pods."""
    server = components.server
    for one in server.features.find_helpful(lambda caps: not _find_rejections(workload, components, caps, now)):
        yield Remedy(one.kind, server.name, one.change, "")


# Where daemons are wanted


def _fits_node(workload: ReadOnlyObject, node: ReadOnlyObject, manager: DecidingComponent) -> NodeFit:
    """Return whether a daemon set wants a pod on a node."""
    rules = make_taint_rules(manager.caps, ExpressionCache().compile_expression)
    placement = compile_placement(manager.decode(workload), rules, make_selector_operators(manager.caps))
    return placement.check_node(manager.decode(node))


def _why_no_daemon(workload: ReadOnlyObject, node: ReadOnlyObject, manager: DecidingComponent) -> str:
    """Return why a daemon set creates no pod on a node; empty if it does."""
    return (
        ""
        if _fits_node(workload, node, manager).should_run
        else _why_rejected(workload, node, manager, DO_NOT_SCHEDULE_EFFECTS)
    )


def _why_rejected(
    workload: ReadOnlyObject, node: ReadOnlyObject, manager: DecidingComponent, effects: Sequence[str]
) -> str:
    """Return the taint that is not tolerated, or else that labels or name do not match."""
    tolerations = daemon_tolerations(manager.decode(workload)["spec"]["template"]["spec"])
    found = find_first_untolerated(tolerations, manager.decode(node), manager.caps, effects)
    return "its labels or its name do not match" if found is None else found.detail


def explain_daemon_removal(
    workload: ReadOnlyObject, node: ReadOnlyObject, manager: DecidingComponent
) -> ObstacleWithRemedies:
    """Return why the controller would delete the daemon of a node, and what would keep it."""
    # A daemon whose node gets a NoSchedule taint stays; only shouldContinueRunning decides about running ones.
    if manager.idle or _fits_node(workload, node, manager).should_continue:
        return ObstacleWithRemedies()
    name = workload["metadata"]["name"]
    why = _why_rejected(workload, node, manager, (NO_EXECUTE,))
    obstacle = Obstacle(
        PodProgress.KEPT, manager.name, f"wants no pod of daemonset {name} there (daemonset-controller)", why
    )
    helpful_changes = manager.features.find_helpful(
        lambda caps: _fits_node(workload, node, manager.with_capabilities(caps)).should_continue
    )
    return ObstacleWithRemedies(
        obstacle, [Remedy(one.kind, manager.name, one.change, key_of(node).name) for one in helpful_changes]
    )


def _manager_remedies(
    workload: ReadOnlyObject, nodes: Sequence[ReadOnlyObject], manager: DecidingComponent
) -> Iterator[Remedy]:
    """Yield changes of the controller manager after which more nodes get a daemon."""
    closed = [node for node in nodes if not _fits_node(workload, node, manager).should_run]

    def opened(caps: Capabilities) -> list[str]:
        return [
            key_of(node).name
            for node in closed
            if _fits_node(workload, node, manager.with_capabilities(caps)).should_run
        ]

    for one in manager.features.find_helpful(lambda caps: bool(opened(caps))):
        yield Remedy(one.kind, manager.name, one.change, ", ".join(opened(one.caps)))
