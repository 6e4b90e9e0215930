"""Snapshots: the state of the cluster at the moment one is created, and each time it is asked for again."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from mockkube.api.fields import FieldError, forbidden, invalid
from mockkube.api.printers.ages import since
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, integer_column, text_column, wide_column
from mockkube.api.strategy import Judge, StatusStrategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.cluster.control.reading import condition_of

SAVED: Final = "Saved"
RESTORED: Final = "Restored"


def asks_to_restore(obj: ReadOnlyObject) -> int:
    """Return how often a snapshot was asked to be restored, counted as its user counts; 0: never."""
    return int(obj["spec"].get("restore", 0))


class SnapshotStrategy(StatusStrategy):
    """A snapshot is of the moment it is created; `spec.restore` only grows, and only once there is something saved."""

    def __init__(self, revision: Callable[[], int]) -> None:
        self._revision = revision
        """The newest revision of the cluster's store."""

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Note the moment."""
        super().prepare_create(obj, judge)
        obj["status"]["revision"] = self._revision()

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """There is nothing to restore yet."""
        if asks_to_restore(obj):
            return [forbidden("spec.restore", "nothing has been saved yet: create the snapshot, then raise the number")]
        return []

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge a call for restoration."""
        asked, before = asks_to_restore(new), asks_to_restore(old)
        if asked < before:
            return [invalid("spec.restore", asked, f"must not be less than before: give {before + 1} to restore again")]
        if asked > before and condition_of(old, SAVED).get("status") != "True":
            return [forbidden("spec.restore", "the state has not been saved: wait for the condition Saved")]
        return []


def _cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    status = obj.get("status", {})
    return [
        obj["metadata"].get("name", ""),
        condition_of(obj, SAVED).get("status", "Unknown"),
        status.get("objects", 0),
        _size(status.get("bytes", 0)),
        status.get("restored", 0),
        since(obj["metadata"].get("creationTimestamp", ""), now),
        str(status.get("revision", "")),
        condition_of(obj, RESTORED).get("message", ""),
    ]


def _size(count: int) -> str:
    """Return a number of bytes in a unit of its size."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1 << 10:
            return f"{count:.0f} {unit}"
        count >>= 10
    return f"{count} GiB"


PRINTER: Final = Printer(
    (
        NAME,
        text_column("Saved", "Whether the state is kept."),
        integer_column("Objects", "How many objects it holds."),
        text_column("Size", "How large it is."),
        integer_column("Restored", "The spec.restore that was last carried out."),
        AGE,
        wide_column("Revision", "The resourceVersion whose state it is."),
        wide_column("Message", "What the last restoration came to."),
    ),
    _cells,
)
