"""Templates of stores after the first start of an API server, copied into the stores of new clusters."""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from mockkube_storage.engines.memory import MemoryStore

from mockkube.cluster.api_servers.api_server import ApiServerDependencies, build_api_server
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.runtime.random import Random

StoreTemplate = tuple[tuple[str, bytes], ...]
_TEMPLATES_MAX: Final = 64


class StoreTemplates:
    """Templates by the settings of the API server that wrote them."""

    def __init__(self) -> None:
        self._templates: dict[object, StoreTemplate] = {}

    async def get_template(self, dependencies: ApiServerDependencies) -> StoreTemplate:
        """Return the template for a server with these dependencies; create it if needed."""
        key = (
            _make_key(dependencies.settings),
            dependencies.configuration.enable_admission_plugins,
            dependencies.clock.now(),
        )
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) >= _TEMPLATES_MAX:
                self._templates.pop(next(iter(self._templates)))
            template = self._templates[key] = await _make_template(dependencies)
        return template


def _make_key(settings: ComponentSettings) -> object:
    return settings.version, tuple(sorted(settings.feature_gates.items())), settings.trains


async def _make_template(dependencies: ApiServerDependencies) -> StoreTemplate:
    store = MemoryStore()
    await store.start()
    server = build_api_server(replace(dependencies, store=store, random=Random.from_seed("image", "cluster")))
    try:
        await server.start()
        await dependencies.clock.sleep(0)
        api_server = server.api_server
        # Tasks of the server write after its start, too (post-start hooks): the store is read when they are done.
        while api_server is not None and api_server.busy:
            await api_server.registry.dependencies.watch_cache.wait_until_at(store.revision)
            await dependencies.clock.sleep(0)
        page = await store.list("")
        return tuple((entry.key, entry.value) for entry in page.entries)
    finally:
        await server.stop()
        await store.close()


@lru_cache(maxsize=1)
def get_store_templates() -> StoreTemplates:
    """Return the templates of this process."""
    return StoreTemplates()
