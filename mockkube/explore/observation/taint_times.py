"""Times of NoExecute taints and of bindings, to tell an eviction that comes too early."""

from collections.abc import Iterator

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.cluster.execution.step_trace import TraceStep
from mockkube.explore.observation.stored_objects import NODES, PODS

NO_EXECUTE = "NoExecute"


class TaintTimes:
    """Since when each node has its NoExecute taints, and each pod its node."""

    def __init__(self) -> None:
        self._taints: dict[str, dict[str, float]] = {}
        self._bound: dict[str, float] = {}

    def record_step(self, step: TraceStep) -> None:
        """Record taints and bindings that a step wrote."""
        for write in step.writes:
            if write.resource == NODES:
                self._record_node(write.load_object(), step.at)
            elif write.resource == PODS and write.verb != "delete":
                pod = write.load_object()
                if pod["spec"].get("nodeName"):
                    # Only the first write with a node is the binding; all later ones repeat the name.
                    self._bound.setdefault(pod["metadata"].get("uid", ""), step.at)

    def _record_node(self, node: ReadOnlyObject, at: float) -> None:
        before = self._taints.get(node["metadata"]["name"], {})
        names = [_taint_id(one) for one in evicting_taints(node)]
        # A taint keeps its first time as long as it stays; added again, its time starts again.
        self._taints[node["metadata"]["name"]] = {name: before.get(name, at) for name in names}

    def tainted_since(self, pod: ReadOnlyObject, node: ReadOnlyObject, taint: ReadOnlyObject) -> float:
        """Return since when a pod has been on a node with a taint."""
        tainted = self._taints.get(node["metadata"]["name"], {}).get(_taint_id(taint), 0.0)
        return max(tainted, self._bound.get(pod["metadata"].get("uid", ""), 0.0))


def evicting_taints(node: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Yield the NoExecute taints of a node."""
    yield from (one for one in node["spec"].get("taints") or () if one.get("effect") == NO_EXECUTE)


def _taint_id(taint: ReadOnlyObject) -> str:
    return f"{taint.get('key', '')}={taint.get('value', '')}"
