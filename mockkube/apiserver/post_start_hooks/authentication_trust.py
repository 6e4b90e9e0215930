"""Keep the ConfigMap `extension-apiserver-authentication`, by which aggregated servers authenticate clients."""

# upstream 1.36: pkg/controlplane/controller/clusterauthenticationtrust
from collections.abc import Mapping
from typing import Final

import orjson

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object
from mockkube.apiserver.post_start_hooks.retry_queue import RetryQueue
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, FIELD_MANAGER
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.watch_cache import CacheChange

NAMESPACE: Final = "kube-system"
NAME: Final = "extension-apiserver-authentication"
_OPTIONS: Final = WriteOptions(field_manager=FIELD_MANAGER)


def front_proxy_data(authority: str, name: str) -> dict[str, str]:
    """Return the entries about the front proxy: its CA, its name, and the headers in which it passes users on."""
    headers = {
        "requestheader-allowed-names": [name],
        "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
        "requestheader-group-headers": ["X-Remote-Group"],
        "requestheader-username-headers": ["X-Remote-User"],
    }
    encoded = {key: orjson.dumps(values).decode() for key, values in headers.items()}
    return {**encoded, "requestheader-client-ca-file": authority}


class AuthenticationTrustController:
    """Controller that keeps the published entries; other keys of the ConfigMap are not changed."""

    def __init__(self, registry: Registry, data: Mapping[str, str]) -> None:
        self._registry = registry
        self._data = dict(data)
        self.queue = RetryQueue(
            self._ensure, registry.dependencies.clock, registry.dependencies.watch_cache.bad_objects
        )

    async def start(self) -> None:
        """Publish the entries, and follow the ConfigMap from now on."""
        if self._data:
            self._config_maps.collection.listeners[self._on_change] = None
            try:
                await self._ensure(NAME)
            # A rejected write is a fault of the start itself. Anything else comes from a malformed stored object, which
            # must not keep the server from starting.
            except ApiError:
                raise
            except Exception:
                self.queue.add(NAME)  # where it fails again, for all to see

    def stop(self) -> None:
        """Stop following the ConfigMap."""
        self._config_maps.collection.listeners.pop(self._on_change, None)

    @property
    def _config_maps(self) -> Resource:
        resource = self._registry.find_storage_resource("", "configmaps")
        assert resource is not None, "every server has config maps"
        return resource

    def _on_change(self, change: CacheChange) -> None:
        if (change.object.namespace, change.object.name) == (NAMESPACE, NAME):
            self.queue.add(NAME)

    async def _ensure(self, name: str) -> None:
        cached = self._config_maps.get_cached(NAMESPACE, name)
        try:
            if cached is None:
                await self._create()
            elif self._with_published_data(obj := cached.load()) != obj:
                scope = RequestScope(APISERVER_USER, NAMESPACE, name, user_agent=FIELD_MANAGER)
                await updating.update(self._config_maps, scope, self._with_published_data, _OPTIONS)
        except (NotFound, Conflict, AlreadyExists):
            return  # another writer changed it; its event queues the key again

    async def _create(self) -> None:
        scope = RequestScope(APISERVER_USER, NAMESPACE, user_agent=FIELD_MANAGER)
        obj = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "data": self._data}
        await creation.create(self._config_maps, scope, self._config_maps.decode(obj, scope, "Ignore"), _OPTIONS)

    def _with_published_data(self, current: Object) -> Object:
        return {**current, "data": {**(current.get("data") or {}), **self._data}}
