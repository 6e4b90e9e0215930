"""Keep the ConfigMap `extension-apiserver-authentication`, by which aggregated servers authenticate clients."""

# upstream 1.36: pkg/controlplane/controller/clusterauthenticationtrust
from collections.abc import Mapping
from typing import Final

import orjson

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from mockkube.api.types import Object
from mockkube.apiserver.post_start_hooks.rounds import Rounds
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.bootstrap import APISERVER, MANAGER
from mockkube.apiserver.registry.cache import Change
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

NAMESPACE: Final = "kube-system"
NAME: Final = "extension-apiserver-authentication"
_OPTIONS: Final = WriteOptions(field_manager=MANAGER)


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


class AuthenticationTrust:
    """Controller that keeps the published entries; other keys of the ConfigMap are not changed."""

    def __init__(self, registry: Registry, data: Mapping[str, str]) -> None:
        self._registry = registry
        self._data = dict(data)
        self.rounds = Rounds(self._ensure, registry.services.clock, registry.services.cache.bad)

    async def start(self) -> None:
        """Publish the entries, and follow the ConfigMap from now on."""
        if self._data:
            self._home.collection.listeners[self._changed] = None
            try:
                await self._ensure(NAME)
            # A rejected write is a fault of the start itself. Anything else comes from a malformed stored object, which
            # must not keep the server from starting.
            except ApiError:
                raise
            except Exception:
                self.rounds.add(NAME)  # where it fails again, for all to see

    def stop(self) -> None:
        """Stop following the ConfigMap."""
        self._home.collection.listeners.pop(self._changed, None)

    @property
    def _home(self) -> Resource:
        resource = self._registry.stored("", "configmaps")
        assert resource is not None, "every server has config maps"
        return resource

    def _changed(self, change: Change) -> None:
        if (change.record.namespace, change.record.name) == (NAMESPACE, NAME):
            self.rounds.add(NAME)

    async def _ensure(self, name: str) -> None:
        record = self._home.record(NAMESPACE, name)
        try:
            if record is None:
                await self._create()
            elif self._completed(obj := record.load()) != obj:
                scope = Call(APISERVER, NAMESPACE, name, user_agent=MANAGER)
                await updating.update(self._home, scope, self._completed, _OPTIONS)
        except (NotFound, Conflict, AlreadyExists):
            return  # whoever was faster has caused another look at it

    async def _create(self) -> None:
        scope = Call(APISERVER, NAMESPACE, user_agent=MANAGER)
        obj = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "data": self._data}
        await creation.create(self._home, scope, self._home.decode(obj, scope, "Ignore"), _OPTIONS)

    def _completed(self, current: Object) -> Object:
        return {**current, "data": {**(current.get("data") or {}), **self._data}}
