"""Stored objects of a cluster, followed write by write, and the digest of what decides what happens next."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.cluster.execution.step_trace import TraceStep

PODS: Final = "core/pods"
NODES: Final = "core/nodes"
EVENTS: Final = "core/events"
# Resources on which the fate of pods does not depend.
_IGNORED_RESOURCES: Final = frozenset(
    {
        *(EVENTS, "events.k8s.io/events", "coordination.k8s.io/leases", "core/endpoints", "core/namespaces"),
        *("discovery.k8s.io/endpointslices", "core/serviceaccounts", "core/configmaps", "core/secrets"),
    }
)
_BOOKKEEPING: Final = frozenset(
    {"uid", "resourceVersion", "managedFields", "generation", "observedGeneration", "generateName", "selfLink"}
)
_RUNTIME_FIELDS: Final = frozenset({"podIP", "podIPs", "containerID", "image", "imageID", "startedAt", "finishedAt"})
# Status by which controllers decide: a job ends after so many failed pods, a rollout ends with its revision.
_DECIDING_STATUS: Final[Mapping[str, Sequence[str]]] = {
    "Job": ("conditions", "failed", "succeeded", "completedIndexes", "failedIndexes", "uncountedTerminatedPods"),
    "StatefulSet": ("currentRevision", "updateRevision"),
}
_TOKENS: Final = "kube-api-access-"
_GENERATED_NAME: Final = re.compile(r"[a-z0-9.-]+-[a-z0-9]{5}\b")
_TIMESTAMP: Final = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")


class StoredObjects:
    """Stored objects by resource and name."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, Object]] = {}

    def apply_steps(self, steps: Iterable[TraceStep]) -> None:
        """Apply the writes of these steps."""
        for step in steps:
            for write in step.writes:
                if write.resource in _IGNORED_RESOURCES:
                    continue
                kind = self._objects.setdefault(write.resource, {})
                if write.verb == "delete":
                    kind.pop(write.name, None)
                else:
                    kind[write.name] = write.load_object()

    def list_objects(self, resource: str) -> Mapping[str, ReadOnlyObject]:
        """Return the objects of a resource by NAMESPACE/NAME."""
        return self._objects.get(resource, {})

    def list_resources(self) -> Iterator[str]:
        """Yield the resources that have objects."""
        yield from sorted(name for name, objects in self._objects.items() if objects)

    def find(self, manifest: ReadOnlyObject) -> ReadOnlyObject | None:
        """Return the stored object with the name of a manifest."""
        namespace, name = manifest["metadata"].get("namespace", "default"), manifest["metadata"]["name"]
        for objects in self._objects.values():
            for key in (f"{namespace}/{name}", name):
                if (obj := objects.get(key)) is not None and obj["kind"] == manifest["kind"]:
                    return obj
        return None

    def compute_digest(self, marks: Mapping[str, str], rest: Sequence[object]) -> str:
        """Return a digest that is equal for states from which the same follows.

        Generated names, times and addresses do not count; `marks` distinguishes pods by uid.
        """
        prefixes = {
            obj["metadata"]["name"]: obj["metadata"].get("generateName", "") for obj in self._with_generated_names()
        }
        contents: list[bytes] = []
        for resource in self.list_resources():
            objects = [
                _normalize(obj, prefixes, marks) for obj in self._objects[resource].values() if not _is_replaced(obj)
            ]
            # Sorted by content and not by name: generated names differ between paths that are otherwise the same.
            contents += sorted(orjson.dumps(one, option=orjson.OPT_SORT_KEYS) for one in objects)
        body = b"\n".join([*contents, orjson.dumps(list(rest), default=str)])
        return hashlib.sha256(body).hexdigest()[:16]

    def _with_generated_names(self) -> Iterator[Object]:
        for objects in self._objects.values():
            yield from (obj for obj in objects.values() if obj["metadata"].get("generateName"))


def _is_replaced(obj: ReadOnlyObject) -> bool:
    """Return whether an object is a failed pod that its replica set has replaced, so that it affects nothing."""
    owners = obj["metadata"].get("ownerReferences") or ()
    failed = obj["kind"] == "Pod" and (obj.get("status") or {}).get("phase") == "Failed"
    return failed and any(owner["kind"] == "ReplicaSet" for owner in owners)


def _normalize(obj: ReadOnlyObject, prefixes: Mapping[str, str], marks: Mapping[str, str]) -> Any:
    mark = marks.get(obj["metadata"].get("uid", ""), "")
    plain = _strip(_without_reports(obj), prefixes)
    return [plain, mark] if mark else plain


def _without_reports(obj: ReadOnlyObject) -> ReadOnlyObject:
    """Return an object without reported status that nothing depends on: counts of workloads, images on nodes."""
    if obj["apiVersion"].startswith(("apps/", "batch/")):
        status = obj.get("status") or {}
        return {
            **obj,
            "status": {name: status[name] for name in _DECIDING_STATUS.get(obj["kind"], ()) if name in status},
        }
    if obj["kind"] == "Node":
        return {**obj, "status": {name: part for name, part in obj.get("status", {}).items() if name != "images"}}
    return obj


def _strip(value: Any, prefixes: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _strip(item, prefixes)
            for key, item in value.items()
            if key not in _BOOKKEEPING
            and key not in _RUNTIME_FIELDS
            and not (isinstance(item, str) and _TIMESTAMP.match(item))
        }
    if isinstance(value, list):
        return [_strip(item, prefixes) for item in value]
    if isinstance(value, str):
        return _replace_generated_names(value, prefixes)
    return value


def _replace_generated_names(text: str, prefixes: Mapping[str, str]) -> str:
    if text in prefixes:
        return f"{prefixes[text]}*"
    return _GENERATED_NAME.sub(
        lambda match: prefixes.get(match[0], _TOKENS if match[0].startswith(_TOKENS) else match[0]), text
    )
