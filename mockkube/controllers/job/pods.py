"""Pods of jobs: index and failure annotations, failed state, order of deletion, templates.

upstream 1.36: pkg/controller/job/indexed_job_utils.go, job_controller.go
"""

from collections.abc import Iterable, Sequence
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.controllers.job.indexes import parse_integer
from mockkube.controllers.job.job_properties import API_VERSION, KIND, completions_of, is_indexed
from mockkube.controllers.pods.pod_control import pod_from_template
from mockkube.controllers.pods.readiness import ready_since
from mockkube.matching.pods import is_ready

# The finalizer that keeps a pod until its job has counted it.
TRACKING_FINALIZER: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_GENERATED_LENGTH_MAX: Final = 58
_INT32_MAX: Final = 2**31 - 1
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
# The patch that removes the tracking finalizer.
REMOVE_FINALIZER_PATCH: Final[Object] = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER]}}


def is_tracked(pod: ReadOnlyObject) -> bool:
    """Return whether a pod has the tracking finalizer."""
    return TRACKING_FINALIZER in (pod["metadata"].get("finalizers") or ())


def phase_of(pod: ReadOnlyObject) -> str:
    """Return the phase of a pod."""
    phase: str = (pod.get("status") or {}).get("phase", "")
    return phase


def is_failed(pod: ReadOnlyObject, *, terminated_only: bool) -> bool:
    """Return whether a pod counts as failed; a terminating one does unless `terminated_only`."""
    if phase_of(pod) == "Failed":
        return True
    return not terminated_only and bool(pod["metadata"].get("deletionTimestamp")) and phase_of(pod) != "Succeeded"


def index_of(pod: ReadOnlyObject) -> int | None:
    """Return the completion index of a pod; None without one."""
    index = parse_integer((pod["metadata"].get("annotations") or {}).get(INDEX, ""))
    return index if index is not None and index >= 0 else None


def valid_index_of(pod: ReadOnlyObject, job: ReadOnlyObject) -> int | None:
    """Return the completion index of a pod; None if it is not below the job's completions."""
    index = index_of(pod)
    return index if index is not None and index < completions_of(job) else None


def indexes_of(pods: Iterable[ReadOnlyObject]) -> set[int]:
    """Return the completion indexes of pods."""
    return {index for pod in pods if (index := index_of(pod)) is not None}


def _annotated_count(pod: ReadOnlyObject, name: str) -> int:
    number = parse_integer((pod["metadata"].get("annotations") or {}).get(name, "0"))
    return number if number is not None and 0 <= number <= _INT32_MAX else 0


def index_failures(pod: ReadOnlyObject) -> int:
    """Return the counted failures of a pod's index before this pod."""
    return _annotated_count(pod, FAILURES)


def all_index_failures(pod: ReadOnlyObject) -> int:
    """Return the failures of a pod's index before this pod, ignored ones included."""
    return _annotated_count(pod, FAILURES) + _annotated_count(pod, IGNORED_FAILURES)


def failure_annotations(replaced: ReadOnlyObject | None, *, counts: bool) -> dict[str, str]:
    """Return the failure count annotations of a pod; `replaced` is the failed one before it."""
    if replaced is None:
        return {FAILURES: "0"}
    ignored = _annotated_count(replaced, IGNORED_FAILURES) + (not counts)
    annotations = {FAILURES: str(index_failures(replaced) + counts)}
    # Upstream writes the second annotation only once a failure was ignored.
    return {**annotations, IGNORED_FAILURES: str(ignored)} if ignored else annotations


def build_pod_template(job: ReadOnlyObject) -> Object:
    """Return the pod template of a job with index variable and tracking finalizer."""
    template = job["spec"]["template"]
    metadata, spec = template.get("metadata") or {}, dict(template["spec"])
    if is_indexed(job):
        for name in ("initContainers", "containers"):
            if name in spec:
                spec[name] = [_with_index_variable(container) for container in spec[name]]
    finalizers = metadata.get("finalizers") or []
    tracked = finalizers if TRACKING_FINALIZER in finalizers else [*finalizers, TRACKING_FINALIZER]
    return {**template, "metadata": {**metadata, "finalizers": tracked}, "spec": spec}


def _with_index_variable(container: ReadOnlyObject) -> Object:
    variables = container.get("env") or []
    # A variable of that name in the template wins.
    if any(variable["name"] == _INDEX_VARIABLE for variable in variables):
        return dict(container)
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*variables, {"name": _INDEX_VARIABLE, "valueFrom": source}]}


def new_pod(job: ReadOnlyObject, template: ReadOnlyObject, index: int | None, annotations: dict[str, str]) -> Object:
    """Return a pod of a job; an index sets label, annotation, name and hostname."""
    if index is None:
        return pod_from_template(template, job, API_VERSION, KIND)
    pod = pod_from_template(template, job, API_VERSION, KIND, labels={INDEX: str(index)})
    metadata = pod["metadata"]
    metadata["annotations"] = {**metadata.get("annotations", {}), INDEX: str(index), **annotations}
    end = f"-{index}-"
    # The suffix with the index must survive the truncation of generateName by the API server.
    metadata["generateName"] = job["metadata"]["name"][: _GENERATED_LENGTH_MAX - len(end)] + end
    pod["spec"] = {**pod["spec"], "hostname": f"{job['metadata']['name']}-{index}"}
    return pod


def active_pods_for_removal(
    job: ReadOnlyObject, active: Sequence[ReadOnlyObject], at_least: int
) -> list[ReadOnlyObject]:
    """Return the pods to delete: those with invalid or duplicate index, then the lowest ranked."""
    removable, left = _partition_by_index(job, active) if is_indexed(job) else ([], list(active))
    more = max(at_least - len(removable), 0)
    return removable + sorted(left, key=_deletion_rank)[:more]


def _partition_by_index(
    job: ReadOnlyObject, active: Sequence[ReadOnlyObject]
) -> tuple[list[ReadOnlyObject], list[ReadOnlyObject]]:
    """Split pods into those with invalid or duplicate index and the others."""
    by_index: dict[int, list[ReadOnlyObject]] = {}
    removable = []
    for pod in active:
        index = valid_index_of(pod, job)
        if index is None:
            removable.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    left = []
    for _, same in sorted(by_index.items()):
        *worse, best = sorted(same, key=_deletion_rank)
        removable += worse
        left.append(best)
    return removable, left


def _deletion_rank(pod: ReadOnlyObject) -> tuple[float, ...]:
    """Return the deletion rank: unbound, not running, not ready, latest ready, most restarts, youngest."""
    # upstream 1.36: pkg/controller/controller_utils.go, ActivePods
    since = ready_since(pod) if is_ready(pod) else None
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    restarts = max((status.get("restartCount", 0) for status in statuses), default=0)
    born = parse_time(pod["metadata"]["creationTimestamp"]).timestamp()
    bound, phase = bool(pod["spec"].get("nodeName")), _PHASES.get(phase_of(pod), 0)
    return (bound, phase, since is not None, -since.timestamp() if since else 0.0, -restarts, -born)
