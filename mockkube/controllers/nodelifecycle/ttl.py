"""ttl-controller: annotates nodes with how long kubelets may cache secrets and config maps.

upstream 1.36: pkg/controller/ttl/ttl_controller.go
"""

from typing import ClassVar, Final, NamedTuple

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult

ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"


class TTLBoundary(NamedTuple):
    """Range of cluster sizes (in nodes) with one TTL; a cluster leaves it below `size_min` or above `size_max`."""

    size_min: int
    size_max: int
    seconds: int


# The ranges overlap so that a cluster on a boundary does not switch back and forth.
_TTL_BOUNDARIES: Final = (
    TTLBoundary(0, 100, 0),
    TTLBoundary(90, 500, 15),
    TTLBoundary(450, 1000, 30),
    TTLBoundary(900, 2000, 60),
    TTLBoundary(1800, 2**31, 300),
)


class TTLController(Controller):
    """Controller of the TTL annotation; keys are nodes."""

    name: ClassVar[str] = "ttl-controller"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self._node_count = self._boundary_step = 0
        self.nodes = self.watched_informer("Node", self._on_node_change)

    def _on_node_change(self, change: ObjectChange) -> None:
        if change.type is WatchEventType.DELETED:
            self._node_count -= 1
            if self._node_count < _TTL_BOUNDARIES[self._boundary_step].size_min and self._boundary_step > 0:
                self._boundary_step -= 1
            # Upstream re-annotates a node only when the node itself changes, not when the cluster's size does.
            return
        if change.type is WatchEventType.ADDED:
            self._node_count += 1
            if self._node_count > _TTL_BOUNDARIES[self._boundary_step].size_max:
                self._boundary_step += 1
        # differs: upstream queues each heartbeat, too, of which almost none leads to a write.
        if self._needs_annotation(change.object):
            self.work_queue.add(key_of(change.object))

    def _needs_annotation(self, node: ReadOnlyObject) -> bool:
        annotations = node["metadata"].get("annotations") or {}
        return bool(annotations.get(ANNOTATION) != self._wanted_seconds)

    @property
    def _wanted_seconds(self) -> str:
        """TTL for the present size of the cluster."""
        return str(_TTL_BOUNDARIES[self._boundary_step].seconds)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Write the annotation if it differs from the TTL for the cluster's size."""
        node = self.nodes.get(key)
        if node is not None and self._needs_annotation(node):
            await self.client.patch("Node", key, {"metadata": {"annotations": {ANNOTATION: self._wanted_seconds}}})
        return DONE
