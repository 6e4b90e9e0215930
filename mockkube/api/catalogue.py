"""Index of the built-in kinds: names, scope, verbs, versions, subresources, and where their rules are.

`KINDS` is read from kinds.json, which `make kinds` derives from the records in `api/kinds/`: importing all of these
would take longer than a server needs to start. `load_kind` imports one. The schemas know which versions exist in a
release; of those, stable ones are served, and the others only on request (`--runtime-config`).
"""

from __future__ import annotations

import json
import re
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockkube.api.kind import Kind

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CREATE_VERBS: Final = ("create",)
_WRITE_VERBS: Final = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource with its verbs."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    # Group and version of the body's kind, if not those of the resource.
    group_version: str = ""
    # Gate without which the subresource is not served; empty for most.
    gate: str = ""


STATUS: Final = Subresource("status", "", _WRITE_VERBS)
SCALE: Final = Subresource("scale", "Scale", _WRITE_VERBS, "autoscaling/v1")


@dataclass(frozen=True, slots=True)
class KindInfo:
    """Names, scope and verbs of a kind. Its versions are listed in the order that discovery prefers."""

    group: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    versions: tuple[str, ...] = ("v1",)
    subresources: tuple[Subresource, ...] = ()
    # Warning that comes with every response.
    deprecation: str = ""
    # Group and plural under which the objects are stored, if they are those of another kind, too.
    stored_as: tuple[str, str] | None = None
    # Path to the pod spec of an object; empty for kinds without pods.
    pod_spec: tuple[str, ...] = ()
    # Gate without which the kind is not served in any version; empty for most.
    gate: str = ""

    @property
    def list_kind(self) -> str:
        """Kind of a list of such objects."""
        return f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        """Return the subresource with this name, None if there is none."""
        return next((one for one in self.subresources if one.name == name), None)


def is_stable_version(version: str) -> bool:
    """Return whether a version is stable, and thus served by default."""
    return re.fullmatch(r"v\d+", version) is not None


@dataclass(frozen=True, slots=True)
class _IndexEntry:
    """A row of the index: a kind, and `module:attribute` of its record, empty for a plain kind."""

    info: KindInfo
    record: str
    converts: bool


def _parse_entry(row: dict[str, Any]) -> _IndexEntry:
    record, converts = row.pop("record"), row.pop("converts", False)
    row["subresources"] = tuple(
        Subresource(**{**one, "verbs": tuple(one["verbs"])}) for one in row.get("subresources", ())
    )
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    info = KindInfo(**values)
    return _IndexEntry(info, record, converts)


_INDEX: Final = tuple(map(_parse_entry, json.loads((Path(__file__).parent / "data/kinds.json").read_bytes())))
KINDS: Final = tuple(entry.info for entry in _INDEX)
_BY_NAME: Final = {(entry.info.group, entry.info.kind): entry for entry in _INDEX}
# Kinds whose versions differ by more than their name.
CONVERTED_KINDS: Final = frozenset(entry.info.kind for entry in _INDEX if entry.converts)
# Path from an object to its pod spec, by kind.
POD_SPEC_PATHS: Final[Mapping[str, tuple[str, ...]]] = {kind.kind: kind.pod_spec for kind in KINDS if kind.pod_spec}


@cache
def load_kind(group: str, kind: str) -> Kind:
    """Return the record of a built-in kind with all its rules."""
    from mockkube.api.kind import Kind  # strategies and printers, which nobody needs before the first object

    entry = _BY_NAME[group, kind]
    if not entry.record:
        return Kind(**{field.name: getattr(entry.info, field.name) for field in fields(KindInfo)})
    module, _, attribute = entry.record.partition(":")
    record = getattr(import_module(module), attribute)
    assert isinstance(record, Kind)
    return record
