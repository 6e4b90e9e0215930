"""Tables in JSON files with one entry per line, whose entries are decoded when they are first needed.

A table has hundreds of entries, of which a server needs few: decoded, they take six times the memory of their text.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

_NULL: Final = b"null"


class LazyTable(Mapping[str, Any]):
    """Table by name; equal lines of different tables are decoded once. Entries are shared: they are only read."""

    def __init__(self, lines: Mapping[str, bytes], entries: Mapping[str, Any] | None = None) -> None:
        """Take undecoded lines by name, and entries that come in place of lines or in addition to them."""
        self._lines = lines
        self._entries = entries or {}

    def with_entries(self, entries: Mapping[str, Any]) -> "LazyTable":
        """Return a table that has these entries, too."""
        return LazyTable(self._lines, {**self._entries, **entries}) if entries else self

    def find_all(self, key: str) -> Iterator[tuple[str, Any]]:
        """Yield the name of each entry that has a key, and its value."""
        quoted = b'"%b":' % key.encode()
        for name, line in self._lines.items():
            # Most entries do not have the key, and those that do need not stay decoded.
            if name not in self._entries and quoted in line and key in (entry := orjson.loads(line)):
                yield name, entry[key]
        for name, entry in self._entries.items():
            if key in entry:
                yield name, entry[key]

    def __getitem__(self, name: str) -> Any:
        entry = self._entries.get(name)
        return decode(self._lines[name]) if entry is None else entry

    def __contains__(self, name: object) -> bool:
        return name in self._lines or name in self._entries

    def __iter__(self) -> Iterator[str]:
        yield from self._lines
        yield from (name for name in self._entries if name not in self._lines)

    def __len__(self) -> int:
        return len(self._lines) + sum(name not in self._lines for name in self._entries)


def load_lines(path: Path) -> dict[str, bytes]:
    """Return the undecoded entries of a file by name; those of removed entries are empty."""
    lines = path.read_bytes().removeprefix(b"{\n").removesuffix(b"\n}\n").split(b",\n")
    found = (line.split(b'": ', 1) for line in lines)
    return {name[1:].decode(): b"" if value == _NULL else value for name, value in found}


@cache
def decode(line: bytes) -> Any:
    """Return the entry of a line."""
    return orjson.loads(line)
