"""A client that keeps objects in a dictionary, and does as it is told."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.api.json_objects import Object
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Key, key_of
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock


class Shelf:
    """Events by key; merges patches flatly, which is all that recorders send."""

    def __init__(self) -> None:
        self.events: dict[Key, Object] = {}
        self.asked: list[str] = []
        self.answer: Callable[[], ApiError | None] = lambda: None
        """What it says instead of doing anything."""

    def _ask(self, verb: str) -> None:
        self.asked.append(verb)
        if (error := self.answer()) is not None:
            raise error

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> Object:
        self._ask("create")
        key = key_of(obj)
        if key in self.events:
            raise AlreadyExists.for_object("", "events", key.name)
        self.events[key] = obj
        return obj

    async def patch(
        self, kind: str, key: Key, patch: Any, *, patch_type: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> Object:
        self._ask("patch")
        if key not in self.events:
            raise NotFound.for_object("", "events", key.name)
        self.events[key] = {**self.events[key], **patch}
        return self.events[key]


@pytest.fixture
def shelf() -> Any:
    """Any: it offers the part of a client that recorders use."""
    return Shelf()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def chance() -> Random:
    return Random.from_seed(1, "recorder")
