"""Lazy CRD controller: load the code for custom resources with the first CRD."""

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
    """CRD controller that is created with the first CRD."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._definitions: Definitions | None = None
        self._beginning = asyncio.Lock()
        self._wanted = asyncio.Event()

    @property
    def busy(self) -> bool:
        """True if a CRD is queued or being processed."""
        return self._wanted.is_set() if self._definitions is None else self._definitions.busy

    def published(self) -> Mapping[GroupVersionKind, ReadOnlyObject]:
        """Return the OpenAPI schemas of the served versions."""
        return {} if self._definitions is None else self._definitions.published()

    async def start(self) -> None:
        """Serve the existing CRDs, or wait for the first one."""
        if self._collection.records:
            await self._begun()
        else:
            self._collection.listeners[self._first] = None

    async def ensure(self, name: str) -> None:
        """Reconcile one CRD: accept its names and serve it, or finalize it."""
        await (await self._begun()).ensure(name)

    async def run(self) -> None:
        """Reconcile changed CRDs until cancelled."""
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
        """Return the controller, started; concurrent callers wait for its start."""
        async with self._beginning:
            if self._definitions is None:
                # Imported late: most clusters of tests have no CRDs, and CEL takes long to import.
                from mockkube.apiserver.custom.definitions import Definitions

                definitions = Definitions(self._registry)
                await definitions.start()
                self._definitions = definitions
                self._wanted.set()
            return self._definitions
