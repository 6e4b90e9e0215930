"""What kubelets tell besides statuses: events and metrics."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.events import reference_to
from mockkube.features.versions import Version
from mockkube.kubelet.containers import Note
from mockkube.kubelet.node_events import Voices
from mockkube.kubelet.rejection_loops import Refusals
from mockkube.runtime.clock import Clock
from mockkube.runtime.loop_board import LoopBoard

_KNOWN_REASONS: Final = frozenset(
    {
        "AppArmor", "Evicted", "InvalidNodeInfo", "NodeAffinity", "NodeName", "NodePorts", "NodeShutdown", "OutOfcpu",
        "OutOfephemeral-storage", "OutOfmemory", "OutOfpods", "PodFeatureUnsupported", "PodLevelResourcesNotSupported",
        "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch", "SupplementalGroupsPolicyNotSupported",
        "SysctlForbidden", "TaintToleration", "UnexpectedAdmissionError",
    }
)  # fmt: skip


class Reporter:
    """Tells of pods and nodes in a kubelet's voice."""

    def __init__(
        self, voices: Voices, metrics: CollectorRegistry, version: Version, clock: Clock, loops: LoopBoard
    ) -> None:
        self._voices, self._version = voices, version
        self._refusals = Refusals(clock, loops.bell)
        loops.add(self._refusals.current)
        metrics.register(self._refusals)
        self._rejections = Counter(
            "kubelet_admission_rejections",
            "Cumulative number pod admission rejections by the Kubelet.",
            ["reason"],
            registry=metrics,
        )
        self._preemptions = Counter(
            "kubelet_preemptions",
            "Cumulative number of pod preemptions by preemption resource",
            ["preemption_signal"],
            registry=metrics,
        )

    def tell(self, obj: ReadOnlyObject, note: Note) -> None:
        """Record an event."""
        if obj.get("kind") == "Node":
            host = obj["metadata"]["name"]
            about = self._node_reference(obj)
        else:
            host = obj["spec"].get("nodeName", "")
            about = reference_to(obj, _field_path(obj["spec"], note.container) if note.container else "")
        self._voices.record(about, note.type, note.reason, note.message, host=host)

    def _node_reference(self, node: ReadOnlyObject) -> Object:
        """Return the reference to a node; what stands for its uid has changed twice."""
        # upstream 1.36: pkg/kubelet/kubelet.go, nodeRef
        name = node["metadata"]["name"]
        if self._version < Version(1, 35):
            return {"kind": "Node", "name": name, "uid": name}
        reference: Object = {"kind": "Node", "apiVersion": "v1", "name": name}
        return reference if self._version < Version(1, 37) else {**reference, "uid": node["metadata"]["uid"]}

    def leave(self, node: str) -> None:
        """Forget a node that is gone."""
        self._voices.leave(node)

    def refused(self, pod: ReadOnlyObject, reason: str) -> None:
        """Count a pod that was not let in."""
        self._refusals.refused(pod, reason)
        if reason not in _KNOWN_REASONS:
            reason = "OutOfExtendedResources" if reason.startswith("OutOf") else "Other"
        self._rejections.labels(reason).inc()

    def preempted(self, resource: str) -> None:
        """Count a pod that had to go because there was too little of a resource."""
        self._preemptions.labels(resource).inc()


def _field_path(spec: ReadOnlyObject, container: str) -> str:
    for listed in ("initContainers", "containers"):
        if any(one["name"] == container for one in spec.get(listed) or ()):
            return f"spec.{listed}{{{container}}}"
    return ""
