"""What a snapshot holds: every entry of the cluster's store and the settings of its components, and putting it back."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self

import orjson
from mockkube_storage.errors import Conflict
from mockkube_storage.model import Entry
from mockkube_storage.store import Store

from mockkube.api.types import Object

ROOT: Final = "/registry/"
FORMAT: Final = 1
_TOGETHER_MAX: Final = 512
"""How many writes are under way at once: they share transactions."""


_Write = Callable[[], Coroutine[Any, Any, None]]


class Unreadable(Exception):
    """These are not the contents of a snapshot, or those of a later mockkube."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The state of a cluster at one moment."""

    entries: Mapping[str, bytes]
    """Every key of the store with its value: what codecs make of that is their own affair."""
    components: Mapping[str, Object]
    """The spec of each component."""

    @classmethod
    async def of(cls, store: Store, revision: int, components: Mapping[str, Object]) -> Self:
        """Return what the store held at a revision; Compacted if that is forgotten."""
        page = await store.list(ROOT, revision=revision)
        return cls({entry.key: entry.value for entry in page.entries}, components)

    def to_bytes(self) -> bytes:
        """Return a line of settings, then a line for each entry."""
        head = orjson.dumps({"format": FORMAT, "components": dict(self.components)})
        lines = (orjson.dumps([key, value.decode()]) for key, value in self.entries.items())
        return b"\n".join([head, *lines, b""])

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Return what was written; Unreadable if it is not."""
        try:
            first, *lines = content.splitlines()
            head = orjson.loads(first)
            if head["format"] != FORMAT:
                raise Unreadable(f"its format is {head['format']}, this mockkube reads {FORMAT}")
            entries = {key: value.encode() for key, value in map(orjson.loads, lines)}
            return cls(entries, head["components"])
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable("it is damaged") from error

    async def put_into(self, store: Store) -> int:
        """Make the store hold these entries and no others; return the revision at which it does.

        Done a second time it writes nothing, so that one that was interrupted is finished by doing it again.
        """
        while writes := self._differences(store, (await store.list(ROOT)).entries):
            for first in range(0, len(writes), _TOGETHER_MAX):
                await _together(writes[first : first + _TOGETHER_MAX])
        return await store.current_revision()

    def _differences(self, store: Store, present: Sequence[Entry]) -> list[_Write]:
        """Return a write for each key that is not as it was."""
        there = {entry.key: entry for entry in present}
        writes: list[_Write] = [partial(_remove, store, entry) for entry in present if entry.key not in self.entries]
        for key, value in self.entries.items():
            if (entry := there.get(key)) is None:
                writes.append(partial(_create, store, key, value))
            elif entry.value != value:
                writes.append(partial(_replace, store, entry, value))
        return writes


async def _together(writes: Sequence[_Write]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for write in writes:
                group.create_task(write())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _remove(store: Store, entry: Entry) -> None:
    """Remove an entry; whoever was faster is seen in the next round."""
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
