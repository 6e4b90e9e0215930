"""Discovery: kinds that a server serves, with their versions and paths."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final
from urllib.parse import quote

from mockkube.api.catalogue import KINDS
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.client.versioned_decoder import ObjectDecoder, VersionedDecoder, keep_all_fields
from mockkube.lazy_dataclasses import dataclass

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
ROOTS: Final = ("/api", "/apis")
_BUILT_IN: Final = frozenset((kind.group, kind.kind) for kind in KINDS)


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A served kind, in the version that the client uses."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    # apiVersion and kind of the body that each subresource takes.
    bodies: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    decode: ObjectDecoder = keep_all_fields

    @property
    def api_version(self) -> str:
        """Group and version, as objects name them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, key: Key, subresource: str = "") -> str:
        """Return the path of an object, or of its collection if the key has no name."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        where = f"/namespaces/{quote(key.namespace, safe='')}" if self.namespaced and key.namespace else ""
        parts = [self.plural, quote(key.name, safe=""), subresource]
        return f"{root}{where}/{'/'.join(part for part in parts if part)}"

    def with_type_meta(self, obj: ReadOnlyObject, subresource: str = "") -> Object:
        """Return the object with kind and apiVersion set, as request bodies need it."""
        api_version, kind = self.bodies.get(subresource, (self.api_version, self.kind))
        return {**obj, "kind": kind, "apiVersion": api_version}


def parse_discovery(documents: Iterable[ReadOnlyObject], decoder: VersionedDecoder | None) -> dict[str, ServedResource]:
    """Return the served kinds by `Pod` and `Event.events.k8s.io`, each in the first version both sides know."""
    found: dict[str, ServedResource] = {}
    for one in _all_resources(documents, decoder):
        # Groups and versions come in the server's order of preference, and the first wins, as in upstream's RESTMapper.
        found.setdefault(one.kind, one)
        found.setdefault(f"{one.kind}.{one.group}", one)
    return found


def _all_resources(documents: Iterable[ReadOnlyObject], decoder: VersionedDecoder | None) -> Iterator[ServedResource]:
    for document in documents:
        for group in document.get("items", ()):
            name = group["metadata"].get("name", "")
            for version in group.get("versions", ()):
                for resource in version.get("resources", ()):
                    served = _parse_resource(name, version["version"], resource, decoder)
                    if served is not None:
                        yield served


def _parse_resource(
    group: str, version: str, resource: Mapping[str, Any], decoder: VersionedDecoder | None
) -> ServedResource | None:
    """Return a resource of discovery; None for a built-in kind that the component's version lacks."""
    kind = resource["responseKind"]["kind"]
    # Kinds that are not built in belong to CRDs: no version of a component has their types, and all may use them.
    if decoder is not None and (group, kind) in _BUILT_IN and not decoder.has_kind(group, version, kind):
        return None
    return ServedResource(
        group=group,
        version=version,
        kind=kind,
        plural=resource["resource"],
        namespaced=resource["scope"] == "Namespaced",
        bodies=dict(_subresource_bodies(group, version, resource)),
        decode=keep_all_fields if decoder is None else decoder.decoder_for(group, version, kind),
    )


def _subresource_bodies(group: str, version: str, resource: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    for sub in resource.get("subresources", ()):
        response_kind = sub.get("responseKind") or {}
        where = (response_kind.get("group") or group, response_kind.get("version") or version)
        if response_kind.get("kind"):
            yield sub["subresource"], ("/".join(part for part in where if part), response_kind["kind"])
