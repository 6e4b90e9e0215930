"""Lazy CRD controller: load the code for custom resources with the first CRD."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.apiserver.registry.creation import CRDS
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.watch_cache import CacheChange, Collection

if TYPE_CHECKING:
    from mockkube.apiserver.custom.crd_controller import CrdController


class LazyCrdController:
    """CRD controller that is created with the first CRD."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._controller: CrdController | None = None
        self._start_lock = asyncio.Lock()
        self._has_crds = asyncio.Event()

    @property
    def is_busy(self) -> bool:
        """True if a CRD is queued or being processed."""
        return self._has_crds.is_set() if self._controller is None else self._controller.is_busy

    def openapi_schemas(self) -> Mapping[GroupVersionKind, ReadOnlyObject]:
        """Return the OpenAPI schemas of the served versions."""
        return {} if self._controller is None else self._controller.openapi_schemas()

    async def start(self) -> None:
        """Serve the existing CRDs, or wait for the first one."""
        if self._collection.objects:
            await self._get_controller()
        else:
            self._collection.listeners[self._on_first_crd] = False

    async def sync(self, name: str) -> None:
        """Reconcile one CRD: accept its names and serve it, or finalize it."""
        await (await self._get_controller()).sync(name)

    async def run(self) -> None:
        """Reconcile changed CRDs until cancelled."""
        await self._has_crds.wait()
        await (await self._get_controller()).run()

    @property
    def _collection(self) -> Collection:
        resource = self._registry.find_storage_resource(*CRDS)
        assert resource is not None, "every server has definitions"
        return resource.collection

    def _on_first_crd(self, _change: CacheChange) -> None:
        del self._collection.listeners[self._on_first_crd]
        self._has_crds.set()

    async def _get_controller(self) -> CrdController:
        """Return the controller, started; concurrent callers wait for its start."""
        async with self._start_lock:
            if self._controller is None:
                # Imported late: most clusters of tests have no CRDs, and CEL takes long to import.
                from mockkube.apiserver.custom.crd_controller import CrdController

                definitions = CrdController(self._registry)
                await definitions.start()
                self._controller = definitions
                self._has_crds.set()
            return self._controller
