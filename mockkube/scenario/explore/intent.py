"""What users meant: the tolerations of their manifests, read as if every component had changed already."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mockkube.api.types import ReadOnlyObject
from mockkube.cluster.components import API_SERVER, Settings
from mockkube.cluster.readings import usual_trains
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.matching import taints
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.node_affinity import required_node_affinity
from mockkube.proposals import places
from mockkube.proposals.lending import selector_operators, taint_rules
from mockkube.scenario.explore.mirror import NODES, PODS, Mirror
from mockkube.scenario.explore.plan import Plan, Setting

_REPELLING = ("NoSchedule", "NoExecute")
_EVICTING = ("NoExecute",)
_DAEMON_TOLERATIONS = tuple(
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists"}
    for key in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
)


def capabilities_of(plan: Plan, component: str, setting: Setting) -> Capabilities:
    """Return what a component of a plan can do with a setting."""
    version = Version.parse(setting.version) if setting.version else plan.version
    gates = {gate: on for gate, on in setting.gates.items() if on is not None}
    return Settings(component, version, gates, plan.trains or usual_trains()).capabilities()


def changed(plan: Plan, component: str) -> Capabilities:
    """Return what a component can do once it has changed; one that does not change is as the plan begins."""
    setting = next((one.after for one in plan.changes if one.component == component), Setting())
    return capabilities_of(plan, component, setting)


@dataclass(frozen=True, slots=True)
class Workload:
    """A manifest of the plan, and the pods that are meant by it."""

    manifest: ReadOnlyObject
    labels: Mapping[str, str]
    tolerations: Sequence[ReadOnlyObject]
    spec: ReadOnlyObject

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.manifest['kind'].lower()}/{self.manifest['metadata']['name']}"

    def owns(self, pod: ReadOnlyObject) -> bool:
        """Whether a pod is one of its."""
        metadata, own = pod["metadata"], self.manifest["metadata"]
        if metadata.get("namespace") != own.get("namespace", "default"):
            return False
        if self.manifest["kind"] == "Pod":
            return bool(metadata["name"] == own["name"])
        labels = metadata.get("labels") or {}
        return bool(self.labels) and all(labels.get(key) == value for key, value in self.labels.items())


class Intent:
    """The workloads of a plan, and what they would tolerate if everybody knew how."""

    def __init__(self, plan: Plan) -> None:
        caps = changed(plan, API_SERVER)
        self._rules = taint_rules(caps, ExpressionCache().expression)
        self._operators = selector_operators(caps)
        self.workloads = [found for obj in plan.workload if (found := _workload(obj)) is not None]

    def rewrite(self, objects: Iterable[ReadOnlyObject]) -> None:
        """Take it that users mean from now on what they have just written."""
        for obj in objects:
            for index, own in enumerate(self.workloads):
                metadata, before = obj["metadata"], own.manifest["metadata"]
                same = (obj["kind"], metadata["name"]) == (own.manifest["kind"], before["name"])
                if same and (found := _workload(obj)) is not None:
                    self.workloads[index] = found

    def workload_of(self, pod: ReadOnlyObject) -> Workload | None:
        """Return whose pod it is."""
        return next((one for one in self.workloads if one.owns(pod)), None)

    def tolerates(self, pod: ReadOnlyObject, node: ReadOnlyObject | None) -> bool:
        """Whether a pod is meant to stay on its node for ever."""
        if node is None:
            return False
        own = self.workload_of(pod)
        lasting = [one for one in (own.tolerations if own else ()) if one.get("tolerationSeconds") is None]
        return self._fits(node, [*lasting, *(pod["spec"].get("tolerations") or ())], _EVICTING)

    def _fits(self, node: ReadOnlyObject, tolerations: Iterable[ReadOnlyObject], effects: Sequence[str]) -> bool:
        compiled = taints.compile_tolerations(tolerations, self._rules)
        return taints.find_untolerated(node["spec"].get("taints") or (), compiled, effects) is None

    def lost(self, pod: ReadOnlyObject) -> list[ReadOnlyObject]:
        """Return the tolerations of its owner's manifest that a pod does not have."""
        own = self.workload_of(pod)
        has = pod["spec"].get("tolerations") or []
        return [one for one in (own.tolerations if own else ()) if one not in has]

    def missing(self, workload: Workload, mirror: Mirror) -> int:
        """Return how many replicas are not ready that should be; none of a workload that was not accepted."""
        if mirror.found(workload.manifest) is None:
            return 0
        pods = [pod for pod in mirror.all(PODS).values() if workload.owns(pod) and _ready(pod)]
        return max(0, self.wanted(workload, mirror) - len(pods))

    def wanted(self, workload: Workload, mirror: Mirror) -> int:
        """Return how many replicas there should be."""
        spec = workload.manifest.get("spec") or {}
        match workload.manifest["kind"]:
            case "DaemonSet":
                tolerations = [*workload.tolerations, *_DAEMON_TOLERATIONS]
                nodes = mirror.all(NODES).values()
                affinity = required_node_affinity(workload.spec, self._operators)
                return sum(
                    self._fits(node, tolerations, _REPELLING)
                    and affinity.matches(node["metadata"].get("labels") or {}, node["metadata"]["name"])
                    for node in nodes
                )
            case "Job":
                return int(spec.get("parallelism", 1))
            case "Pod":
                return 1
        return int(spec.get("replicas", 1))


def _ready(pod: ReadOnlyObject) -> bool:
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or status.get("phase") != "Running":
        return status.get("phase") == "Succeeded"
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())


def _workload(manifest: ReadOnlyObject) -> Workload | None:
    part = places.pod_spec(manifest)
    if part is None:
        return None
    template = (manifest.get("spec") or {}).get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    return Workload(manifest, labels, part.value.get("tolerations") or (), part.value)
