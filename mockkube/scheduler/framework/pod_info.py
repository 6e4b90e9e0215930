"""A pod as scheduling sees it: compiled once per revision, shared by all who ask."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Key, key_of

T = TypeVar("T")
_NO_LABELS: Final[Mapping[str, str]] = {}


class PodInfo:
    """One revision of a pod. What only some plugins read is compiled when first asked for, with `part`."""

    def __init__(self, obj: ReadOnlyObject) -> None:
        self.obj = obj
        self.key: Key = key_of(obj)
        metadata = obj["metadata"]
        self.uid: str = metadata.get("uid", "")
        self.name, self.namespace = self.key.name, self.key.namespace
        self.labels: Mapping[str, str] = metadata.get("labels") or _NO_LABELS
        self.spec: ReadOnlyObject = obj["spec"]
        self.status: ReadOnlyObject = obj.get("status") or {}
        self.node_name: str = self.spec.get("nodeName", "")
        self.priority: int = self.spec.get("priority", 0)
        if not isinstance(self.spec, dict) or not isinstance(self.priority, int):
            raise TypeError(f"pod {self.key} cannot be read")
        self._parts: dict[object, Any] = {}

    def part(self, owner: object, read: Callable[["PodInfo"], T]) -> T:
        """Return what `owner` (a plugin, a module: any hashable) compiles from this pod; compiled once."""
        try:
            part: T = self._parts[owner]
        except KeyError:
            part = self._parts[owner] = read(self)
        return part

    @cached_property
    def terminating(self) -> bool:
        """Whether its deletion has been asked for."""
        return bool(self.obj["metadata"].get("deletionTimestamp"))

    @cached_property
    def finished(self) -> bool:
        """Whether it has run to its end; it occupies nothing any more."""
        return self.status.get("phase") in ("Succeeded", "Failed")

    @cached_property
    def nominated_node(self) -> str:
        """The node that preemption has made room on for it."""
        name: str = self.status.get("nominatedNodeName", "")
        return name

    @cached_property
    def scheduler_name(self) -> str:
        """Whose pod it is."""
        name: str = self.spec.get("schedulerName", "default-scheduler")
        return name

    def on(self, node_name: str) -> "PodInfo":
        """Return the pod as if bound to a node; what was compiled is shared."""
        assumed = PodInfo({**self.obj, "spec": {**self.spec, "nodeName": node_name}})
        assumed._parts = self._parts
        return assumed

    def share_parts(self, other: "PodInfo") -> None:
        """Take over what was compiled from another revision of which nothing that was compiled has changed."""
        self._parts = other._parts
