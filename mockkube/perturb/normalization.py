"""Normalized states: objects without what differs between two runs that did the same.

Uids, resource versions, times and IP addresses are replaced; generated names are replaced by owner, prefix and ordinal.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

import orjson

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

# Resources that components write all the time, or that only record what happened.
NOISE: Final = frozenset(("events", "events.events.k8s.io", "leases.coordination.k8s.io"))
# Path of all fields of an object.
WHOLE: Final = "*"
_DROPPED_METADATA: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
# When a pod changed last of which endpoints tell; they have it or not by how changes come together.
# Annotation with which another client changes an object, and removes it again; controllers may have copied it.
TOUCHED: Final = "mockkube.dev/touched"
_DROPPED_ANNOTATIONS: Final = frozenset(("endpoints.kubernetes.io/last-change-trigger-time", TOUCHED))
_DROPPED_FIELDS: Final = frozenset(("observedGeneration",))
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Volume of a pod with the token of its service account.
_TOKEN_VOLUME: Final = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
_CONTAINER_ID: Final = re.compile(r"\b[0-9a-f]{64}\b")
_ADDRESS: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_ADDRESSED: Final = frozenset(("pods", "endpoints", "endpointslices.discovery.k8s.io", "services"))


class ObjectId(NamedTuple):
    """Resource, namespace and name of an object."""

    resource: str
    namespace: str
    name: str

    @classmethod
    def from_key(cls, key: str) -> "ObjectId":
        """Parse a key of the store: `/registry/apps/deployments/default/web`."""
        _, _, group, plural, *rest = key.split("/")
        resource = plural if group == "core" else f"{plural}.{group}"
        return cls(resource, rest[0] if len(rest) > 1 else "", rest[-1])

    def __str__(self) -> str:
        return f"{self.resource} {f'{self.namespace}/' if self.namespace else ''}{self.name}"


State = Mapping[ObjectId, Any]
"""Normalized objects."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """Names that a controller generates itself: a prefix, and a rest that differs between runs."""

    resource: str
    namespace: str
    prefix: str

    def matches(self, identity: ObjectId) -> bool:
        """Return whether the name of an object is generated so."""
        return (identity.resource, identity.namespace) == (self.resource, self.namespace) and identity.name.startswith(
            self.prefix
        )

    def __str__(self) -> str:
        return f"{self.resource}/{self.prefix}*: metadata.name"


@dataclass(frozen=True, slots=True)
class IgnoredPath:
    """Field that is left out of comparisons; `*` stands for any text, and for all items of a list."""

    resource: str
    name: str
    path: str

    def covers(self, identity: ObjectId, path: str) -> bool:
        """Return whether a path of an object is ignored, itself or as a part of an ignored one."""
        if not (fnmatchcase(identity.resource, self.resource) and fnmatchcase(identity.name, self.name)):
            return False
        return any(fnmatchcase(part, _to_pattern(self.path)) for part in _list_prefixes(path))

    def __str__(self) -> str:
        return f"{self.resource}/{self.name}: {self.path}"


def is_ignored_object(identity: ObjectId, ignored: Iterable[IgnoredPath]) -> bool:
    """Return whether an object is ignored as a whole."""
    return any(one.path == WHOLE and one.covers(identity, WHOLE) for one in ignored)


def _to_pattern(path: str) -> str:
    return path.replace("[", "[[]")


def _list_prefixes(path: str) -> Iterable[str]:
    yield path
    for index, character in enumerate(path):
        if character in ".[" and index:
            yield path[:index]


def make_fingerprint(obj: ReadOnlyObject) -> bytes:
    """Return the content of one object without versions and times."""
    return _TIME.sub("<time>", orjson.dumps(_strip(obj), option=orjson.OPT_SORT_KEYS).decode()).encode()


# What kubelets report when they like to.
USUALLY_IGNORED: Final = (IgnoredPath("nodes", "*", "status.images"), IgnoredPath("nodes", "*", "status.volumes*"))


def find_name_prefix(identity: ObjectId, obj: ReadOnlyObject, patterns: Iterable[NamePattern]) -> str:
    """Return the prefix of a generated name; empty for other names."""
    if generated := obj["metadata"].get("generateName"):
        return str(generated)
    return next((one.prefix for one in patterns if one.matches(identity)), "")


def normalize(objects: Mapping[ObjectId, ReadOnlyObject], patterns: Sequence[NamePattern] = ()) -> State:
    """Return the normalized objects by normalized identity."""
    stripped = {identity: _strip(obj) for identity, obj in objects.items() if identity.resource not in NOISE}
    owners = _Owners(objects, patterns)
    classes = {identity: owners.get_class(identity) for identity in stripped}
    # Texts in which generated names and uids still stand for all objects of their class, to order the objects by.
    rough = _Replacer({name: classes[identity] for identity in stripped for name in owners.list_names(identity)})
    members: dict[str, list[tuple[str, str, ObjectId]]] = defaultdict(list)
    for identity, obj in stripped.items():
        created = str(objects[identity]["metadata"].get("creationTimestamp", ""))
        members[classes[identity]].append((rough.replace(identity, obj), created, identity))
    final: dict[ObjectId, ObjectId] = {}
    for name, ordered in members.items():
        for number, (_, _, identity) in enumerate(sorted(ordered), 1):
            final[identity] = identity._replace(name=f"{name}#{number}") if owners.is_generated(identity) else identity
    exact = _Replacer({name: final[identity].name for identity in stripped for name in owners.list_names(identity)})
    return {final[identity]: orjson.loads(exact.replace(identity, obj)) for identity, obj in stripped.items()}


def _strip(obj: ReadOnlyObject) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _DROPPED_METADATA}
    annotations = metadata.pop("annotations", None) or {}
    # Without the last one there are no annotations, as if there never had been any.
    if kept := {key: value for key, value in annotations.items() if key not in _DROPPED_ANNOTATIONS}:
        metadata["annotations"] = kept
    return {**{key: _strip_value(value) for key, value in obj.items()}, "metadata": metadata}


def _strip_value(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _strip_value(item) for key, item in value.items() if key not in _DROPPED_FIELDS}
        # The order of conditions tells which of them changed last.
        if isinstance(conditions := kept.get("conditions"), list):
            kept["conditions"] = sorted(conditions, key=_get_condition_type)
        return kept
    return [_strip_value(item) for item in value] if isinstance(value, list) else value


def _get_condition_type(condition: Any) -> str:
    return str(condition.get("type", "")) if isinstance(condition, dict) else ""


class _Owners:
    """Classes of objects: those with generated names are alike if they have the same prefix and owner."""

    def __init__(self, objects: Mapping[ObjectId, ReadOnlyObject], patterns: Sequence[NamePattern]) -> None:
        self._objects, self._patterns = objects, patterns
        self._by_uid = {obj["metadata"].get("uid"): identity for identity, obj in objects.items()}

    def is_generated(self, identity: ObjectId) -> bool:
        """Return whether the name is generated."""
        return bool(self._find_prefix(identity))

    def _find_prefix(self, identity: ObjectId) -> str:
        return find_name_prefix(identity, self._objects[identity], self._patterns)

    def list_names(self, identity: ObjectId) -> Iterable[str]:
        """Yield the texts that differ between runs and name the object."""
        yield str(self._objects[identity]["metadata"].get("uid", ""))
        if self.is_generated(identity):
            yield identity.name

    def get_class(self, identity: ObjectId, depth: int = 0) -> str:
        """Return the name, or what objects with such a generated name share."""
        metadata = self._objects[identity]["metadata"]
        if not (prefix := self._find_prefix(identity)):
            return identity.name
        owners = [one for one in metadata.get("ownerReferences") or () if one.get("controller")]
        owner = self._by_uid.get(owners[0]["uid"]) if owners and depth < 5 else None
        if owner is None:
            return f"{prefix}*"
        # A pod has the name of its ReplicaSet in its own, and that may be generated, too.
        own = prefix.removeprefix(owner.name) if self.is_generated(owner) else prefix
        return f"{own if own == prefix else f'*{own}'}* of {self.get_class(owner, depth + 1)}"


class _Replacer:
    """Replaces names and uids in the JSON of objects."""

    def __init__(self, names: Mapping[str, str]) -> None:
        known = sorted((name for name in names if name), key=len, reverse=True)
        self._names = names
        self._pattern = re.compile("|".join(map(re.escape, known))) if known else None

    def replace(self, identity: ObjectId, obj: ReadOnlyObject) -> str:
        """Return the JSON of an object after the replacements."""
        text = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS).decode()
        if self._pattern is not None:
            text = self._pattern.sub(lambda match: self._names[match[0]], text)
        text = _CONTAINER_ID.sub("<id>", _UID.sub("<uid>", _TIME.sub("<time>", text)))
        text = _TOKEN_VOLUME.sub("kube-api-access-*", text)
        return _ADDRESS.sub("<ip>", text) if identity.resource in _ADDRESSED else text
