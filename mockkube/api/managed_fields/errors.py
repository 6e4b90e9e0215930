"""Errors of server-side apply and managed fields."""

from collections.abc import Sequence

from mockkube.lazy_dataclasses import dataclass


class ManagedFieldsError(Exception):
    """Base class of this package's errors."""


class InvalidApply(ManagedFieldsError):
    """Error for an applied object of another kind, or with managedFields: 400 BadRequest with this message."""


class TypeMismatch(ManagedFieldsError):
    """Error for a value that does not fit its type: 500 without a reason, with this message."""


class InvalidEntry(ManagedFieldsError):
    """Error for an invalid entry of managedFields: 500 in an apply; an update ignores the entries."""


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """Field that the applier sets and another manager manages."""

    # The other manager in messages: name, subresource, version.
    manager: str
    path: str


class ApplyConflict(ManagedFieldsError):
    """Error when other managers manage fields that the applier changes: 409 Conflict, with a cause for each field."""

    def __init__(self, conflicts: Sequence[FieldConflict]) -> None:
        super().__init__(_describe(conflicts))
        self.conflicts = tuple(conflicts)

    def causes(self) -> list[dict[str, str]]:
        """Return the causes for the Status details."""
        return [
            {"reason": "FieldManagerConflict", "message": f"conflict with {one.manager}", "field": one.path}
            for one in self.conflicts
        ]


def _describe(conflicts: Sequence[FieldConflict]) -> str:
    if len(conflicts) == 1:
        return f"Apply failed with 1 conflict: conflict with {conflicts[0].manager}: {conflicts[0].path}"
    paths: dict[str, list[str]] = {}
    for conflict in conflicts:
        paths.setdefault(conflict.manager, []).append(conflict.path)
    lines = [
        line for manager, each in paths.items() for line in (f"conflicts with {manager}:", *(f"- {at}" for at in each))
    ]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
