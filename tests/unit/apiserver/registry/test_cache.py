"""What a collection remembers of the store."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.model import Entry, Event, EventType

from mockkube.apiserver.registry import cache
from mockkube.apiserver.registry.cache import Cache, Change, Collection, Record, labels_of

PREFIX = "/registry/core/things/"


def read(entry: Entry) -> Record:
    """A record without a body."""
    namespace, _, name = entry.key.removeprefix(PREFIX).rpartition("/")
    return Record(entry.key, name, namespace, entry.revision, b"", entry.value, {}, {})


def entry(path: str, revision: int) -> Entry:
    return Entry(key=PREFIX + path, value=b"v", created_revision=1, revision=revision)


def put(path: str, revision: int) -> Event:
    return Event(EventType.PUT, entry(path, revision), None)


def gone(path: str, revision: int) -> Event:
    return Event(EventType.DELETE, entry(path, revision), None)
