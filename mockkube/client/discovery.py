"""Which kinds a server has, in which versions, and under which paths."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from mockkube.api.catalogue import KINDS
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.client.sight import Lens, Sight, unchanged

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
ROOTS: Final = ("/api", "/apis")
_BUILT_IN: Final = frozenset((kind.group, kind.kind) for kind in KINDS)


@dataclass(frozen=True, slots=True)
class Served:
    """A kind in the version that is spoken of it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    bodies: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By subresource, the apiVersion and kind of what is sent there."""
    lens: Lens = unchanged

    @property
    def api_version(self) -> str:
        """The version with its group, as objects name it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, key: Key, subresource: str = "") -> str:
        """Return where the object is, or with no name, its collection."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        where = f"/namespaces/{quote(key.namespace, safe='')}" if self.namespaced and key.namespace else ""
        parts = [self.plural, quote(key.name, safe=""), subresource]
        return f"{root}{where}/{'/'.join(part for part in parts if part)}"

    def named(self, obj: ReadOnlyObject, subresource: str = "") -> Object:
        """Return an object that says which kind it is, as bodies must."""
        api_version, kind = self.bodies.get(subresource, (self.api_version, self.kind))
        return {**obj, "kind": kind, "apiVersion": api_version}


def served_kinds(documents: Iterable[ReadOnlyObject], sight: Sight | None) -> dict[str, Served]:
    """Return the kinds, by `Pod` and `Event.events.k8s.io`, in the first version that both sides know."""
    found: dict[str, Served] = {}
    for one in _all(documents, sight):
        found.setdefault(one.kind, one)
        found.setdefault(f"{one.kind}.{one.group}", one)
    return found


def _all(documents: Iterable[ReadOnlyObject], sight: Sight | None) -> Iterator[Served]:
    for document in documents:
        for group in document.get("items", ()):
            name = group["metadata"].get("name", "")
            for version in group.get("versions", ()):
                for resource in version.get("resources", ()):
                    served = _served(name, version["version"], resource, sight)
                    if served is not None:
                        yield served


def _served(group: str, version: str, resource: Mapping[str, Any], sight: Sight | None) -> Served | None:
    """A resource as discovery tells of it; None for a built-in one that the component does not have."""
    kind = resource["responseKind"]["kind"]
    if sight is not None and (group, kind) in _BUILT_IN and not sight.knows(group, version, kind):
        return None
    return Served(
        group=group,
        version=version,
        kind=kind,
        plural=resource["resource"],
        namespaced=resource["scope"] == "Namespaced",
        bodies=dict(_bodies(group, version, resource)),
        lens=unchanged if sight is None else sight.lens(group, version, kind),
    )


def _bodies(group: str, version: str, resource: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    for sub in resource.get("subresources", ()):
        said = sub.get("responseKind") or {}
        where = (said.get("group") or group, said.get("version") or version)
        if said.get("kind"):
            yield sub["subresource"], ("/".join(part for part in where if part), said["kind"])
