"""Intent of operators: the workloads and pods that they wrote last, even if the API server stored less."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mockkube.api.catalogue import POD_SPEC_PATHS
from mockkube.api.types import ReadOnlyObject
from mockkube.cluster.trace import Write
from mockkube.matching import taints
from mockkube.matching.node_affinity import compile_required_node_affinity
from mockkube.proposals import places
from mockkube.scenario.explore.journal import Journal
from mockkube.scenario.explore.mirror import NODES, PODS, Mirror
from mockkube.scenario.explore.plan import Plan
from mockkube.scenario.explore.reference import Reference
from mockkube.scenario.explore.templates import Template, intended, lost_fields, lost_tolerations, restored, template_of

_REPELLING: Final = ("NoSchedule", "NoExecute")
_EVICTING: Final = ("NoExecute",)
_DAEMON_TOLERATIONS: Final = tuple(
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists"}
    for key in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
)
_WORKLOADS: Final = frozenset(POD_SPEC_PATHS) - {"PodTemplate"}
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_NO_STRATEGY: Final[ReadOnlyObject] = {}


@dataclass(frozen=True, slots=True)
class Workload:
    """A pod, or an object that creates pods, that no controller created."""

    # As the operator wrote it.
    manifest: ReadOnlyObject
    # Each different pod template that was wanted, the current one last.
    templates: tuple[Template, ...]
    # Empty while it is not accepted.
    uid: str = ""

    @property
    def name(self) -> str:
        """Name like `deployment/web`; a generated name is shortened to its prefix."""
        metadata = self.manifest["metadata"]
        namespace = metadata.get("namespace", "default")
        where = "" if namespace == "default" else f"{namespace}/"
        drawn = metadata.get("generateName")
        return f"{self.manifest['kind'].lower()}/{where}{f'{drawn}*' if drawn else metadata['name']}"

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

    def template_of(self, pod: ReadOnlyObject, edits: int) -> Template:
        """Return the template that a pod was created from, after the given number of edits.

        It is the template that the pod resembles most, of equal ones the latest.
        """
        if len(self.templates) == 1:
            return self.templates[0]
        possible = [one for one in self.templates if one.since <= edits] or [self.templates[0]]
        return min(reversed(possible), key=lambda one: one.distance(pod))

    def pod_spec(self, template: Template) -> ReadOnlyObject:
        """Return the spec of a template's pods.

        The DaemonSet controller replaces the required node affinity by the node.
        """
        spec = template.spec
        return _without_required_affinity(spec) if self.manifest["kind"] == "DaemonSet" else spec


class Intent:
    """Workloads that operators want, and what their pods would tolerate if every component had changed."""

    def __init__(self, plan: Plan, reference: Reference | None = None, journal: Journal | None = None) -> None:
        self.reference = reference or Reference(plan)
        self._journal = journal or Journal()
        # Those of the plan first, accepted or not, then all later ones.
        self.workloads = [found for obj in plan.workload if (found := _workload(obj)) is not None]
        # Controller of each object, by uid.
        self._owners: dict[str, str] = {}
        # Index of each accepted workload, by uid.
        self._places: dict[str, int] = {}
        self._edits = 0
        # Number of edits when a pod was created, by uid.
        self._made: dict[str, int] = {}
        # Deleted objects that created pods, by uid.
        self._gone: set[str] = set()

    # Writes

    def observe(self, write: Write, *, by_operator: bool) -> list[str]:
        """Record a write; return the requested paths that the API server did not store."""
        obj = write.object()
        if obj.get("kind") not in _WORKLOADS:
            return []
        metadata = obj["metadata"]
        uid, owner = metadata.get("uid", ""), _controller(obj)
        if write.verb == "delete" or (metadata.get("deletionTimestamp") and obj["kind"] != "Pod"):
            self._gone.add(uid)
            return []
        if owner:
            if uid not in self._owners:
                self._made[uid] = self._edits
            self._owners[uid] = owner
            return []
        orphan = self._owners.pop(uid, "")
        if uid not in self._places:
            return self._accept(write, obj, orphan)
        return self._edit(write, obj, by_operator=by_operator)

    def _accept(self, write: Write, obj: ReadOnlyObject, owner: str) -> list[str]:
        request = self._journal.request(write.event.entry.revision)
        # An orphan keeps the template of its former owner: the operator wrote no spec for it.
        if owner and (former := self._root(owner)) is not None:
            part = places.pod_spec(obj)
            assert part is not None, "only objects with pods are looked at"
            template = self._template(former, obj) if obj["kind"] == "Pod" else former.templates[-1]
            spec = restored(part.value, template.spec)
        else:
            spec = intended(obj, request, None)
        own = Workload(_with_spec(obj, spec), (template_of(obj, spec),), obj["metadata"]["uid"])
        place = next((at for at, one in enumerate(self.workloads) if one.name == own.name and self._open(one)), None)
        if place is None:
            place = len(self.workloads)
            self.workloads.append(own)
        self.workloads[place] = own
        self._places[own.uid] = place
        return _lost(spec, obj)

    def _open(self, own: Workload) -> bool:
        """Return whether a workload is not accepted yet, or was deleted."""
        return not own.uid or own.uid in self._gone

    def _edit(self, write: Write, obj: ReadOnlyObject, *, by_operator: bool) -> list[str]:
        if not by_operator:
            return []
        uid = obj["metadata"]["uid"]
        own, previous = self.workloads[self._places[uid]], write.previous()
        request = self._journal.request(write.event.entry.revision)
        spec = intended(obj, request, own.manifest)
        self._edits += 1
        wanted = template_of(obj, spec)
        same = next((one for one in own.templates if one == wanted), None)
        template = same or replace(wanted, since=self._edits)
        # A pod is its own template: a former one has no pods.
        others = () if obj["kind"] == "Pod" else tuple(one for one in own.templates if one != template)
        self.workloads[self._places[uid]] = replace(own, manifest=_with_spec(obj, spec), templates=(*others, template))
        known = _lost(own.spec, previous) if previous is not None else []
        return [path for path in _lost(spec, obj) if path not in known]

    def forget(self, mirror: Mirror) -> None:
        """Drop former templates from which no present pod was created."""
        used: dict[str, list[Template]] = {}
        for pod in mirror.all(PODS).values():
            own = self.workload_of(pod)
            if own is not None and len(own.templates) > 1:
                used.setdefault(own.uid, []).append(self._template(own, pod))
        for place, own in enumerate(self.workloads):
            if len(own.templates) > 1:
                kept = used.get(own.uid, ())
                templates = (*(one for one in own.templates[:-1] if one in kept), own.templates[-1])
                self.workloads[place] = replace(own, templates=templates)

    def remembered(self, mirror: Mirror) -> list[list[str]]:
        """Return the intent that is not stored, for the identity of a state."""
        found: list[list[str]] = []
        for own in self.workloads:
            stored = _stored(own, mirror) if own.uid not in self._gone else None
            if stored is not None and (own.templates[1:] or _lost(own.spec, stored)):
                made_of = [own.templates.index(self._template(own, pod)) for pod in self.pods(own, mirror)]
                former = [*map(repr, own.templates[:-1]), *map(str, sorted(made_of))] if own.templates[1:] else []
                found.append([own.name, *former, *_lost(own.spec, stored)])
        return sorted(found)

    # Pods and their workloads

    def _root(self, uid: str) -> Workload | None:
        while uid in self._owners:
            uid = self._owners[uid]
        place = self._places.get(uid)
        own = self.workloads[place] if place is not None else None
        return own if own is not None and own.uid == uid else None

    def workload_of(self, obj: ReadOnlyObject) -> Workload | None:
        """Return the workload of a pod, or of an object between both."""
        uid = obj["metadata"].get("uid", "")
        return self._root(_controller(obj) or uid)

    def _template(self, own: Workload, pod: ReadOnlyObject) -> Template:
        return own.template_of(pod, self._made.get(pod["metadata"].get("uid", ""), self._edits))

    def _pod_spec(self, own: Workload, pod: ReadOnlyObject) -> ReadOnlyObject:
        return own.pod_spec(self._template(own, pod))

    def pods(self, own: Workload, mirror: Mirror) -> list[ReadOnlyObject]:
        """Return the pods of a workload."""
        return [pod for pod in mirror.all(PODS).values() if own.uid and self.workload_of(pod) is own]

    def superseded(self, pod: ReadOnlyObject, mirror: Mirror) -> bool:
        """Return whether the operator no longer wants a pod: its owner is deleted, or rolls out another template."""
        uid = _controller(pod)
        while uid:
            if uid in self._gone:
                return True
            uid = self._owners.get(uid, "")
        own = self.workload_of(pod)
        if own is None or len(own.templates) == 1 or self._template(own, pod) is own.templates[-1]:
            return False
        stored = _stored(own, mirror)
        return stored is not None and _rolls(stored)

    def meant(self, pod: ReadOnlyObject) -> ReadOnlyObject:
        """Return a pod with everything that its operator wrote, stored or not."""
        own = self.workload_of(pod)
        return pod if own is None else {**pod, "spec": restored(pod["spec"], self._pod_spec(own, pod))}

    def lost(self, pod: ReadOnlyObject) -> list[ReadOnlyObject]:
        """Return the tolerations that a pod should have and lacks."""
        own = self.workload_of(pod)
        return [] if own is None else lost_tolerations(self._pod_spec(own, pod), pod["spec"])

    def lost_paths(self, pod: ReadOnlyObject) -> list[str]:
        """Return the other fields that a pod should have and lacks."""
        own = self.workload_of(pod)
        return [] if own is None else list(lost_fields(self._pod_spec(own, pod), pod["spec"], "spec"))

    # Taints

    def toleration_seconds(self, pod: ReadOnlyObject, taint: ReadOnlyObject) -> float:
        """Return how long a pod should tolerate a taint: 0 if not at all, infinite if without limit."""
        compiled = taints.compile_tolerations(
            self.meant(pod)["spec"].get("tolerations") or (), self.reference.taint_rules()
        )
        found = [one.source.get("tolerationSeconds") for one in compiled if one.tolerates(taint)]
        if not found:
            return 0.0
        return min((max(0.0, float(one)) for one in found if one is not None), default=float("inf"))

    def daemon_stays(self, pod: ReadOnlyObject, node: ReadOnlyObject) -> bool:
        """Return whether the daemon set of a pod wants it to stay on its node."""
        own = self.workload_of(pod)
        return own is not None and self._daemon_fits(own, node, _EVICTING)

    def _daemon_fits(self, own: Workload, node: ReadOnlyObject, effects: Sequence[str]) -> bool:
        tolerations = [*own.tolerations, *_DAEMON_TOLERATIONS]
        compiled = taints.compile_tolerations(tolerations, self.reference.taint_rules())
        if taints.find_untolerated(node["spec"].get("taints") or (), compiled, effects) is not None:
            return False
        affinity = compile_required_node_affinity(own.spec, self.reference.selector_operators())
        named = own.spec.get("nodeName") in (None, "", node["metadata"]["name"])
        return named and affinity.matches(node["metadata"].get("labels") or {}, node["metadata"]["name"])

    # Replicas

    def missing(self, own: Workload, mirror: Mirror) -> int:
        """Return how many pods should be ready and are not; 0 for a workload that does not exist."""
        stored = _stored(own, mirror)
        if stored is None:
            return 0
        pods = [pod for pod in self.pods(own, mirror) if not self.superseded(pod, mirror)]
        match stored["kind"]:
            case "DaemonSet":
                has = {pod["spec"].get("nodeName") for pod in pods if ready(pod)}
                return sum(name not in has for name in self.daemon_nodes(own, mirror))
            case "Job":
                return _missing_in_job(stored, pods)
            case "CronJob":
                jobs = [job for job in mirror.all("batch/jobs").values() if self.workload_of(job) is own]
                return sum(_missing_in_job(job, [pod for pod in pods if _owned(pod, job)]) for job in jobs)
            case "Pod":
                return int(not ready(stored))
        return max(0, self.wanted(own, mirror) - sum(map(ready, pods)))

    def daemon_nodes(self, own: Workload, mirror: Mirror) -> list[str]:
        """Return the nodes on which a daemon set wants a pod."""
        nodes = mirror.all(NODES).values()
        return [node["metadata"]["name"] for node in nodes if self._daemon_fits(own, node, _REPELLING)]

    def wanted(self, own: Workload, mirror: Mirror) -> int:
        """Return how many pods there should be."""
        spec = (_stored(own, mirror) or own.manifest).get("spec") or {}
        match own.manifest["kind"]:
            case "DaemonSet":
                return len(self.daemon_nodes(own, mirror))
            case "Job":
                return int(spec.get("parallelism", 1))
            case "Pod":
                return 1
            case "CronJob":
                return 0
        return int(spec.get("replicas", 1))

    def unobserved(self, own: Workload, mirror: Mirror) -> bool:
        """Return whether the controller of a workload has not observed its last change."""
        stored = _stored(own, mirror)
        if stored is None or stored["kind"] not in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
            return False
        seen = (stored.get("status") or {}).get("observedGeneration", 0)
        return bool(stored["metadata"].get("generation", 0) > seen)


def ready(pod: ReadOnlyObject) -> bool:
    """Return whether a pod is ready, or has succeeded."""
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or status.get("phase") != "Running":
        return bool(status.get("phase") == "Succeeded")
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())


def _missing_in_job(job: ReadOnlyObject, pods: Iterable[ReadOnlyObject]) -> int:
    spec, status = job["spec"], job.get("status") or {}
    finished = any(
        one["type"] in ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget") and one["status"] == "True"
        for one in status.get("conditions") or ()
    )
    if finished or spec.get("suspend") or job["metadata"].get("deletionTimestamp"):
        return 0
    done = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Succeeded"]
    active = [pod for pod in pods if ready(pod) and pod not in done]
    completions, parallelism = spec.get("completions"), int(spec.get("parallelism", 1))
    if completions is None:
        return 0 if done else max(0, parallelism - len(active))
    return max(0, min(parallelism, int(completions) - len(done)) - len(active))


def _owned(pod: ReadOnlyObject, owner: ReadOnlyObject) -> bool:
    return bool(_controller(pod) == owner["metadata"].get("uid"))


def _rolls(stored: ReadOnlyObject) -> bool:
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
    return False


def _stored(own: Workload, mirror: Mirror) -> ReadOnlyObject | None:
    found = mirror.found(own.manifest)
    return found if found is not None and found["metadata"].get("uid") == own.uid else None


def _controller(obj: ReadOnlyObject) -> str:
    """Return the uid of an object's controller; empty if it has none."""
    owners: Iterator[str] = (
        one.get("uid", "") for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")
    )
    return next(owners, "")


def _lost(spec: ReadOnlyObject, obj: ReadOnlyObject) -> list[str]:
    part = places.pod_spec(obj)
    assert part is not None, "only objects with pods are looked at"
    lost = [f"{part.at}.tolerations: {_shown(one)}" for one in lost_tolerations(spec, part.value)]
    return [*lost, *lost_fields(spec, part.value, part.at)]


def _shown(toleration: ReadOnlyObject) -> str:
    return " ".join(f"{key}={toleration[key]}" for key in sorted(toleration))


def _without_required_affinity(spec: ReadOnlyObject) -> ReadOnlyObject:
    affinity = spec.get("affinity") or {}
    of_nodes = {key: value for key, value in (affinity.get("nodeAffinity") or {}).items() if key != _REQUIRED}
    return {**spec, "affinity": {**affinity, "nodeAffinity": of_nodes}} if affinity else spec


def _with_spec(manifest: ReadOnlyObject, spec: ReadOnlyObject) -> ReadOnlyObject:
    """Return a manifest with another pod spec."""
    *way, last = POD_SPEC_PATHS[manifest["kind"]]
    whole = dict(manifest)
    below = whole
    for step in way:
        below[step] = dict(below.get(step) or {})
        below = below[step]
    below[last] = spec
    return whole


def _workload(manifest: ReadOnlyObject) -> Workload | None:
    part = places.pod_spec(manifest) if manifest.get("kind") in _WORKLOADS else None
    return None if part is None else Workload(manifest, (template_of(manifest, part.value),))
