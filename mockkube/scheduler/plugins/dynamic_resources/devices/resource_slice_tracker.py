"""Resource slice tracker: ResourceSlices, compiled and indexed by node and pool, with taints of DeviceTaintRules.

upstream 1.36: dynamic-resource-allocation/resourceslice/tracker/tracker.go
"""

from collections.abc import Mapping, Sequence

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer, InformerFactory, ObjectChange
from mockkube.client.protocol import key_of
from mockkube.matching.node_selectors import LabelOperator
from mockkube.scheduler.plugins.dynamic_resources.devices.devices import PoolId, PoolTaints, ResourceSlice


class ResourceSliceTracker:
    """All ResourceSlices. `generation` grows with every change, so that results can be cached by it."""

    def __init__(
        self, informers: InformerFactory, operators: Mapping[str, LabelOperator], *, taint_rules: bool
    ) -> None:
        self._operators = operators
        self._objects: dict[str, ReadOnlyObject] = {}
        self._compiled: dict[str, ResourceSlice] = {}
        self._by_node: dict[str, list[ResourceSlice]] = {}
        self._shared: list[ResourceSlice] = []
        self._by_pool: dict[PoolId, list[ResourceSlice]] = {}
        self._stale = False
        self.generation = 0
        self._taint_rules: Informer | None = informers.informer_for("DeviceTaintRule") if taint_rules else None
        informers.informer_for("ResourceSlice").add_event_handler(self._on_slice_change)
        if self._taint_rules is not None:
            self._taint_rules.add_event_handler(self._on_taint_rule_change)

    def for_node(self, name: str) -> Sequence[ResourceSlice]:
        """Return the slices that may have devices for a node."""
        self._refresh()
        local = self._by_node.get(name)
        return self._shared if local is None else [*local, *self._shared]

    def of_pool(self, pool: PoolId) -> Sequence[ResourceSlice]:
        """Return all slices of a pool, of all generations."""
        self._refresh()
        return self._by_pool.get(pool, ())

    def _on_slice_change(self, change: ObjectChange) -> None:
        name = key_of(change.object).name
        self._objects[name] = change.object
        if change.type == "DELETED":
            del self._objects[name]
        self._compiled.pop(name, None)
        # Compiled only when a pod needs devices: drivers publish many slices at a time.
        self._mark_stale()

    def _on_taint_rule_change(self, change: ObjectChange) -> None:
        # A rule may select devices of any pool.
        self._compiled.clear()
        self._mark_stale()

    def _mark_stale(self) -> None:
        self._stale = True
        self.generation += 1

    def _refresh(self) -> None:
        """Compile changed slices, and rebuild the indexes."""
        if not self._stale:
            return
        self._stale = False
        self._by_node, self._shared, self._by_pool = {}, [], {}
        for name, obj in self._objects.items():
            one = self._compiled.get(name)
            if one is None:
                one = self._compiled[name] = ResourceSlice.from_object(obj, self._taints_of_pool(obj), self._operators)
            self._by_pool.setdefault(one.pool, []).append(one)
            # Counters of a node's slice may be consumed by devices in other slices of the pool.
            if one.node_scope.node_name and not one.counters:
                self._by_node.setdefault(one.node_scope.node_name, []).append(one)
            else:
                self._shared.append(one)

    def _taints_of_pool(self, obj: ReadOnlyObject) -> PoolTaints:
        if self._taint_rules is None:
            return PoolTaints()
        driver, pool = obj["spec"]["driver"], obj["spec"]["pool"]["name"]
        taints: dict[str, tuple[ReadOnlyObject, ...]] = {}
        for rule in self._taint_rules.list():
            selector = rule["spec"].get("deviceSelector") or {}
            if selector.get("driver", driver) == driver and selector.get("pool", pool) == pool:
                device = selector.get("device", "")
                taints[device] = (*taints.get(device, ()), rule["spec"]["taint"])
        return PoolTaints(taints)
