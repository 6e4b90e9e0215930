"""Format of an SQL database: its version, its tables, and what their rows mean. No statement is sent from here."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockkube_storage.errors import FormatTooNew, Unavailable
from mockkube_storage.model import REVISION_FIRST, Entry

# Format that this program writes; raise it when an older program could no longer read the result.
FORMAT: Final = 1
TABLE_NAMES: Final = frozenset(("entries", "meta"))
# Rows of the table `meta` in a new database.
META_ROWS: Final = {"format": FORMAT, "compacted": 0, "swept": 0}
# Revisions whose replaced versions one transaction of a compaction removes.
SWEEP_REVISIONS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class NewestRevision:
    """Newest revision of a database, and the one before which it is compacted."""

    newest: int
    compacted: int

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> "NewestRevision":
        """Return what a row of the newest entry's revision and of the compacted one says."""
        newest, compacted = row
        # A database whose entries are all compacted still has a revision.
        return cls(max(REVISION_FIRST, newest or 0, compacted), compacted)


@dataclass(frozen=True, slots=True)
class SweepWindow:
    """Revisions whose replaced versions are removed next, after one and up to another."""

    after: int
    up_to: int
    compacted: int

    @classmethod
    def from_meta(cls, meta: Mapping[str, int]) -> "SweepWindow":
        """Return the next window of a database with these rows of `meta`."""
        return cls(meta["swept"], min(meta["swept"] + SWEEP_REVISIONS_MAX, meta["compacted"]), meta["compacted"])


def check_is_ours(where: str, names: Collection[str], meta: Mapping[str, int]) -> bool:
    """Return whether a database is ours, False if it is empty; raise Unavailable if it is another's, or too new."""
    if "format" in meta:
        if meta["format"] > FORMAT:
            raise FormatTooNew(where, meta["format"], FORMAT)
        return True
    if foreign := set(names) - TABLE_NAMES:
        raise Unavailable(where, f"it holds a table of another program, {min(foreign)}")
    return False


def to_entry(row: Sequence[Any]) -> Entry | None:
    """Return the entry of a row, None for a deletion."""
    revision, key, create_revision, value = row
    return None if value is None else Entry(key, value, create_revision, revision)
