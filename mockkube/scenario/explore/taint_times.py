"""Times of taints and bindings: an eviction before its time is one that nobody asked for."""

from collections.abc import Iterator

from mockkube.api.types import ReadOnlyObject
from mockkube.cluster.trace import Step
from mockkube.scenario.explore.mirror import NODES, PODS

NO_EXECUTE = "NoExecute"


class TaintTimes:
    """The times of taints with the effect NoExecute, and of bindings."""

    def __init__(self) -> None:
        self._taints: dict[str, dict[str, float]] = {}
        self._bound: dict[str, float] = {}

    def follow(self, step: Step) -> None:
        """Take in what a step wrote."""
        for write in step.writes:
            if write.resource == NODES:
                self._node(write.object(), step.at)
            elif write.resource == PODS and write.verb != "delete":
                pod = write.object()
                if pod["spec"].get("nodeName"):
                    self._bound.setdefault(pod["metadata"].get("uid", ""), step.at)

    def _node(self, node: ReadOnlyObject, at: float) -> None:
        before = self._taints.get(node["metadata"]["name"], {})
        names = [_name(one) for one in evicting(node)]
        self._taints[node["metadata"]["name"]] = {name: before.get(name, at) for name in names}

    def since(self, pod: ReadOnlyObject, node: ReadOnlyObject, taint: ReadOnlyObject) -> float:
        """Return since when a pod has been on a node with a taint."""
        tainted = self._taints.get(node["metadata"]["name"], {}).get(_name(taint), 0.0)
        return max(tainted, self._bound.get(pod["metadata"].get("uid", ""), 0.0))


def evicting(node: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Yield the taints of a node that evict pods."""
    yield from (one for one in node["spec"].get("taints") or () if one.get("effect") == NO_EXECUTE)


def _name(taint: ReadOnlyObject) -> str:
    return f"{taint.get('key', '')}={taint.get('value', '')}"
