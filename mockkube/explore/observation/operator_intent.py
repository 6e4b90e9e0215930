"""Intent of operators: the workloads and pods that they wrote last, even if the API server stored less."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.cluster.execution.step_trace import TraceWrite
from mockkube.explore.observation.operator_requests import OperatorRequests
from mockkube.explore.observation.reference import ReferenceCluster
from mockkube.explore.observation.stored_objects import NODES, PODS, StoredObjects
from mockkube.explore.observation.templates import (
    PodTemplate,
    compute_intended_spec,
    find_lost_fields,
    find_lost_tolerations,
    make_template,
    restore_missing,
)
from mockkube.explore.observation.unstored_fields import find_unstored_paths
from mockkube.explore.observation.workload_kinds import find_pod_spec, find_pod_spec_path, is_custom, is_workload
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching import taints
from mockkube.matching.node_affinity import compile_required_node_affinity

_REPELLING: Final = ("NoSchedule", "NoExecute")
_EVICTING: Final = ("NoExecute",)
_DAEMON_TOLERATIONS: Final = tuple(
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists"}
    for key in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_NO_STRATEGY: Final[ReadOnlyObject] = {}


@dataclass(frozen=True, slots=True)
class Workload:
    """A pod, or an object that creates pods, that no controller created."""

    # As the operator wrote it.
    manifest: ReadOnlyObject
    # Each different pod template that was wanted, the current one last.
    templates: tuple[PodTemplate, ...]
    # Empty while it is not accepted.
    uid: str = ""

    @property
    def name(self) -> str:
        """Name like `deployment/web`; a generated name is shortened to its prefix."""
        metadata = self.manifest["metadata"]
        namespace = metadata.get("namespace", "default")
        where = "" if namespace == "default" else f"{namespace}/"
        prefix = metadata.get("generateName")
        return f"{self.manifest['kind'].lower()}/{where}{f'{prefix}*' if prefix else metadata['name']}"

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of its pods."""
        return self.templates[-1].labels

    @property
    def spec(self) -> ReadOnlyObject:
        """Spec of its pods."""
        return self.templates[-1].spec

    @property
    def tolerations(self) -> Sequence[ReadOnlyObject]:
        """Tolerations of its pods."""
        return self.spec.get("tolerations") or ()

    def find_template(self, pod: ReadOnlyObject, edits: int) -> PodTemplate:
        """Return the template that a pod was created from, after the given number of edits.

        It is the template that the pod resembles most, of equal ones the latest.
        """
        if len(self.templates) == 1:
            return self.templates[0]
        possible = [one for one in self.templates if one.since <= edits] or [self.templates[0]]
        return min(reversed(possible), key=lambda one: one.distance(pod))

    def pod_spec(self, template: PodTemplate) -> ReadOnlyObject:
        """Return the spec of a template's pods.

        The DaemonSet controller replaces the required node affinity by the node.
        """
        spec = template.spec
        return _without_required_affinity(spec) if self.manifest["kind"] == "DaemonSet" else spec


class OperatorIntent:
    """Workloads that operators want, and what their pods would tolerate if every component had changed."""

    def __init__(
        self, plan: RolloutPlan, reference: ReferenceCluster | None = None, requests: OperatorRequests | None = None
    ) -> None:
        self.reference = reference or ReferenceCluster(plan)
        self._requests = requests or OperatorRequests()
        # Those of the plan first, accepted or not, then all later ones.
        self.workloads = [found for obj in plan.workload if (found := _make_workload(obj)) is not None]
        # Controller of each object, by uid.
        self._owners: dict[str, str] = {}
        # Index of each accepted workload, by uid.
        self._indexes: dict[str, int] = {}
        self._edits = 0
        # Number of edits when a pod was created, by uid.
        self._edits_at_creation: dict[str, int] = {}
        # Deleted objects that created pods, by uid.
        self._deleted: set[str] = set()

    # Writes

    def record_write(self, write: TraceWrite, *, by_operator: bool) -> list[str]:
        """Record a write; return the requested paths that the API server did not store."""
        obj = write.load_object()
        if not is_workload(obj):
            return []
        metadata = obj["metadata"]
        uid, owner = metadata.get("uid", ""), _controller_uid(obj)
        if write.verb == "delete" or (metadata.get("deletionTimestamp") and obj["kind"] != "Pod"):
            self._deleted.add(uid)
            return []
        if owner:
            if uid not in self._owners:
                self._edits_at_creation[uid] = self._edits
            self._owners[uid] = owner
            return []
        orphan = self._owners.pop(uid, "")
        if uid not in self._indexes:
            return self._record_creation(write, obj, orphan)
        return self._record_edit(write, obj, by_operator=by_operator)

    def find_unstored_fields(self, write: TraceWrite) -> list[str]:
        """Return the paths outside of the pod spec that an operator requested and the API server did not store."""
        request = self._requests.find(write.event.entry.revision)
        return (
            [] if request is None else find_unstored_paths(request, write.load_object(), self.reference.server_view())
        )

    def _record_creation(self, write: TraceWrite, obj: ReadOnlyObject, owner: str) -> list[str]:
        request = self._requests.find(write.event.entry.revision)
        # An orphan keeps the template of its former owner: the operator wrote no spec for it.
        if owner and (former := self._root_workload(owner)) is not None:
            part = find_pod_spec(obj)
            assert part is not None, "only objects with pods are looked at"
            template = self._find_template(former, obj) if obj["kind"] == "Pod" else former.templates[-1]
            spec = restore_missing(part.value, template.spec)
        else:
            spec = compute_intended_spec(obj, request, None)
        workload = Workload(_with_spec(obj, spec), (make_template(obj, spec),), obj["metadata"]["uid"])
        index = next(
            (at for at, one in enumerate(self.workloads) if one.name == workload.name and self._is_replaceable(one)),
            None,
        )
        if index is None:
            index = len(self.workloads)
            self.workloads.append(workload)
        self.workloads[index] = workload
        self._indexes[workload.uid] = index
        return _find_lost_paths(spec, obj)

    def _is_replaceable(self, workload: Workload) -> bool:
        """Return whether a workload is not accepted yet, or was deleted."""
        return not workload.uid or workload.uid in self._deleted

    def _record_edit(self, write: TraceWrite, obj: ReadOnlyObject, *, by_operator: bool) -> list[str]:
        if not by_operator:
            return []
        uid = obj["metadata"]["uid"]
        workload, previous = self.workloads[self._indexes[uid]], write.load_previous()
        request = self._requests.find(write.event.entry.revision)
        spec = compute_intended_spec(obj, request, workload.manifest)
        self._edits += 1
        wanted = make_template(obj, spec)
        same = next((one for one in workload.templates if one == wanted), None)
        template = same or replace(wanted, since=self._edits)
        # A pod is its own template: a former one has no pods.
        others = () if obj["kind"] == "Pod" else tuple(one for one in workload.templates if one != template)
        self.workloads[self._indexes[uid]] = replace(
            workload, manifest=_with_spec(obj, spec), templates=(*others, template)
        )
        known = _find_lost_paths(workload.spec, previous) if previous is not None else []
        return [path for path in _find_lost_paths(spec, obj) if path not in known]

    def drop_unused_templates(self, stored: StoredObjects) -> None:
        """Drop former templates from which no present pod was created."""
        used: dict[str, list[PodTemplate]] = {}
        for pod in stored.list_objects(PODS).values():
            workload = self.workload_of(pod)
            if workload is not None and len(workload.templates) > 1:
                used.setdefault(workload.uid, []).append(self._find_template(workload, pod))
        for index, workload in enumerate(self.workloads):
            if len(workload.templates) > 1:
                used_templates = used.get(workload.uid, ())
                templates = (*(one for one in workload.templates[:-1] if one in used_templates), workload.templates[-1])
                self.workloads[index] = replace(workload, templates=templates)

    def list_unstored(self, stored: StoredObjects) -> list[list[str]]:
        """Return the intent that is not stored, for the identity of a state."""
        found: list[list[str]] = []
        for workload in self.workloads:
            obj = _find_stored(workload, stored) if workload.uid not in self._deleted else None
            if obj is not None and (workload.templates[1:] or _find_lost_paths(workload.spec, obj)):
                made_of = [
                    workload.templates.index(self._find_template(workload, pod))
                    for pod in self.list_pods(workload, stored)
                ]
                former = (
                    [*map(repr, workload.templates[:-1]), *map(str, sorted(made_of))] if workload.templates[1:] else []
                )
                found.append([workload.name, *former, *_find_lost_paths(workload.spec, obj)])
        return sorted(found)

    # Pods and their workloads

    def _root_workload(self, uid: str) -> Workload | None:
        while uid in self._owners:
            uid = self._owners[uid]
        index = self._indexes.get(uid)
        workload = self.workloads[index] if index is not None else None
        return workload if workload is not None and workload.uid == uid else None

    def workload_of(self, obj: ReadOnlyObject) -> Workload | None:
        """Return the workload of a pod, or of an object between both."""
        uid = obj["metadata"].get("uid", "")
        return self._root_workload(_controller_uid(obj) or uid)

    def _find_template(self, workload: Workload, pod: ReadOnlyObject) -> PodTemplate:
        return workload.find_template(pod, self._edits_at_creation.get(pod["metadata"].get("uid", ""), self._edits))

    def _pod_spec(self, workload: Workload, pod: ReadOnlyObject) -> ReadOnlyObject:
        return workload.pod_spec(self._find_template(workload, pod))

    def list_pods(self, workload: Workload, stored: StoredObjects) -> list[ReadOnlyObject]:
        """Return the pods of a workload."""
        return [pod for pod in stored.list_objects(PODS).values() if workload.uid and self.workload_of(pod) is workload]

    def is_superseded(self, pod: ReadOnlyObject, stored: StoredObjects) -> bool:
        """Return whether the operator no longer wants a pod: its owner is deleted, or rolls out another template."""
        uid = _controller_uid(pod)
        while uid:
            if uid in self._deleted:
                return True
            uid = self._owners.get(uid, "")
        workload = self.workload_of(pod)
        if (
            workload is None
            or len(workload.templates) == 1
            or self._find_template(workload, pod) is workload.templates[-1]
        ):
            return False
        obj = _find_stored(workload, stored)
        return obj is not None and _replaces_pods(obj)

    def restore_intended(self, pod: ReadOnlyObject) -> ReadOnlyObject:
        """Return a pod with everything that its operator wrote, stored or not."""
        workload = self.workload_of(pod)
        return pod if workload is None else {**pod, "spec": restore_missing(pod["spec"], self._pod_spec(workload, pod))}

    def find_lost_tolerations(self, pod: ReadOnlyObject) -> list[ReadOnlyObject]:
        """Return the tolerations that a pod should have and lacks."""
        workload = self.workload_of(pod)
        return [] if workload is None else find_lost_tolerations(self._pod_spec(workload, pod), pod["spec"])

    def find_lost_paths(self, pod: ReadOnlyObject) -> list[str]:
        """Return the other fields that a pod should have and lacks."""
        workload = self.workload_of(pod)
        return [] if workload is None else list(find_lost_fields(self._pod_spec(workload, pod), pod["spec"], "spec"))

    # Taints

    def toleration_seconds(self, pod: ReadOnlyObject, taint: ReadOnlyObject) -> float:
        """Return how long a pod should tolerate a taint: 0 if not at all, infinite if without limit."""
        compiled = taints.compile_tolerations(
            self.restore_intended(pod)["spec"].get("tolerations") or (), self.reference.taint_rules()
        )
        found = [one.source.get("tolerationSeconds") for one in compiled if one.tolerates(taint)]
        if not found:
            return 0.0
        return min((max(0.0, float(one)) for one in found if one is not None), default=float("inf"))

    def keeps_daemon(self, pod: ReadOnlyObject, node: ReadOnlyObject) -> bool:
        """Return whether the daemon set of a pod wants it to stay on its node."""
        workload = self.workload_of(pod)
        return workload is not None and self._fits_daemon(workload, node, _EVICTING)

    def _fits_daemon(self, workload: Workload, node: ReadOnlyObject, effects: Sequence[str]) -> bool:
        tolerations = [*workload.tolerations, *_DAEMON_TOLERATIONS]
        compiled = taints.compile_tolerations(tolerations, self.reference.taint_rules())
        if taints.find_untolerated(node["spec"].get("taints") or (), compiled, effects) is not None:
            return False
        affinity = compile_required_node_affinity(workload.spec, self.reference.selector_operators())
        named = workload.spec.get("nodeName") in (None, "", node["metadata"]["name"])
        return named and affinity.matches(node["metadata"].get("labels") or {}, node["metadata"]["name"])

    # Replicas

    def count_missing(self, workload: Workload, stored: StoredObjects) -> int:
        """Return how many pods should be ready and are not; 0 for a workload that does not exist."""
        obj = _find_stored(workload, stored)
        if obj is None:
            return 0
        pods = [pod for pod in self.list_pods(workload, stored) if not self.is_superseded(pod, stored)]
        match obj["kind"]:
            case "DaemonSet":
                has = {pod["spec"].get("nodeName") for pod in pods if is_ready(pod)}
                return sum(name not in has for name in self.list_daemon_nodes(workload, stored))
            case "Job":
                return _count_missing_in_job(obj, pods)
            case "CronJob":
                jobs = [job for job in stored.list_objects("batch/jobs").values() if self.workload_of(job) is workload]
                return sum(
                    _count_missing_in_job(job, [pod for pod in pods if _is_controlled_by(pod, job)]) for job in jobs
                )
            case "Pod":
                return int(not is_ready(obj))
        return max(0, self.count_wanted(workload, stored) - sum(map(is_ready, pods)))

    def list_daemon_nodes(self, workload: Workload, stored: StoredObjects) -> list[str]:
        """Return the nodes on which a daemon set wants a pod."""
        nodes = stored.list_objects(NODES).values()
        return [node["metadata"]["name"] for node in nodes if self._fits_daemon(workload, node, _REPELLING)]

    def count_wanted(self, workload: Workload, stored: StoredObjects) -> int:
        """Return how many pods there should be."""
        spec = (_find_stored(workload, stored) or workload.manifest).get("spec") or {}
        match workload.manifest["kind"]:
            case "DaemonSet":
                return len(self.list_daemon_nodes(workload, stored))
            case "Job":
                return int(spec.get("parallelism", 1))
            case "Pod":
                return 1
            case "CronJob":
                return 0
        return int(spec.get("replicas", 1))

    def is_unobserved(self, workload: Workload, stored: StoredObjects) -> bool:
        """Return whether the controller of a workload has not observed its last change."""
        obj = _find_stored(workload, stored)
        if obj is None or obj["kind"] not in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
            return False
        seen = (obj.get("status") or {}).get("observedGeneration", 0)
        return bool(obj["metadata"].get("generation", 0) > seen)


def is_ready(pod: ReadOnlyObject) -> bool:
    """Return whether a pod is ready, or has succeeded."""
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or status.get("phase") != "Running":
        return bool(status.get("phase") == "Succeeded")
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())


def _count_missing_in_job(job: ReadOnlyObject, pods: Iterable[ReadOnlyObject]) -> int:
    spec, status = job["spec"], job.get("status") or {}
    finished = any(
        one["type"] in ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget") and one["status"] == "True"
        for one in status.get("conditions") or ()
    )
    if finished or spec.get("suspend") or job["metadata"].get("deletionTimestamp"):
        return 0
    done = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Succeeded"]
    active = [pod for pod in pods if is_ready(pod) and pod not in done]
    completions, parallelism = spec.get("completions"), int(spec.get("parallelism", 1))
    if completions is None:
        return 0 if done else max(0, parallelism - len(active))
    return max(0, min(parallelism, int(completions) - len(done)) - len(active))


def _is_controlled_by(pod: ReadOnlyObject, owner: ReadOnlyObject) -> bool:
    return bool(_controller_uid(pod) == owner["metadata"].get("uid"))


def _replaces_pods(stored: ReadOnlyObject) -> bool:
    """Return whether a controller replaces pods of former templates."""
    spec = stored.get("spec") or _NO_STRATEGY
    match stored["kind"]:
        case "Deployment":
            return not bool(spec.get("paused"))
        case "DaemonSet":
            return bool((spec.get("updateStrategy") or {}).get("type") != "OnDelete")
        case "StatefulSet":
            strategy = spec.get("updateStrategy") or {}
            # With a partition some pods keep the former template as long as the operator likes.
            partition = (strategy.get("rollingUpdate") or {}).get("partition")
            return bool(strategy.get("type") != "OnDelete" and not partition)
    return is_custom(stored)  # its operator replaces them


def _find_stored(workload: Workload, stored: StoredObjects) -> ReadOnlyObject | None:
    found = stored.find(workload.manifest)
    return found if found is not None and found["metadata"].get("uid") == workload.uid else None


def _controller_uid(obj: ReadOnlyObject) -> str:
    """Return the uid of an object's controller; empty if it has none."""
    owners: Iterator[str] = (
        one.get("uid", "") for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")
    )
    return next(owners, "")


def _find_lost_paths(spec: ReadOnlyObject, obj: ReadOnlyObject) -> list[str]:
    part = find_pod_spec(obj)
    assert part is not None, "only objects with pods are looked at"
    lost = [f"{part.at}.tolerations: {_format_toleration(one)}" for one in find_lost_tolerations(spec, part.value)]
    return [*lost, *find_lost_fields(spec, part.value, part.at)]


def _format_toleration(toleration: ReadOnlyObject) -> str:
    return " ".join(f"{key}={toleration[key]}" for key in sorted(toleration))


def _without_required_affinity(spec: ReadOnlyObject) -> ReadOnlyObject:
    affinity = spec.get("affinity") or {}
    of_nodes = {key: value for key, value in (affinity.get("nodeAffinity") or {}).items() if key != _REQUIRED}
    return {**spec, "affinity": {**affinity, "nodeAffinity": of_nodes}} if affinity else spec


def _with_spec(manifest: ReadOnlyObject, spec: ReadOnlyObject) -> ReadOnlyObject:
    """Return a manifest with another pod spec."""
    path = find_pod_spec_path(manifest)
    assert path is not None, "only objects with pods are looked at"
    *parents, last = path
    changed = dict(manifest)
    below = changed
    for step in parents:
        below[step] = dict(below.get(step) or {})
        below = below[step]
    below[last] = spec
    return changed


def _make_workload(manifest: ReadOnlyObject) -> Workload | None:
    part = find_pod_spec(manifest) if is_workload(manifest) else None
    return None if part is None else Workload(manifest, (make_template(manifest, part.value),))
