"""Tables of an SQL database, and the statements that every SQL engine sends.

`entries` holds every version of every key until it is compacted. `previous` is the revision of the
version it replaced, 0 for none, and `(key, previous)` is unique: of two writes that both want to replace
the same version the database refuses one, even if the processes writing to it disagree. A deletion is a
version without a value. `meta` holds the format and how far compaction has come.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Delete,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    exists,
    func,
    select,
    union_all,
    update,
)

from mockkube_storage.keys import prefix_end
from mockkube_storage.model import Entry, Event, delete_event, put_event

REVISION_MAX: Final = 2**63 - 1

# In SQLite only a column of type INTEGER is an alias of the rowid, which saves an index.
_REVISION_TYPE = BigInteger().with_variant(Integer, "sqlite")
# The byte order that the Store protocol promises, not that of the database's locale.
_KEY_TYPE = Text().with_variant(Text(collation="C"), "postgresql")

METADATA: Final = MetaData()
ENTRIES: Final = Table(
    "entries",
    METADATA,
    Column("revision", _REVISION_TYPE, primary_key=True, autoincrement=False),
    Column("key", _KEY_TYPE, nullable=False),
    Column("previous", _REVISION_TYPE, nullable=False),
    Column("create_revision", _REVISION_TYPE, nullable=False),
    Column("value", LargeBinary),
    Index("entries_follow", "key", "previous", unique=True),
)
META: Final = Table(
    "meta",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", _REVISION_TYPE, nullable=False),
)

_ENTRY_COLUMNS = (ENTRIES.c.revision, ENTRIES.c.key, ENTRIES.c.create_revision, ENTRIES.c.value)
_REPLACED = ENTRIES.alias("before")
_LATER = ENTRIES.alias("later")

INSERT: Final = ENTRIES.insert()
META_VALUES: Final = select(META.c.name, META.c.value)
NEWEST: Final = select(
    select(func.max(ENTRIES.c.revision)).scalar_subquery().label("newest"), META.c.value.label("compacted")
).where(META.c.name == "compacted")
RAISE_COMPACTED: Final = (
    update(META).where(META.c.name == "compacted", META.c.value < bindparam("to")).values(value=bindparam("to"))
)
RAISE_SWEPT: Final = update(META).where(META.c.name == "swept").values(value=bindparam("to"))
VERSION_AT: Final = (
    select(*_ENTRY_COLUMNS)
    .where(ENTRIES.c.key == bindparam("key"), ENTRIES.c.revision <= bindparam("at"))
    # The same order as by revision, but served by the index on (key, previous).
    .order_by(ENTRIES.c.previous.desc())
    .limit(1)
)


def select_page(prefix: str, *, start: str, limit: int, at: int) -> Select[Any]:
    """Select the entries of a prefix at a revision, in key order."""
    statement = select(*_ENTRY_COLUMNS).where(_in_prefix(prefix, start), _is_current(at)).order_by(ENTRIES.c.key)
    return statement.limit(limit) if limit else statement


def select_count(prefix: str, *, start: str, at: int) -> Select[Any]:
    """Count the entries of a prefix at a revision."""
    return select(func.count()).select_from(ENTRIES).where(_in_prefix(prefix, start), _is_current(at))


def select_history(prefix: str, *, after: int, up_to: int, limit: int) -> Select[Any]:
    """Select versions of a prefix in revision order, each with the version it replaced."""
    return (
        select(ENTRIES, _REPLACED)
        .outerjoin(_REPLACED, and_(_REPLACED.c.revision == ENTRIES.c.previous, _REPLACED.c.value.is_not(None)))
        .where(ENTRIES.c.revision > after, ENTRIES.c.revision <= up_to, _in_prefix(prefix, prefix))
        .order_by(ENTRIES.c.revision)
        .limit(limit)
    )


def select_history_sizes(prefix: str, *, after: int, up_to: int, limit: int) -> Select[Any]:
    """Select the revisions of versions of a prefix in order, each with the size of its value."""
    return (
        select(ENTRIES.c.revision, func.coalesce(func.length(ENTRIES.c.value), 0))
        .where(ENTRIES.c.revision > after, ENTRIES.c.revision <= up_to, _in_prefix(prefix, prefix))
        .order_by(ENTRIES.c.revision)
        .limit(limit)
    )


def delete_replaced(after: int, up_to: int) -> Delete:
    """Delete the versions that the writes of these revisions replaced, and deletions among the writes.

    No read before `up_to` may be allowed any more, and the windows before this one must be swept.
    """
    window = and_(ENTRIES.c.revision > after, ENTRIES.c.revision <= up_to)
    replaced = select(ENTRIES.c.previous).where(window)
    deletions = select(ENTRIES.c.revision).where(window, ENTRIES.c.value.is_(None))
    return delete(ENTRIES).where(ENTRIES.c.revision.in_(union_all(replaced, deletions)))


def to_events(rows: Sequence[Sequence[Any]]) -> tuple[Event, ...]:
    """Return the events of the rows of `history`."""
    return tuple([_to_event(row) for row in rows])


def _to_event(row: Sequence[Any]) -> Event:
    revision, key, _, create_revision, value, before_revision, _, _, before_created, before_value = row
    before = None if before_revision is None else Entry(key, before_value, before_created, before_revision)
    if value is not None:
        return put_event(Entry(key, value, create_revision, revision), before)
    assert before is not None  # what is deleted was there, and outlives its deletion in every compaction
    return delete_event(before, revision)


def _in_prefix(prefix: str, start: str) -> ColumnElement[bool]:
    end = prefix_end(prefix)
    low = ENTRIES.c.key >= max(prefix, start)
    return low if end is None else and_(low, ENTRIES.c.key < end)


def _is_current(at: int) -> ColumnElement[bool]:
    """Return the condition that a version is the current entry of its key at a revision."""
    replaced = exists().where(
        _LATER.c.key == ENTRIES.c.key, _LATER.c.previous == ENTRIES.c.revision, _LATER.c.revision <= at
    )
    return and_(ENTRIES.c.revision <= at, ENTRIES.c.value.is_not(None), ~replaced)
