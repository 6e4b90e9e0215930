"""PodInfo: one revision of a pod, parsed once and shared by all plugins."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key, key_of
from mockkube.scheduler.framework.spec_values import SpecValues

T = TypeVar("T")
_NO_LABELS: Final[Mapping[str, str]] = {}


class PodInfo:
    """One revision of a pod; values that only some plugins read are derived on first use."""

    def __init__(self, obj: ReadOnlyObject, spec_values: SpecValues | None = None) -> None:
        """Share what follows from the spec with the pods of `spec_values`."""
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
        # Name of the scheduler that is responsible for the pod.
        self.scheduler_name: str = self.spec.get("schedulerName", "default-scheduler")
        # Node that preemption or a binding in progress nominated.
        self.nominated_node: str = self.status.get("nominatedNodeName", "")
        self.terminating = bool(metadata.get("deletionTimestamp"))
        # A finished pod occupies nothing any more.
        self.finished: bool = self.status.get("phase") in ("Succeeded", "Failed")
        # An unreadable pod must fail here, where its event is handled, and not later in the middle of a cycle.
        if not isinstance(self.spec, dict) or not isinstance(self.priority, int):
            raise TypeError(f"pod {self.key} cannot be read")
        self._derived: dict[object, Any] = {}
        self._spec_values = spec_values
        # Values that follow from the spec, once the first of them is needed.
        self._from_spec: dict[object, Any] | None = None

    def derive(self, owner: object, read: Callable[["PodInfo"], T]) -> T:
        """Return the value that `owner` (a plugin, a module: any hashable) derives from this pod; computed once."""
        try:
            part: T = self._derived[owner]
        except KeyError:
            part = self._derived[owner] = read(self)
        return part

    def derive_from_spec(self, owner: object, read: Callable[[ReadOnlyObject], T]) -> T:
        """Return the value that `owner` derives from the spec alone; pods with equal specs share it.

        Specs that differ only in the node, or in the name of the volume with the service account's token, are equal.
        """
        values = self._from_spec
        if values is None:
            values = self._from_spec = {} if self._spec_values is None else self._spec_values.get(self.spec)
        try:
            part: T = values[owner]
        except KeyError:
            part = values[owner] = read(self.spec)
        return part

    @property
    def has_pod_affinity(self) -> bool:
        """True if the pod has inter-pod affinity or anti-affinity."""
        affinity = self.spec.get("affinity") or ()
        return "podAffinity" in affinity or "podAntiAffinity" in affinity

    def bound_to(self, node_name: str) -> "PodInfo":
        """Return the pod as bound to a node, sharing derived values."""
        assumed = PodInfo.__new__(PodInfo)  # what was read from the pod is copied, not read again
        assumed.__dict__.update(self.__dict__)
        assumed.spec, assumed.node_name = {**self.spec, "nodeName": node_name}, node_name
        assumed.obj = {**self.obj, "spec": assumed.spec}
        # Requests, ports and affinity terms do not depend on spec.nodeName: what was derived stays valid.
        return assumed

    def share_derived(self, other: "PodInfo") -> None:
        """Take over the derived values of another revision that is equal in everything they depend on."""
        self._derived, self._from_spec = other._derived, other._from_spec

    def share_derived_from_spec(self, other: "PodInfo") -> None:
        """Take over the values of another revision with an equal spec."""
        self._from_spec = other._from_spec
