"""Templates of stores after the first start of an API server, copied into the stores of new clusters."""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from mockkube_storage.engines.memory import MemoryStore

from mockkube.cluster.components import Settings
from mockkube.cluster.servers import Surroundings, build_api_server
from mockkube.runtime.chance import Random

Image = tuple[tuple[str, bytes], ...]
_IMAGES_MAX: Final = 64


class Images:
    """Templates by the settings of the API server that wrote them."""

    def __init__(self) -> None:
        self._kept: dict[object, Image] = {}

    async def of(self, around: Surroundings) -> Image:
        """Return the template for a server with these dependencies; create it if needed."""
        key = _key(around.settings), around.configuration.enable_admission_plugins, around.clock.now()
        template = self._kept.get(key)
        if template is None:
            if len(self._kept) >= _IMAGES_MAX:
                self._kept.pop(next(iter(self._kept)))
            template = self._kept[key] = await _made(around)
        return template


def _key(settings: Settings) -> object:
    return settings.version, tuple(sorted(settings.feature_gates.items())), settings.trains


async def _made(around: Surroundings) -> Image:
    store = MemoryStore()
    await store.start()
    server = build_api_server(replace(around, store=store, chance=Random.from_seed("image", "cluster")))
    try:
        await server.start()
        await around.clock.sleep(0)
        api_server = server.whole
        # Tasks of the server write after its start, too (post-start hooks): the store is read when they are done.
        while api_server is not None and api_server.busy:
            await api_server.registry.services.cache.reach(store.revision)
            await around.clock.sleep(0)
        page = await store.list("")
        return tuple((entry.key, entry.value) for entry in page.entries)
    finally:
        await server.stop()
        await store.close()


@lru_cache(maxsize=1)
def images() -> Images:
    """Return the templates of this process."""
    return Images()
