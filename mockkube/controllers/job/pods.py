"""The pods of jobs: their marks, whether they count as failed, which go first, and how they are made.

upstream 1.36: pkg/controller/job/indexed_job_utils.go, job_controller.go
"""

from collections.abc import Iterable, Sequence
from typing import Final

from mockkube.api.times import parse_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.controllers.job.indexes import read_integer
from mockkube.controllers.job.rules import API_VERSION, KIND, completions_of, is_indexed
from mockkube.controllers.pods.pod_control import pod_from
from mockkube.controllers.pods.readiness import is_ready, ready_since

TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""The finalizer that keeps a pod until its job has counted it."""
INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_GENERATED_LENGTH_MAX: Final = 58
_INT32_MAX: Final = 2**31 - 1
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
UNTRACKED: Final[Object] = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}
"""The patch that lets a pod go."""


def is_tracked(pod: ReadOnlyObject) -> bool:
    """Whether a pod waits to be counted."""
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def phase_of(pod: ReadOnlyObject) -> str:
    """Return the phase of a pod."""
    phase: str = (pod.get("status") or {}).get("phase", "")
    return phase


def is_failed(pod: ReadOnlyObject, *, terminated_only: bool) -> bool:
    """Whether a pod counts as failed: unless told otherwise, already when it is on its way out."""
    if phase_of(pod) == "Failed":
        return True
    return not terminated_only and bool(pod["metadata"].get("deletionTimestamp")) and phase_of(pod) != "Succeeded"


def index_of(pod: ReadOnlyObject) -> int | None:
    """Return the completion index of a pod; None when it has none."""
    index = read_integer((pod["metadata"].get("annotations") or {}).get(INDEX, ""))
    return index if index is not None and index >= 0 else None


def valid_index_of(pod: ReadOnlyObject, job: ReadOnlyObject) -> int | None:
    """Return the completion index of a pod; None when it has none that the job asks for."""
    index = index_of(pod)
    return index if index is not None and index < completions_of(job) else None


def indexes_of(pods: Iterable[ReadOnlyObject]) -> set[int]:
    """Return the completion indexes of pods."""
    return {index for pod in pods if (index := index_of(pod)) is not None}


def _annotated_count(pod: ReadOnlyObject, name: str) -> int:
    number = read_integer((pod["metadata"].get("annotations") or {}).get(name, "0"))
    return number if number is not None and 0 <= number <= _INT32_MAX else 0


def index_failures(pod: ReadOnlyObject) -> int:
    """Return how often the index of a pod had failed before it, as far as that counts."""
    return _annotated_count(pod, FAILURES)


def all_index_failures(pod: ReadOnlyObject) -> int:
    """Return how often the index of a pod had failed before it."""
    return _annotated_count(pod, FAILURES) + _annotated_count(pod, IGNORED_FAILURES)


def failure_annotations(replaced: ReadOnlyObject | None, *, counts: bool) -> dict[str, str]:
    """Return what a pod says of the failures of its index; `replaced` is the last, which may not have counted."""
    if replaced is None:
        return {FAILURES: "0"}
    ignored = _annotated_count(replaced, IGNORED_FAILURES) + (not counts)
    annotations = {FAILURES: str(index_failures(replaced) + counts)}
    return {**annotations, IGNORED_FAILURES: str(ignored)} if ignored else annotations


def template_of(job: ReadOnlyObject) -> Object:
    """Return what the pods of a job are made from, with what tells them their index, and tracks them."""
    template = job["spec"]["template"]
    metadata, spec = template.get("metadata") or {}, dict(template["spec"])
    if is_indexed(job):
        for name in ("initContainers", "containers"):
            if name in spec:
                spec[name] = [_told_index(container) for container in spec[name]]
    finalizers = metadata.get("finalizers") or []
    tracked = finalizers if TRACKING in finalizers else [*finalizers, TRACKING]
    return {**template, "metadata": {**metadata, "finalizers": tracked}, "spec": spec}


def _told_index(container: ReadOnlyObject) -> Object:
    variables = container.get("env") or []
    if any(variable["name"] == _INDEX_VARIABLE for variable in variables):
        return dict(container)
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*variables, {"name": _INDEX_VARIABLE, "valueFrom": source}]}


def new_pod(job: ReadOnlyObject, template: ReadOnlyObject, index: int | None, annotations: dict[str, str]) -> Object:
    """Return a pod of a job; with an index it bears it in many places."""
    if index is None:
        return pod_from(template, job, API_VERSION, KIND)
    pod = pod_from(template, job, API_VERSION, KIND, labels={INDEX: str(index)})
    metadata = pod["metadata"]
    metadata["annotations"] = {**metadata.get("annotations", {}), INDEX: str(index), **annotations}
    end = f"-{index}-"
    metadata["generateName"] = job["metadata"]["name"][: _GENERATED_LENGTH_MAX - len(end)] + end
    pod["spec"] = {**pod["spec"], "hostname": f"{job['metadata']['name']}-{index}"}
    return pod


def surplus(job: ReadOnlyObject, active: Sequence[ReadOnlyObject], at_least: int) -> list[ReadOnlyObject]:
    """Return the pods that are too many: those nobody asked for, and of the others those missed least."""
    gone, left = _unasked(job, active) if is_indexed(job) else ([], list(active))
    more = max(at_least - len(gone), 0)
    return gone + sorted(left, key=_worth)[:more]


def _unasked(
    job: ReadOnlyObject, active: Sequence[ReadOnlyObject]
) -> tuple[list[ReadOnlyObject], list[ReadOnlyObject]]:
    """Part pods into those without an index that is asked for, or with one twice, and the others."""
    by_index: dict[int, list[ReadOnlyObject]] = {}
    gone = []
    for pod in active:
        index = valid_index_of(pod, job)
        if index is None:
            gone.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    left = []
    for _, same in sorted(by_index.items()):
        *worse, best = sorted(same, key=_worth)
        gone += worse
        left.append(best)
    return gone, left


def _worth(pod: ReadOnlyObject) -> tuple[float, ...]:
    """Rank pods: first those not bound, not running, not ready, ready for shortest, restarted most, youngest."""
    # upstream 1.36: pkg/controller/controller_utils.go, ActivePods
    since = ready_since(pod) if is_ready(pod) else None
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    restarts = max((status.get("restartCount", 0) for status in statuses), default=0)
    born = parse_time(pod["metadata"]["creationTimestamp"]).timestamp()
    bound, phase = bool(pod["spec"].get("nodeName")), _PHASES.get(phase_of(pod), 0)
    return (bound, phase, since is not None, -since.timestamp() if since else 0.0, -restarts, -born)
