"""Identity lease of an API server, and garbage collection of the leases of stopped servers."""

# upstream 1.36: pkg/controlplane/apiserver/server.go, component-helpers/apimachinery/lease/controller.go,
# pkg/controlplane/controller/apiserverleasegc
import base64
import hashlib
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors

from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.api.json_objects import Object
from mockkube.api.kinds.coordination.lease import is_expired
from mockkube.api.times import render_micro_time
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, FIELD_MANAGER
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource

NAMESPACE: Final = "kube-system"
IDENTITY_LABEL: Final = "apiserver.kubernetes.io/identity"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
LEASE_SECONDS: Final = 3600
RENEW_SECONDS: Final = 10.0
COLLECT_SECONDS: Final = 3600.0
_JITTER: Final = 0.04
_COMPONENT: Final = "kube-apiserver"
_OPTIONS: Final = WriteOptions(field_manager=FIELD_MANAGER)
_LOG: Final = logging.getLogger("mockkube.apiserver")


def lease_name(identity: str) -> str:
    """Return the lease name of a server; identity is its host, and after a slash what distinguishes servers there."""
    parts = (part.encode() for part in (identity, _COMPONENT))
    # Like upstream's server id, each part is hashed with its length, so that different parts never run together.
    hashed = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
    digest = hashlib.sha256(hashed).digest()[:16]
    return f"apiserver-{base64.b32encode(digest).decode().rstrip('=').lower()}"


class IdentityLease:
    """Renews the lease of one server, and deletes expired leases."""

    def __init__(self, registry: Registry, identity: str) -> None:
        """Set up the lease of a server; identity is its host, and after a slash what distinguishes servers there."""
        self._registry = registry
        self._host = identity.partition("/")[0]
        self._name = lease_name(identity)
        self._holder = f"{self._name}_{registry.dependencies.random.new_uid()}"

    async def renew(self) -> None:
        """Renew the lease; create it if it is missing."""
        spec = {"holderIdentity": self._holder, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": self._now()}
        scope = RequestScope(APISERVER_USER, NAMESPACE, self._name, user_agent=FIELD_MANAGER)
        try:
            await updating.update(self._leases, scope, lambda now: self._with_renewal(now, spec), _OPTIONS)
        except NotFound:
            await self._create(spec)

    async def delete_expired(self) -> None:
        """Delete the leases of servers that have expired."""
        storage_resource = self._leases
        for cached in tuple(storage_resource.collection.range(storage_resource.key(NAMESPACE, ""))):
            if cached.labels.get(IDENTITY_LABEL) == _COMPONENT and self._is_expired(cached):
                try:
                    scope = RequestScope(APISERVER_USER, NAMESPACE, cached.name, user_agent=FIELD_MANAGER)
                    await deletion.delete(storage_resource, scope, DeleteOptions())
                except NotFound:
                    continue

    def _is_expired(self, cached: CachedObject) -> bool:
        dependencies = self._registry.dependencies
        ask = partial(is_expired, cached.load(), dependencies.clock.now())
        return dependencies.watch_cache.bad_objects.attempt(
            "IdentityLease", "leases", cached.display_name, ask, otherwise=False
        )

    async def run_renewal(self) -> None:
        """Renew the lease until cancelled."""
        dependencies = self._registry.dependencies
        while True:
            await self._try(self.renew)
            await dependencies.clock.sleep(RENEW_SECONDS * (1 + dependencies.random.generator.random() * _JITTER))

    async def run_garbage_collection(self) -> None:
        """Delete expired leases until cancelled."""
        while True:
            await self._try(self.delete_expired)
            await self._registry.dependencies.clock.sleep(COLLECT_SECONDS)

    @property
    def _leases(self) -> Resource:
        resource = self._registry.find_storage_resource("coordination.k8s.io", "leases")
        assert resource is not None, "every server has leases"
        return resource

    def _now(self) -> str:
        return render_micro_time(self._registry.dependencies.clock.now())

    def _with_renewal(self, current: Object, spec: Object) -> Object:
        metadata = current["metadata"]
        labels = {**(metadata.get("labels") or {}), **self._labels()}
        return {**current, "metadata": {**metadata, "labels": labels}, "spec": {**current["spec"], **spec}}

    def _labels(self) -> dict[str, str]:
        return {IDENTITY_LABEL: _COMPONENT, HOSTNAME_LABEL: self._host}

    async def _create(self, spec: Object) -> None:
        scope = RequestScope(APISERVER_USER, NAMESPACE, user_agent=FIELD_MANAGER)
        obj = {"metadata": {"name": self._name, "labels": self._labels()}, "spec": spec}
        try:
            await creation.create(self._leases, scope, self._leases.decode(obj, scope, "Ignore"), _OPTIONS)
        except AlreadyExists:
            return  # the next renewal finds it

    async def _try(self, call: Callable[[], Awaitable[None]]) -> None:
        """Call the function; log an error, as the next period tries again."""
        try:
            await call()
        except (ApiError, store_errors.Unavailable) as error:
            _LOG.warning("lease %s: %s", self._name, error)
        except Exception as error:
            self._registry.dependencies.watch_cache.bad_objects.record_failure(
                "IdentityLease", "leases", f"{NAMESPACE}/{self._name}", error
            )
