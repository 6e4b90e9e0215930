"""Evidence of a failed run: the objects that the failed step asked about, as they were stored then."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.patching import merge_patch
from mockkube.explain.fact_formatting import format_taint
from mockkube.lazy_dataclasses import dataclass
from mockkube.report.sentences import step_descriptions
from mockkube.report.sentences.workloads import explain_toleration, format_toleration, to_yaml
from mockkube.scenario.runner.results import RunResult, StepResult

# Fields that the API server sets: they say nothing about a failure.
_NOISE: Final = ("managedFields", "uid", "resourceVersion", "creationTimestamp", "generation")


@dataclass(frozen=True, slots=True)
class UnscheduledPod:
    """A pod without a node: its tolerations beside the taints of the nodes."""

    name: str
    message: str
    """Message of the scheduler; empty if it never tried the pod."""
    tolerations: Sequence[str]
    taints: Mapping[str, Sequence[str]]
    """Taints by node."""


@dataclass(frozen=True, slots=True)
class AskedObject:
    """An object that a failed step asked about."""

    kind: str
    name: str
    manifest: str
    """As YAML; empty if no such object was stored."""
    unscheduled: UnscheduledPod | None = None


def find_objects(run: RunResult, step: StepResult) -> Iterator[AskedObject]:
    """Yield the objects that a step asked about, as they were stored at the end of the run."""
    stored = _stored(run)
    for manifest in step_descriptions.find_manifests(step.arguments):
        kind, name = manifest["kind"], (manifest.get("metadata") or {}).get("name", "")
        # An assertion without a name may match any object of its kind; the first one is shown.
        obj = next((one for one in stored.values() if one.get("kind") == kind and _has_name(one, name)), None)
        if obj is not None:
            pod = _unscheduled(obj, stored) if kind == "Pod" else None
            yield AskedObject(kind, name, to_yaml(_without_noise(obj)), pod)
        elif run.traced_steps:
            yield AskedObject(kind, name, "")


def _has_name(obj: ReadOnlyObject, name: str) -> bool:
    return not name or obj["metadata"].get("name") == name


def _stored(run: RunResult) -> Mapping[str, dict[str, Any]]:
    """Return the objects at the end of the run, by resource and name."""
    stored: dict[str, dict[str, Any]] = {}
    for moment in run.traced_steps:
        for write in moment.writes:
            key = f"{write.resource} {write.name}"
            if write.verb == "delete":
                stored.pop(key, None)
            else:
                # The trace keeps merge patches, so an object is rebuilt from all its writes.
                stored[key] = merge_patch.apply(stored.get(key) or {}, write.difference)
    return stored


def _unscheduled(pod: ReadOnlyObject, stored: Mapping[str, ReadOnlyObject]) -> UnscheduledPod | None:
    spec = pod.get("spec") or {}
    if spec.get("nodeName"):
        return None
    conditions = (pod.get("status") or {}).get("conditions") or ()
    message = next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")
    tolerations = [f"`{format_toleration(one)}`{explain_toleration(one)}" for one in spec.get("tolerations") or ()]
    taints = {
        obj["metadata"]["name"]: [format_taint(one) for one in (obj.get("spec") or {}).get("taints") or ()]
        for key, obj in stored.items()
        if key.startswith("core/nodes ")
    }
    return UnscheduledPod(pod["metadata"]["name"], message, tolerations, taints)


def _without_noise(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_noise(item) for key, item in value.items() if key not in _NOISE}
    return [_without_noise(item) for item in value] if isinstance(value, list | tuple) else value
