"""Which kinds there may be, for controllers that deal with all of them: the built-in ones and those defined by users.

A built-in kind that the server at hand does not serve is found out by asking: NotFound, or MethodNotAllowed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mockkube.api.catalogue import KINDS, KindInfo
from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import ListWatch

DEFINITION: Final = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class ServedKind:
    """One kind as a client asks for it, and as discovery shows it."""

    group: str
    kind: str
    plural: str
    namespaced: bool
    versions: tuple[str, ...]

    @property
    def name(self) -> str:
        """What a client is asked for."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def covers(self, api_version: str, kind: str) -> bool:
        """Whether an owner reference names this kind."""
        group, _, version = api_version.rpartition("/")
        return kind == self.kind and group == self.group and version in self.versions


def _built_in(kind: KindInfo) -> ServedKind:
    return ServedKind(kind.group, kind.kind, kind.plural, kind.namespaced, kind.versions)


BUILT_IN: Final = tuple(
    _built_in(kind) for kind in KINDS if {"delete", "list", "watch"} <= {*kind.verbs} and kind.stored_as is None
)
"""The kinds whose objects are stored, each once, in the order of the catalogue."""


def custom_kind(definition: ReadOnlyObject) -> ServedKind:
    """Return the kind that a definition defines."""
    spec = definition["spec"]
    versions = tuple(version["name"] for version in spec["versions"] if version.get("served"))
    names = spec["names"]
    return ServedKind(spec["group"], names["kind"], names["plural"], spec["scope"] == "Namespaced", versions)


def established(definition: ReadOnlyObject) -> bool:
    """Whether the kind of a definition is served."""
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def custom_kinds(definitions: ListWatch) -> Iterator[ServedKind]:
    """Return the kinds users have defined and that are served."""
    for definition in definitions.list():
        if established(definition) and (kind := custom_kind(definition)).versions:
            yield kind
