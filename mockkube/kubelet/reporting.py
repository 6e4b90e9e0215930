"""What kubelets tell besides statuses: events and metrics."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter

from mockkube.api.types import ReadOnlyObject
from mockkube.client.events import reference_to
from mockkube.client.recorder import EventRecorder
from mockkube.kubelet.containers import Note

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

    def __init__(self, recorder: EventRecorder, metrics: CollectorRegistry) -> None:
        self._recorder = recorder
        self._rejections = Counter(
            "kubelet_admission_rejections",
            "Cumulative number pod admission rejections by the Kubelet.",
            ["reason"],
            registry=metrics,
        )

    def tell(self, obj: ReadOnlyObject, note: Note) -> None:
        """Record an event."""
        if obj.get("kind") == "Node":
            host = obj["metadata"]["name"]
            about = {"kind": "Node", "apiVersion": "v1", "name": host, "uid": host}  # by its name, as upstream
        else:
            host = obj["spec"].get("nodeName", "")
            about = reference_to(obj, _field_path(obj["spec"], note.container) if note.container else "")
        self._recorder.record(about, note.type, note.reason, note.message, host=host)

    def refused(self, reason: str) -> None:
        """Count a pod that was not let in."""
        if reason not in _KNOWN_REASONS:
            reason = "OutOfExtendedResources" if reason.startswith("OutOf") else "Other"
        self._rejections.labels(reason).inc()


def _field_path(spec: ReadOnlyObject, container: str) -> str:
    for listed in ("initContainers", "containers"):
        if any(one["name"] == container for one in spec.get(listed) or ()):
            return f"spec.{listed}{{{container}}}"
    return ""
