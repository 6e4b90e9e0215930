"""Definitions of custom resources, seen to from the first on: until then nothing they need is loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.registry.cache import Change, Collection
from mockkube.apiserver.registry.creation import DEFINITIONS
from mockkube.apiserver.registry.registry import Registry

if TYPE_CHECKING:
    from mockkube.apiserver.custom.definitions import Definitions


class DefinitionsOnDemand:
    """Keeps a registry serving what the stored definitions define."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._definitions: Definitions | None = None
        self._beginning = asyncio.Lock()
        self._wanted = asyncio.Event()

    @property
    def busy(self) -> bool:
        """Whether a definition waits to be seen to, or is in hand."""
        return self._wanted.is_set() if self._definitions is None else self._definitions.busy

    def published(self) -> Mapping[GroupVersionKind, ReadOnlyObject]:
        """The schemas of what is served."""
        return {} if self._definitions is None else self._definitions.published()

    async def start(self) -> None:
        """Serve what was defined before, or wait for the first definition."""
        if self._collection.records:
            await self._begun()
        else:
            self._collection.listeners[self._first] = None

    async def ensure(self, name: str) -> None:
        """Bring a definition to where it is served, or gone."""
        await (await self._begun()).ensure(name)

    async def run(self) -> None:
        """See to definitions that change, until cancelled."""
        await self._wanted.wait()
        await (await self._begun()).run()

    @property
    def _collection(self) -> Collection:
        resource = self._registry.stored(*DEFINITIONS)
        assert resource is not None, "every server has definitions"
        return resource.collection

    def _first(self, _change: Change) -> None:
        del self._collection.listeners[self._first]
        self._wanted.set()

    async def _begun(self) -> Definitions:
        """The definitions, started; whoever asks meanwhile waits for that."""
        async with self._beginning:
            if self._definitions is None:
                from mockkube.apiserver.custom.definitions import Definitions

                definitions = Definitions(self._registry)
                await definitions.start()
                self._definitions = definitions
                self._wanted.set()
            return self._definitions
