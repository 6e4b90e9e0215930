"""Templates of stores after the first start of an API server, copied into the stores of new clusters."""

from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.store import Store

from mockkube.api.times import render_time
from mockkube.cluster.api_servers.api_server import ApiServerDependencies, build_api_server
from mockkube.cluster.api_servers.credentials import Credentials
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.configuration.values import VIRTUAL_CLOCK
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import EPOCH, VirtualClock

StoreTemplate = tuple[tuple[str, bytes], ...]
_TEMPLATES_MAX: Final = 64
# Times in templates; the day is that of the ConfigMap that tracks legacy tokens.
_TEMPLATE_TIME: Final = f'"{render_time(EPOCH)}"'.encode()
_TEMPLATE_DAY: Final = f'"{EPOCH:%Y-%m-%d}"'.encode()


class StoreTemplates:
    """Templates by the settings of the API server that wrote them."""

    def __init__(self) -> None:
        self._templates: dict[object, StoreTemplate] = {}

    async def fill_store(self, store: Store, dependencies: ApiServerDependencies) -> None:
        """Write what the first start of a server with these dependencies would write, as of now, to an empty store."""
        template = await self._get_template(dependencies)
        for key, value in _set_times(template, dependencies.clock.now()):
            await store.create(key, value)

    async def _get_template(self, dependencies: ApiServerDependencies) -> StoreTemplate:
        """Return the template for a server with these dependencies; create it if needed."""
        configuration = dependencies.configuration
        key = (
            _make_key(dependencies.settings),
            configuration.enable_admission_plugins,
            configuration.disable_admission_plugins,
            tuple(sorted(configuration.runtime_config.items())),
            configuration.serves_resource_metrics,
            _read_authorities(dependencies.credentials),
        )
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) >= _TEMPLATES_MAX:
                self._templates.pop(next(iter(self._templates)))
            template = self._templates[key] = await _make_template(dependencies)
        return template


def _make_key(settings: ComponentSettings) -> object:
    return settings.version, tuple(sorted(settings.feature_gates.items())), settings.trains


def _read_authorities(credentials: Credentials) -> tuple[str, ...]:
    """Return the CA certificates, which ConfigMaps of the cluster contain."""
    files = credentials.certificates
    return () if files is None else (files.authority.read_text(), files.front_proxy_authority.read_text())


async def _make_template(dependencies: ApiServerDependencies) -> StoreTemplate:
    store = MemoryStore()
    await store.start()
    # In virtual time, where a server has no lease, and all times are the same.
    clock = VirtualClock(EPOCH)
    server = build_api_server(
        replace(
            dependencies,
            store=store,
            clock=clock,
            configuration=replace(dependencies.configuration, clock=VIRTUAL_CLOCK),
            random=Random.from_seed("image", "cluster"),
        )
    )
    try:
        await server.start()
        await clock.sleep(0)
        api_server = server.api_server
        # Tasks of the server write after its start, too (post-start hooks): the store is read when they are done.
        while api_server is not None and api_server.busy:
            await api_server.registry.dependencies.watch_cache.wait_until_at(store.revision)
            await clock.sleep(0)
        page = await store.list("")
        return tuple((entry.key, entry.value) for entry in page.entries)
    finally:
        await server.stop()
        await store.close()


def _set_times(template: StoreTemplate, now: datetime) -> StoreTemplate:
    """Return a template with the times of a server that starts now."""
    if now == EPOCH:
        return template
    # As text: decoding and encoding all objects would take as long as the rest of a start.
    time, day = f'"{render_time(now)}"'.encode(), f'"{now:%Y-%m-%d}"'.encode()
    return tuple((key, value.replace(_TEMPLATE_TIME, time).replace(_TEMPLATE_DAY, day)) for key, value in template)


@lru_cache(maxsize=1)
def get_store_templates() -> StoreTemplates:
    """Return the templates of this process."""
    return StoreTemplates()
