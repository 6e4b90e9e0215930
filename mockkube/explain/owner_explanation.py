"""Why what makes pods makes none, or too few: would they be stored, and on which nodes are daemons wanted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, key_of
from mockkube.controllers.daemonset.placement import Fit, compile_placement, daemon_tolerations
from mockkube.controllers.pods.taint_eviction import NO_EXECUTE
from mockkube.explain.api_server import view_of
from mockkube.explain.components import Member, Team
from mockkube.explain.explanation import Finding, Obstacle, Remedy, Stage
from mockkube.explain.owners import pods_of
from mockkube.explain.tolerations import first_untolerated
from mockkube.features.capabilities import Capabilities
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.proposals.lending import selector_operators, taint_rules
from mockkube.proposals.places import pod_spec
from mockkube.scheduler.plugins.taint_toleration import DO_NOT_SCHEDULE_EFFECTS


@dataclass(frozen=True, slots=True)
class Making:
    """What is told of something that makes pods."""

    maker: Key
    kind: str
    pods: Sequence[str]
    stopped: Sequence[str]
    """The pods that are Pending or Failed, those that are Pending first."""
    refusals: Sequence[str]
    """Why the API server would not store a pod of it."""
    nodes: Sequence[tuple[str, str]]
    """The nodes that a daemon set makes no pod for, and why."""
    remedies: Sequence[Remedy]

    def as_json(self) -> Object:
        """Return it for programs."""
        return {
            "maker": {"kind": self.kind, "namespace": self.maker.namespace, "name": self.maker.name},
            "pods": list(self.pods),
            "stopped": list(self.stopped),
            "refusals": list(self.refusals),
            "nodes": [{"node": node, "reason": reason} for node, reason in self.nodes],
            "whatIf": [one.as_json() for one in self.remedies],
        }


async def making_of(client: Client, team: Team, maker: ReadOnlyObject, now: datetime) -> Making:
    """Return what would become of the pods of something."""
    server = team.server
    refusals = _refusals(maker, team, server.caps, now)
    remedies = [] if not refusals else list(_of_server(maker, team, now))
    nodes: list[tuple[str, str]] = []
    if maker["kind"] == "DaemonSet":
        every = (await client.list("Node")).items
        nodes = [(key_of(node).name, why) for node in every if (why := _unwanted(maker, node, team.manager))]
        remedies += _of_manager(maker, every, team.manager)
    pods = await pods_of(client, maker)
    names = [key_of(pod).name for pod in pods]
    return Making(key_of(maker), maker["kind"], names, _stopped(pods), refusals, nodes, remedies)


def _stopped(pods: Sequence[ReadOnlyObject]) -> list[str]:
    by_phase: dict[str, list[str]] = {"Pending": [], "Failed": []}
    for pod in pods:
        phase = (pod.get("status") or {}).get("phase")
        if phase in by_phase and "deletionTimestamp" not in pod["metadata"]:
            by_phase[phase].append(key_of(pod).name)
    return [*by_phase["Pending"], *by_phase["Failed"]]


# Would a pod be stored


def _refusals(maker: ReadOnlyObject, team: Team, caps: Capabilities, now: datetime) -> list[str]:
    part = pod_spec(team.manager.sees(maker))
    if part is None:
        return []
    view = view_of(caps, now)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": part.value}
    return [str(error) for error in view.created(view.decode(pod))[1]]


def _of_server(maker: ReadOnlyObject, team: Team, now: datetime) -> Iterator[Remedy]:
    server = team.server
    for one in server.standing.helpful(lambda caps: not _refusals(maker, team, caps, now)):
        yield Remedy(one.kind, server.name, one.change, "")


# Where daemons are wanted


def _fit(maker: ReadOnlyObject, node: ReadOnlyObject, manager: Member) -> Fit:
    rules = taint_rules(manager.caps, ExpressionCache().expression)
    placement = compile_placement(manager.sees(maker), rules, selector_operators(manager.caps))
    return placement.fit(manager.sees(node))


def _unwanted(maker: ReadOnlyObject, node: ReadOnlyObject, manager: Member) -> str:
    """Return why a daemon set makes no pod for a node; empty if it does."""
    return "" if _fit(maker, node, manager).run else _why_not(maker, node, manager, DO_NOT_SCHEDULE_EFFECTS)


def _why_not(maker: ReadOnlyObject, node: ReadOnlyObject, manager: Member, effects: Sequence[str]) -> str:
    tolerations = daemon_tolerations(manager.sees(maker)["spec"]["template"]["spec"])
    found = first_untolerated(tolerations, manager.sees(node), manager.caps, effects)
    return "its labels or its name are not what is asked for" if found is None else found.detail


def removal(maker: ReadOnlyObject, node: ReadOnlyObject, manager: Member) -> Finding:
    """Return that the controller takes the daemon of a node away, if it does, and what would keep it."""
    if manager.idle or _fit(maker, node, manager).should_continue:
        return Finding()
    name = maker["metadata"]["name"]
    why = _why_not(maker, node, manager, (NO_EXECUTE,))
    obstacle = Obstacle(Stage.KEPT, manager.name, f"wants no pod of daemonset {name} there (daemonset-controller)", why)
    kept = manager.standing.helpful(lambda caps: _fit(maker, node, manager.able(caps)).should_continue)
    return Finding(obstacle, [Remedy(one.kind, manager.name, one.change, key_of(node).name) for one in kept])


def _of_manager(maker: ReadOnlyObject, nodes: Sequence[ReadOnlyObject], manager: Member) -> Iterator[Remedy]:
    closed = [node for node in nodes if not _fit(maker, node, manager).run]

    def opened(caps: Capabilities) -> list[str]:
        return [key_of(node).name for node in closed if _fit(maker, node, manager.able(caps)).run]

    for one in manager.standing.helpful(lambda caps: bool(opened(caps))):
        yield Remedy(one.kind, manager.name, one.change, ", ".join(opened(one.caps)))
