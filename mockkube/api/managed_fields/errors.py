"""What can be wrong with an apply or with managed fields."""

from collections.abc import Sequence
from dataclasses import dataclass


class ManagedFieldsError(Exception):
    """The base of what this package raises."""


class BadApply(ManagedFieldsError):
    """The applied object is of another kind, or carries managedFields: 400 BadRequest with the message as it is."""


class TypeMismatch(ManagedFieldsError):
    """A value does not fit its type: 500 without a reason, with the message as it is."""


class BadEntry(ManagedFieldsError):
    """An entry of managedFields cannot be read; an apply answers it with 500, an update forgets the entries."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field the applier wants to set that somebody else manages."""

    manager: str
    """The other manager as it is shown: name, subresource, version."""
    path: str


class ApplyConflict(ManagedFieldsError):
    """Others manage fields that the applier sets to another value: 409 Conflict, with a cause for each field."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(_describe(conflicts))
        self.conflicts = tuple(conflicts)

    def causes(self) -> list[dict[str, str]]:
        """The causes that the answer's details list."""
        return [
            {"reason": "FieldManagerConflict", "message": f"conflict with {one.manager}", "field": one.path}
            for one in self.conflicts
        ]


def _describe(conflicts: Sequence[Conflict]) -> str:
    if len(conflicts) == 1:
        return f"Apply failed with 1 conflict: conflict with {conflicts[0].manager}: {conflicts[0].path}"
    paths: dict[str, list[str]] = {}
    for conflict in conflicts:
        paths.setdefault(conflict.manager, []).append(conflict.path)
    lines = [
        line for manager, each in paths.items() for line in (f"conflicts with {manager}:", *(f"- {at}" for at in each))
    ]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
