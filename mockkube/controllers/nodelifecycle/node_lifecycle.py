"""node-lifecycle-controller: follows the heartbeats of nodes, and turns what it finds into taints, labels and events.

Four queues over one memory: taints and labels of a node at once (`NodeTaints`), the health of all nodes every few
seconds (`NodeMonitor`), NoExecute taints at the pace of a zone (`NodeEvictions`), pods that come late to a lost node
(`LatePods`). upstream 1.36: pkg/controller/nodelifecycle/node_lifecycle_controller.go
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.cache import Change
from mockkube.client.protocol import EventType, Key, key_of
from mockkube.controllers.framework.controller import DONE, SWEEP, Again, Controller, Outcome, Setting
from mockkube.controllers.nodelifecycle.node_health import ready_condition
from mockkube.controllers.nodelifecycle.node_health_map import NOT_READY, UNREACHABLE, NodeMemory
from mockkube.controllers.nodelifecycle.node_monitor import NodeMonitor
from mockkube.controllers.nodelifecycle.node_writer import NodeWriter, has_taint
from mockkube.controllers.nodelifecycle.pods_not_ready import mark_not_ready
from mockkube.controllers.pods.taint_eviction import TaintEviction

NAME: Final = "node-lifecycle-controller"
SEPARATE_GATE: Final = "SeparateTaintEvictionController"
_PREFIX: Final = "node.kubernetes.io/"
_UNSCHEDULABLE: Final = f"{_PREFIX}unschedulable"
_TAINT_OF: Final = {
    ("Ready", "False"): f"{_PREFIX}not-ready",
    ("Ready", "Unknown"): f"{_PREFIX}unreachable",
    ("MemoryPressure", "True"): f"{_PREFIX}memory-pressure",
    ("DiskPressure", "True"): f"{_PREFIX}disk-pressure",
    ("NetworkUnavailable", "True"): f"{_PREFIX}network-unavailable",
    ("PIDPressure", "True"): f"{_PREFIX}pid-pressure",
}
_OWN_KEYS: Final = frozenset({*_TAINT_OF.values(), _UNSCHEDULABLE})
_LABELS: Final = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}
_PASS_SECONDS: Final = 0.1
"""How often the queues of zones are looked at, while something waits in them."""
_RETRY_SECONDS: Final = 0.05


def wanted_taints(node: ReadOnlyObject) -> list[Object]:
    """Return the NoSchedule taints that conditions, and `spec.unschedulable`, ask for."""
    conditions = node.get("status", {}).get("conditions", ())
    keys = [_TAINT_OF.get((condition["type"], condition["status"])) for condition in conditions]
    if node["spec"].get("unschedulable"):
        keys.append(_UNSCHEDULABLE)
    return [{"key": key, "effect": "NoSchedule"} for key in keys if key]


def own_taints(node: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the NoSchedule taints on a node that are this controller's to keep or to remove."""
    taints = node["spec"].get("taints", ())
    return [taint for taint in taints if taint["effect"] == "NoSchedule" and taint["key"] in _OWN_KEYS]


def wanted_labels(node: ReadOnlyObject) -> Mapping[str, str]:
    """Return the labels of old names that are missing, or differ from those of today."""
    labels = node["metadata"].get("labels", {})
    return {old: labels[new] for new, old in _LABELS.items() if new in labels and labels.get(old) != labels[new]}


class NodeTaints(Controller):
    """Keys are nodes: condition taints and labels of old names, at once."""

    name: ClassVar[str] = NAME
    source: ClassVar[str] = "node-controller"
    queue: ClassVar[str] = "node_lifecycle_controller"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.nodes = self.follow("Node", self._node_changed)
        self._writer = NodeWriter(self.client, self.clock)

    def _node_changed(self, change: Change) -> None:
        if change.type is not EventType.DELETED:
            self.keys.add(key_of(change.object))

    async def reconcile(self, key: Key) -> Outcome:
        """Bring the condition taints and the old labels of a node up to date."""
        node = self.nodes.get(key)
        if node is None:
            return DONE
        wanted, present = wanted_taints(node), own_taints(node)
        add = [taint for taint in wanted if not has_taint(present, taint)]
        remove = [taint for taint in present if not has_taint(wanted, taint)]
        if add or remove:
            await self._writer.swap_taints(node, add=add, remove=remove)
        if labels := wanted_labels(node):
            await self._writer.set_labels(key, labels)
        return DONE


class NodeEvictions(Controller):
    """Looks at the queues of all zones while something waits there, and taints what they let through."""

    name: ClassVar[str] = f"{NAME}/evictions"
    source: ClassVar[str] = "node-controller"

    def __init__(self, setting: Setting, memory: NodeMemory) -> None:
        super().__init__(setting)
        self.nodes = self.cache("Node")
        self._memory = memory
        self._writer = NodeWriter(self.client, self.clock)
        memory.waiting.append(lambda: self.keys.add(SWEEP))

    async def reconcile(self, key: Key) -> Outcome:
        """Taint the nodes whose turn it is."""
        for zone, queue in self._memory.queues.items():
            while (name := queue.take()) is not None:
                try:
                    tainted = await self._taint(name)
                except NotFound:
                    tainted = False
                except ApiError as error:
                    self.loops.failed(self.name, name, error.message)
                    queue.postpone(name, 0.0)
                    continue
                queue.finish(name)
                if tainted:
                    self._memory.metrics.evictions.labels(zone).inc()
        return self._next()

    def _next(self) -> Outcome:
        due = [at for queue in self._memory.queues.values() if (at := queue.due_at()) is not None]
        return Again(after=max(min(due) - self.clock.monotonic(), _PASS_SECONDS)) if due else DONE

    async def _taint(self, name: str) -> bool:
        node = self.nodes.get(Key("", name))
        condition = None if node is None else ready_condition(node)
        if node is None or condition is None:
            return False
        match condition["status"]:
            case "False":
                await self._writer.swap_taints(node, add=[NOT_READY], remove=[UNREACHABLE])
            case "Unknown":
                await self._writer.swap_taints(node, add=[UNREACHABLE], remove=[NOT_READY])
            case _:
                return False
        return True


class LatePods(Controller):
    """Keys are pods: one that is bound to a node already known to be lost is not ready either."""

    name: ClassVar[str] = f"{NAME}/pods"
    source: ClassVar[str] = "node-controller"
    queue: ClassVar[str] = "node_lifecycle_controller_pods"

    def __init__(self, setting: Setting, memory: NodeMemory) -> None:
        super().__init__(setting)
        self.pods = self.follow("Pod", self._pod_changed)
        self.nodes = self.cache("Node")
        self._memory = memory

    def _pod_changed(self, change: Change) -> None:
        if change.type is EventType.DELETED:
            return
        name = change.object["spec"].get("nodeName")
        if name and (change.old is None or change.old["spec"].get("nodeName") != name):
            self.keys.add(key_of(change.object))

    async def reconcile(self, key: Key) -> Outcome:
        """Mark the pod not ready if its node is known not to be."""
        pod = self.pods.get(key)
        health = None if pod is None else self._memory.health.get(pod["spec"]["nodeName"])
        if pod is None or health is None:
            return DONE
        name = pod["spec"]["nodeName"]
        if self.nodes.get(Key("", name)) is None:
            return Again()
        if health.ready is not None and health.ready["status"] != "True":
            await mark_not_ready(self.client, self.events, [pod], self.clock.now())
        return DONE


def build(setting: Setting) -> Iterable[Controller]:
    """Return the queues; with them taint eviction, at versions and gates where it has no name of its own."""
    memory = NodeMemory(setting)
    yield NodeTaints(setting)
    yield NodeMonitor(setting, memory)
    yield NodeEvictions(setting, memory)
    yield LatePods(setting, memory)
    if not setting.capabilities.enabled(SEPARATE_GATE):
        yield TaintEviction(setting)
