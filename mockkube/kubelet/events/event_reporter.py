"""Events and admission metrics of kubelets."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.events import reference_to
from mockkube.features.versions import Version
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.kubelet.events.node_events import NodeEvents
from mockkube.kubelet.events.rejection_loops import RejectionLoops
from mockkube.runtime.clock import Clock
from mockkube.runtime.hot_loops import HotLoops

_KNOWN_REASONS: Final = frozenset(
    {
        "AppArmor", "Evicted", "InvalidNodeInfo", "NodeAffinity", "NodeName", "NodePorts", "NodeShutdown", "OutOfcpu",
        "OutOfephemeral-storage", "OutOfmemory", "OutOfpods", "PodFeatureUnsupported", "PodLevelResourcesNotSupported",
        "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch", "SupplementalGroupsPolicyNotSupported",
        "SysctlForbidden", "TaintToleration", "UnexpectedAdmissionError",
    }
)  # fmt: skip


class EventReporter:
    """Records events and counts rejections and preemptions of kubelets."""

    def __init__(
        self, node_events: NodeEvents, metrics: CollectorRegistry, version: Version, clock: Clock, hot_loops: HotLoops
    ) -> None:
        self._node_events, self._version = node_events, version
        self._paths = _FieldPaths({})
        self._rejection_loops = RejectionLoops(clock, hot_loops.signal)
        hot_loops.add_source(self._rejection_loops.find_loops)
        metrics.register(self._rejection_loops)
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

    def record_event(self, obj: ReadOnlyObject, note: KubeletEvent) -> None:
        """Record an event about a pod or a node."""
        if obj.get("kind") == "Node":
            host = obj["metadata"]["name"]
            about = self._node_reference(obj)
        else:
            host = obj["spec"].get("nodeName", "")
            # Events of one pod come in sequence, so the paths of the last pod suffice as a cache.
            if self._paths.spec is not obj["spec"]:
                self._paths = _FieldPaths(obj["spec"])
            about = reference_to(obj, self._paths.get_path(note.container) if note.container else "")
        self._node_events.record(about, note.type, note.reason, note.message, host=host)

    def _node_reference(self, node: ReadOnlyObject) -> Object:
        """Return an event's reference to a node; upstream's uid in it differs by version."""
        # upstream 1.36: pkg/kubelet/kubelet.go, nodeRef
        name = node["metadata"]["name"]
        if self._version < Version(1, 35):
            return {"kind": "Node", "name": name, "uid": name}
        reference: Object = {"kind": "Node", "apiVersion": "v1", "name": name}
        return reference if self._version < Version(1, 37) else {**reference, "uid": node["metadata"]["uid"]}

    def remove_node(self, node: str) -> None:
        """Drop the event recorder of a deleted node."""
        self._node_events.remove_node(node)

    def record_rejection(self, pod: ReadOnlyObject, reason: str) -> None:
        """Count a rejected pod."""
        self._rejection_loops.record_rejection(pod, reason)
        # As upstream, other reasons share a label so that the metric's cardinality is bounded.
        if reason not in _KNOWN_REASONS:
            reason = "OutOfExtendedResources" if reason.startswith("OutOf") else "Other"
        self._rejections.labels(reason).inc()

    def record_preemption(self, resource: str) -> None:
        """Count a pod evicted for an insufficient resource."""
        self._preemptions.labels(resource).inc()


class _FieldPaths:
    """Field paths of a pod's containers, computed once for all its events."""

    def __init__(self, spec: ReadOnlyObject) -> None:
        self.spec = spec
        self._lists = {
            one["name"]: listed for listed in ("containers", "initContainers") for one in spec.get(listed) or ()
        }

    def get_path(self, container: str) -> str:
        """Return the field path of a container; empty if the pod has none of the name."""
        listed = self._lists.get(container)
        return f"spec.{listed}{{{container}}}" if listed else ""
