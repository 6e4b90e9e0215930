"""Findings of a rehearsal: what breaks, what changes, at which component and object."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

# Beginning of the text about a gate whose default changes.
GATE: Final = "gate "
_NAMES_MAX: Final = 5


class Severity(StrEnum):
    """Severity of a finding."""

    BREAKS = "breaks"
    # Nothing fails, but something is different afterwards.
    CHANGES = "changes"


class Topic(StrEnum):
    """Topic of a finding, in the order of reports."""

    COMPONENT = "component does not start"
    API = "API goes away"
    OBJECT = "object no longer validates"
    FIELD = "field is lost"
    WEBHOOK = "webhook or policy breaks"
    NODE = "node cannot be upgraded"
    DRAIN = "drain is stuck"
    DEFAULT = "default changes"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that breaks or changes; alike ones of several objects are one finding."""

    severity: Severity
    topic: Topic
    text: str
    # What to do about it, before the upgrade.
    remedy: str = ""
    component: str = ""
    kind: str = ""
    field: str = ""
    objects: tuple[str, ...] = ()
    count: int = 1

    @property
    def breaks(self) -> bool:
        """Return whether something fails."""
        return self.severity is Severity.BREAKS

    def describe_objects(self) -> str:
        """Return kind and names of the objects, the first of many."""
        if not self.objects:
            return self.component
        more = f" and {self.count - len(self.objects)} more" if self.count > len(self.objects) else ""
        return f"{self.kind} {', '.join(self.objects)}{more}"


def name_object(obj: ReadOnlyObject) -> str:
    """Return `NAMESPACE/NAME`, or the name of an object without a namespace."""
    metadata = obj.get("metadata") or {}
    return "/".join(filter(None, (metadata.get("namespace"), metadata.get("name", ""))))


def merge_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with those that differ in their objects only merged; what breaks first, by topic."""
    merged: dict[tuple[str, ...], list[Finding]] = {}
    for one in findings:
        key = (one.severity, one.topic, one.text, one.remedy, one.component, one.kind, one.field)
        merged.setdefault(key, []).append(one)
    found = [_merge(group) for group in merged.values()]
    topics = list(Topic)
    return sorted(found, key=lambda one: (not one.breaks, topics.index(one.topic)))


def _merge(group: list[Finding]) -> Finding:
    first = group[0]
    names = list(dict.fromkeys(name for one in group for name in one.objects))
    return Finding(
        first.severity,
        first.topic,
        first.text,
        first.remedy,
        first.component,
        first.kind,
        first.field,
        tuple(names[:_NAMES_MAX]),
        max(len(names), 1),
    )
