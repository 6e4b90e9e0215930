"""Snapshots: validation and printer columns. `spec.restore` asks to restore the cluster to the saved state."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from mockkube.api.fields import FieldError, forbidden, invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.printers.ages import format_time_since
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, integer_column, text_column, wide_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.cluster.control.conditions import get_condition

SAVED_CONDITION: Final = "Saved"
RESTORED_CONDITION: Final = "Restored"


def get_restore_count(obj: ReadOnlyObject) -> int:
    """Return how often the user asked to restore the snapshot."""
    return int(obj["spec"].get("restore", 0))


class SnapshotStrategy(StatusStrategy):
    """Strategy of snapshots: the state at creation is saved; `spec.restore` may only grow, and only after that."""

    def __init__(self, revision: Callable[[], int]) -> None:
        # Returns the revision of the cluster's store.
        self._get_revision = revision

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Record the present revision."""
        super().prepare_for_create(obj, context)
        obj["status"]["revision"] = self._get_revision()

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject a restore before anything is saved."""
        if get_restore_count(obj):
            return [forbidden("spec.restore", "nothing has been saved yet: create the snapshot, then raise the number")]
        return []

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate a request to restore."""
        restore_count, old_count = get_restore_count(new), get_restore_count(old)
        # A counter, not a flag: raising it again restores again, and the status shows the last number carried out.
        if restore_count < old_count:
            return [
                invalid(
                    "spec.restore",
                    restore_count,
                    f"must not be less than before: give {old_count + 1} to restore again",
                )
            ]
        if restore_count > old_count and get_condition(old, SAVED_CONDITION).get("status") != "True":
            return [forbidden("spec.restore", "the state has not been saved: wait for the condition Saved")]
        return []


def _make_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    status = obj.get("status", {})
    return [
        obj["metadata"].get("name", ""),
        get_condition(obj, SAVED_CONDITION).get("status", "Unknown"),
        status.get("objects", 0),
        _format_size(status.get("bytes", 0)),
        status.get("restored", 0),
        format_time_since(obj["metadata"].get("creationTimestamp", ""), now),
        str(status.get("revision", "")),
        get_condition(obj, RESTORED_CONDITION).get("message", ""),
    ]


def _format_size(count: int) -> str:
    """Return a number of bytes in a suitable unit."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1 << 10:
            return f"{count:.0f} {unit}"
        count >>= 10
    return f"{count} GiB"


PRINTER: Final = Printer(
    (
        NAME_COLUMN,
        text_column("Saved", "Whether the state is saved."),
        integer_column("Objects", "Number of saved objects."),
        text_column("Size", "Size of the saved state."),
        integer_column("Restored", "Last spec.restore that was carried out."),
        AGE_COLUMN,
        wide_column("Revision", "resourceVersion of the saved state."),
        wide_column("Message", "Result of the last restore."),
    ),
    _make_cells,
)
