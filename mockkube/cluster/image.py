"""What a new cluster's store holds once its API server has started: made once, then copied into every new store."""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from mockkube_storage.engines.memory import MemoryStore

from mockkube.cluster.components import Settings
from mockkube.cluster.servers import Surroundings, build_api_server
from mockkube.runtime.chance import Chance

Image = tuple[tuple[str, bytes], ...]
_IMAGES_MAX: Final = 64


class Images:
    """Images by what the API server is told that made them."""

    def __init__(self) -> None:
        self._kept: dict[object, Image] = {}

    async def of(self, around: Surroundings) -> Image:
        """Return what a new store holds after the start of such a server."""
        key = _key(around.settings), around.configuration.enable_admission_plugins, around.clock.now()
        image = self._kept.get(key)
        if image is None:
            if len(self._kept) >= _IMAGES_MAX:
                self._kept.pop(next(iter(self._kept)))
            image = self._kept[key] = await _made(around)
        return image


def _key(settings: Settings) -> object:
    return settings.version, tuple(sorted(settings.feature_gates.items())), settings.trains


async def _made(around: Surroundings) -> Image:
    store = MemoryStore()
    await store.start()
    server = build_api_server(replace(around, store=store, chance=Chance.seeded("image", "cluster")))
    try:
        await server.start()
        await around.clock.sleep(0)
        whole = server.whole
        while whole is not None and whole.busy:
            await whole.registry.services.cache.reach(store.revision)
            await around.clock.sleep(0)
        page = await store.list("")
        return tuple((entry.key, entry.value) for entry in page.entries)
    finally:
        await server.stop()
        await store.close()


@lru_cache(maxsize=1)
def images() -> Images:
    """Return those of this process."""
    return Images()
