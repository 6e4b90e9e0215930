"""Kinds that may exist, for controllers of all kinds: built-in ones and those of CRDs.

Whether the server serves a built-in kind shows only when it is listed: NotFound or MethodNotAllowed.
"""

from collections.abc import Iterator
from typing import Final

from mockkube.api.catalogue import KINDS, KindInfo
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer
from mockkube.lazy_dataclasses import dataclass

CRD_KIND: Final = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class ServedKind:
    """One kind, as clients name it and as discovery describes it."""

    group: str
    kind: str
    plural: str
    namespaced: bool
    versions: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the kind for clients."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def matches(self, api_version: str, kind: str) -> bool:
        """Return whether an owner reference names this kind."""
        group, _, version = api_version.rpartition("/")
        return kind == self.kind and group == self.group and version in self.versions


def _built_in(kind: KindInfo) -> ServedKind:
    return ServedKind(kind.group, kind.kind, kind.plural, kind.namespaced, kind.versions)


# Kinds whose objects are stored, each once, in the order of the catalogue.
BUILT_IN: Final = tuple(
    _built_in(kind) for kind in KINDS if {"delete", "list", "watch"} <= {*kind.verbs} and kind.stored_as is None
)


def custom_kind(crd: ReadOnlyObject) -> ServedKind:
    """Return the kind that a CRD defines."""
    spec = crd["spec"]
    versions = tuple(version["name"] for version in spec["versions"] if version.get("served"))
    names = spec["names"]
    return ServedKind(spec["group"], names["kind"], names["plural"], spec["scope"] == "Namespaced", versions)


def is_established(crd: ReadOnlyObject) -> bool:
    """Return whether the kind of a CRD is served."""
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def custom_kinds(crds: Informer) -> Iterator[ServedKind]:
    """Yield the served kinds of all CRDs."""
    for definition in crds.list():
        if is_established(definition) and (kind := custom_kind(definition)).versions:
            yield kind
