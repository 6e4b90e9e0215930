"""Keep the ConfigMap `extension-apiserver-authentication`, by which aggregated servers authenticate clients."""

# upstream 1.36: pkg/controlplane/controller/clusterauthenticationtrust
from datetime import datetime, timedelta
from typing import Final

import orjson

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object
from mockkube.apiserver.identity.request_header_options import RequestHeaderOptions
from mockkube.apiserver.post_start_hooks.retry_queue import RetryQueue
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, FIELD_MANAGER
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.watch_cache import CacheChange

NAMESPACE: Final = "kube-system"
NAME: Final = "extension-apiserver-authentication"
_CLIENT_CA: Final = "client-ca-file"
_REQUEST_HEADER_CA: Final = "requestheader-client-ca-file"
_BUNDLES: Final = (_CLIENT_CA, _REQUEST_HEADER_CA)
_UIDS: Final = "requestheader-uid-headers"
# Entries that are JSON lists.
_LISTS: Final = (
    "requestheader-username-headers",
    _UIDS,
    "requestheader-group-headers",
    "requestheader-extra-headers-prefix",
    "requestheader-allowed-names",
)
# Clocks of servers may differ.
_EXPIRED_SLACK: Final = timedelta(minutes=5)
_OPTIONS: Final = WriteOptions(field_manager=FIELD_MANAGER)


def render_request_header(options: RequestHeaderOptions) -> dict[str, str]:
    """Return the entries about an authenticating proxy: its CA, its names, and the headers that name users."""
    lists = {
        "requestheader-allowed-names": options.allowed_names,
        "requestheader-extra-headers-prefix": options.extra_prefixes,
        "requestheader-group-headers": options.group_headers,
        _UIDS: options.uid_headers,
        "requestheader-username-headers": options.username_headers,
    }
    encoded = {name: orjson.dumps(values).decode() for name, values in lists.items()}
    return {**encoded, _REQUEST_HEADER_CA: options.authority.decode()}


def combine_certificates(current: str, own: str, now: datetime) -> str:
    """Return the certificates of both bundles that have not expired, each once; ValueError if one is malformed."""
    if not current or not own or current == own:
        return own or current
    from cryptography import x509  # 50 ms, for servers whose certificates have changed
    from cryptography.hazmat.primitives.serialization import Encoding

    certificates = x509.load_pem_x509_certificates(f"{current}\n{own}".encode())
    valid = [one for one in certificates if one.not_valid_after_utc > now - _EXPIRED_SLACK]
    return "".join(one.public_bytes(Encoding.PEM).decode() for one in dict.fromkeys(valid))


class AuthenticationTrustController:
    """Controller that adds what this server trusts to the ConfigMap, which other servers write, too."""

    def __init__(self, registry: Registry, authority: str, request_header: RequestHeaderOptions | None) -> None:
        self._registry = registry
        self._own = {_CLIENT_CA: authority} if authority else {}
        if request_header is not None:
            self._own |= render_request_header(request_header)
        with_uids = registry.dependencies.capabilities.enabled("RemoteRequestHeaderUID")
        self._lists = tuple(name for name in _LISTS if with_uids or name != _UIDS)
        self.queue = RetryQueue(
            self._ensure, registry.dependencies.clock, registry.dependencies.watch_cache.bad_objects
        )

    async def start(self) -> None:
        """Publish the entries, and follow the ConfigMap from now on."""
        if self._own:
            self._config_maps.collection.listeners[self._on_change] = False
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
            elif self._combine(obj := cached.load()) != obj:
                scope = RequestScope(APISERVER_USER, NAMESPACE, name, user_agent=FIELD_MANAGER)
                await updating.update(self._config_maps, scope, self._combine, _OPTIONS)
        except (NotFound, Conflict, AlreadyExists):
            return  # another writer changed it; its event queues the key again

    async def _create(self) -> None:
        scope = RequestScope(APISERVER_USER, NAMESPACE, user_agent=FIELD_MANAGER)
        obj = self._combine({"metadata": {"name": NAME, "namespace": NAMESPACE}})
        await creation.create(self._config_maps, scope, self._config_maps.decode(obj, scope, "Ignore"), _OPTIONS)

    def _combine(self, current: Object) -> Object:
        """Return the ConfigMap with what other servers and this one trust, and nothing else."""
        data, now = current.get("data") or {}, self._registry.dependencies.clock.now()
        combined = {name: combine_certificates(data.get(name, ""), self._own.get(name, ""), now) for name in _BUNDLES}
        if combined[_REQUEST_HEADER_CA]:
            combined |= {name: _combine_lists(data.get(name, ""), self._own.get(name, "")) for name in self._lists}
        if combined.get(_UIDS) == _combine_lists("", ""):
            del combined[_UIDS]
        return {**current, "data": {name: value for name, value in combined.items() if value}}


def _combine_lists(current: str, own: str) -> str:
    """Return the values of two JSON lists, each once."""
    return orjson.dumps(list(dict.fromkeys([*orjson.loads(current or "[]"), *orjson.loads(own or "[]")]))).decode()
