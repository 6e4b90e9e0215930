"""Contents of a snapshot: every entry of the store and the specs of all components; saving and restoring them."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, Self

import orjson
from mockkube_storage.errors import Conflict
from mockkube_storage.model import Entry
from mockkube_storage.store import Store

from mockkube.api.json_objects import Object
from mockkube.lazy_dataclasses import dataclass

KEY_PREFIX: Final = "/registry/"
FORMAT: Final = 1
# Concurrent writes of a restore; the store combines them into few transactions.
_CONCURRENT_WRITES_MAX: Final = 512


_Write = Callable[[], Coroutine[Any, Any, None]]


class UnreadableSnapshotError(Exception):
    """Error: snapshot contents are damaged, or in the format of a later version."""


@dataclass(frozen=True, slots=True)
class SnapshotContents:
    """State of a cluster at one moment."""

    # Stored bytes by key; they are not decoded.
    entries: Mapping[str, bytes]
    # Spec of each component by name.
    components: Mapping[str, Object]
    # Time of the state; empty if it does not matter, because the cluster that restores it has a time of its own.
    time: str = ""

    @classmethod
    async def from_store(cls, store: Store, revision: int, components: Mapping[str, Object]) -> Self:
        """Read the store at a revision; Compacted if that is too old."""
        page = await store.list(KEY_PREFIX, revision=revision)
        return cls({entry.key: entry.value for entry in page.entries}, components)

    def to_bytes(self) -> bytes:
        """Encode as lines of JSON: one for the components, then one for each entry."""
        time = {"time": self.time} if self.time else {}
        head = orjson.dumps({"format": FORMAT, "components": dict(self.components), **time})
        lines = (orjson.dumps([key, value.decode()]) for key, value in self.entries.items())
        return b"\n".join([head, *lines, b""])

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Decode contents; raise UnreadableSnapshotError if they are invalid."""
        try:
            first, *lines = content.splitlines()
            head = orjson.loads(first)
            if head["format"] != FORMAT:
                raise UnreadableSnapshotError(f"its format is {head['format']}, this mockkube reads {FORMAT}")
            entries = {key: value.encode() for key, value in map(orjson.loads, lines)}
            return cls(entries, head["components"], head.get("time", ""))
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableSnapshotError("it is no snapshot, or damaged") from error

    async def restore_into(self, store: Store) -> int:
        """Make the store hold exactly these entries; return the revision after that.

        It can be repeated: a second time it writes nothing, so an interrupted restore is completed by another one.
        """
        # Repeated until nothing differs: a concurrent writer may have changed keys in between.
        while writes := self._find_differences(store, (await store.list(KEY_PREFIX)).entries):
            for first in range(0, len(writes), _CONCURRENT_WRITES_MAX):
                await _run_concurrently(writes[first : first + _CONCURRENT_WRITES_MAX])
        return await store.current_revision()

    def _find_differences(self, store: Store, present: Sequence[Entry]) -> list[_Write]:
        """Return a write for each key that differs."""
        present_by_key = {entry.key: entry for entry in present}
        writes: list[_Write] = [partial(_remove, store, entry) for entry in present if entry.key not in self.entries]
        for key, value in self.entries.items():
            if (entry := present_by_key.get(key)) is None:
                writes.append(partial(_create, store, key, value))
            elif entry.value != value:
                writes.append(partial(_replace, store, entry, value))
        return writes


async def _run_concurrently(writes: Sequence[_Write]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for write in writes:
                group.create_task(write())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _remove(store: Store, entry: Entry) -> None:
    """Delete an entry; a conflict is left to the next round."""
    try:
        await store.delete(entry.key, expected=entry.revision)
    except Conflict:
        return


async def _create(store: Store, key: str, value: bytes) -> None:
    try:
        await store.create(key, value)
    except Conflict:
        return


async def _replace(store: Store, entry: Entry, value: bytes) -> None:
    try:
        await store.update(entry.key, value, expected=entry.revision)
    except Conflict:
        return
