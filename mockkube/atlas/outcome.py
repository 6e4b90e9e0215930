"""Outcome of a run: what was refused and dropped, the objects at its end, and every write on the way there."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.atlas.gate_cluster import GateCluster
from mockkube.lazy_dataclasses import dataclass

_ROOT: Final = "/registry/"
# Events repeat what objects say; the rules of RBAC are those of the kinds that a server knows.
_IGNORED: Final = ("core/events", "events.k8s.io/", "rbac.authorization.k8s.io/")
_BOOKKEEPING: Final = frozenset(
    {"uid", "resourceVersion", "managedFields", "selfLink", "holderIdentity", "ownerReferences"}
)
_CHANCE: Final = frozenset(  # addresses and identifiers that random numbers choose
    {
        *("podIP", "podIPs", "hostIP", "hostIPs", "containerID", "imageID", "clusterIP", "clusterIPs", "nodePort"),
        "token",
    }
)
_HASHES: Final = frozenset(
    {
        *("pod-template-hash", "controller-revision-hash", "controller-uid", "batch.kubernetes.io/controller-uid"),
        *("currentRevision", "updateRevision", "deployment.kubernetes.io/revision"),
    }
)
_TIMESTAMP: Final = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOKEN_VOLUME: Final = re.compile(r"kube-api-access-[a-z0-9]{5}")
_STATEFUL: Final = ("StatefulSet", "CronJob")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a run, without what random numbers choose."""

    refused: Mapping[str, str]
    # Warnings of the API server about accepted objects.
    warnings: Mapping[str, tuple[str, ...]]
    dropped: Mapping[str, tuple[str, ...]]
    # Objects by resource and name; several have one name if it was generated.
    objects: Mapping[str, tuple[Any, ...]]
    # Each write in order, with the worker and the time.
    writes: tuple[str, ...]
    has_livelock: bool = False

    @property
    def visible(self) -> tuple[Any, ...]:
        """State of the cluster at the end of a run, as users see it."""
        return dict(self.refused), dict(self.warnings), dict(self.dropped), dict(self.objects), self.has_livelock


async def read_outcome(cluster: GateCluster) -> Outcome:
    """Return the outcome of what has happened so far."""
    objects = await cluster.read_objects()
    names = _NameTable(objects)
    grouped: dict[str, list[Any]] = {}
    for key, obj in objects.items():
        resource = "/".join(key.removeprefix(_ROOT).split("/", 2)[:2])
        if not resource.startswith(_IGNORED) and "metadata" in obj:
            grouped.setdefault(f"{resource} {names.display(obj)}", []).append(names.strip(obj))
    ordered = {key: tuple(sorted(group, key=_sorting_key)) for key, group in sorted(grouped.items())}
    dropped = {name: tuple(paths) for name, paths in cluster.dropped.items()}
    return Outcome(
        {name: names.replace(reason) for name, reason in cluster.refused.items()},
        {name: tuple(texts) for name, texts in cluster.warnings.items()},
        dropped,
        ordered,
        tuple(_list_writes(cluster, names)),
        cluster.has_livelock,
    )


def _sorting_key(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _list_writes(cluster: GateCluster, names: "_NameTable") -> Iterator[str]:
    for step in cluster.cluster.trace.steps:
        for write in step.writes:
            if write.resource.startswith(_IGNORED):
                continue
            obj = write.load_object()
            names.add(obj)
            change = names.strip(write.compute_difference())
            text = orjson.dumps(change, option=orjson.OPT_SORT_KEYS).decode() if change else ""
            yield f"{step.at:.3f} s {step.worker}: {write.verb} {write.resource} {names.display(obj)} {text}".rstrip()


def _is_noise(key: str, value: Any) -> bool:
    if key in _BOOKKEEPING or key in _CHANCE or key in _HASHES:
        return True
    # Images are a list only on nodes, where they follow from the pods.
    return (isinstance(value, str) and bool(_TIMESTAMP.match(value))) or (key == "images" and isinstance(value, list))


class _NameTable:
    """Names of objects without their generated parts."""

    def __init__(self, objects: Mapping[str, ReadOnlyObject]) -> None:
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        named = [obj for obj in objects.values() if "metadata" in obj]
        for obj in sorted(named, key=lambda one: len(one["metadata"]["name"])):
            self.add(obj)

    def add(self, obj: ReadOnlyObject) -> None:
        """Add the name of an object, if a part of it is generated."""
        metadata = obj["metadata"]
        name = metadata["name"]
        owner = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
        if name in self._names or (owner is not None and owner["kind"] in _STATEFUL and obj["kind"] != _REVISION):
            return
        if owner is not None:
            self._set(name, f"{self._names.get(owner['name'], owner['name'])}-*")
        elif metadata.get("generateName"):
            self._set(name, f"{metadata['generateName']}*")

    def _set(self, name: str, shown: str) -> None:
        self._names[name] = shown
        self._pattern = None

    def display(self, obj: ReadOnlyObject) -> str:
        """Return the name of an object, with its namespace."""
        metadata = obj["metadata"]
        name = self._names.get(metadata["name"], metadata["name"])
        namespace = metadata.get("namespace", "")
        return f"{namespace}/{name}" if namespace not in ("", "default") else name

    def replace(self, text: str) -> str:
        """Return a text with generated names replaced."""
        if self._names:
            if self._pattern is None:
                longest_first = sorted(self._names, key=len, reverse=True)
                self._pattern = re.compile("|".join(map(re.escape, longest_first)))
            text = self._pattern.sub(lambda match: self._names[match[0]], text)
        return _UID.sub("…", _TOKEN_VOLUME.sub("kube-api-access-*", text))

    def strip(self, value: Any) -> Any:
        """Return a value without bookkeeping, times and addresses, and with generated names replaced."""
        if isinstance(value, dict):
            return {key: self.strip(item) for key, item in value.items() if not _is_noise(key, item)}
        if isinstance(value, list):
            return [self.strip(item) for item in value]
        return self.replace(value) if isinstance(value, str) else value


_REVISION: Final = "ControllerRevision"
