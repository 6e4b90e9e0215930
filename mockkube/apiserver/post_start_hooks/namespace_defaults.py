"""Defaults of every namespace: service account `default` and ConfigMap `kube-root-ca.crt`.

Upstream two controllers of the controller manager create them. A pod cannot be created before they exist, so here the
server does it, whatever controllers run.
"""

from typing import Final

from mockkube.api.errors import NAMESPACE_TERMINATING, AlreadyExists, Conflict, Forbidden, NotFound
from mockkube.api.json_objects import Object
from mockkube.apiserver.identity.user import ALL_AUTHENTICATED, User
from mockkube.apiserver.post_start_hooks.retry_queue import RetryQueue
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeListener, ChangeType, Collection
from mockkube.matching.namespace_defaults import ROOT_CA, SERVICE_ACCOUNT, has_certificate, with_certificate

_OPTIONS: Final = WriteOptions(field_manager="kube-controller-manager")
_CONTROLLER_GROUPS: Final = ("system:serviceaccounts", "system:serviceaccounts:kube-system", ALL_AUTHENTICATED)


def _controller_user(controller: str) -> User:
    return User(f"system:serviceaccount:kube-system:{controller}", groups=_CONTROLLER_GROUPS)


_ACCOUNT_CONTROLLER: Final = _controller_user("service-account-controller")
_PUBLISHER: Final = _controller_user("root-ca-cert-publisher")


class NamespaceDefaults:
    """Controller of the namespace defaults. `authority` is a PEM certificate, or empty."""

    # upstream 1.36: pkg/controller/serviceaccount, pkg/controller/certificates/rootcacertpublisher

    def __init__(self, registry: Registry, authority: str = "") -> None:
        self._registry = registry
        self._authority = authority
        dependencies = registry.dependencies
        self._queue: RetryQueue[str] = RetryQueue(self.sync, dependencies.clock, dependencies.watch_cache.bad_objects)

    async def sync(self, namespace: str) -> None:
        """Create what an active namespace lacks, and update the certificate."""
        cached = self._storage_resource("namespaces").get_cached("", namespace)
        if cached is None or cached.fields.get("status.phase") != "Active":
            return
        if self._storage_resource("serviceaccounts").get_cached(namespace, SERVICE_ACCOUNT) is None:
            await self._create(
                "serviceaccounts", _ACCOUNT_CONTROLLER, namespace, {"metadata": {"name": SERVICE_ACCOUNT}}
            )
        await self._publish_root_ca(namespace)

    async def run(self) -> None:
        """Reconcile all namespaces, then new ones and those that lost an object, until cancelled."""
        namespaces, accounts = (
            self._storage_resource("namespaces").collection,
            self._storage_resource("serviceaccounts").collection,
        )
        maps = self._storage_resource("configmaps").collection
        self._queue.add(*(cached.name for cached in namespaces.objects.values()))
        listeners: tuple[tuple[Collection, ChangeListener], ...] = (
            (namespaces, self._on_namespace_change),
            (accounts, self._on_account_change),
            (maps, self._on_config_map_change),
        )
        for collection, listener in listeners:
            collection.listeners[listener] = False
        try:
            await self._queue.run()
        finally:
            for collection, listener in listeners:
                del collection.listeners[listener]

    @property
    def is_busy(self) -> bool:
        """True if it runs, and a namespace is queued or being processed."""
        return self._queue.is_busy

    def _on_namespace_change(self, change: CacheChange) -> None:
        if change.type is not ChangeType.DELETED:
            self._queue.add(change.object.name)

    def _on_account_change(self, change: CacheChange) -> None:
        # Only deletions matter: the contents of a service account belong to its users.
        if change.type is ChangeType.DELETED and change.object.name == SERVICE_ACCOUNT:
            self._queue.add(change.object.namespace)

    def _on_config_map_change(self, change: CacheChange) -> None:
        if change.type is not ChangeType.ADDED and change.object.name == ROOT_CA:
            self._queue.add(change.object.namespace)

    def _storage_resource(self, plural: str) -> Resource:
        resource = self._registry.find_storage_resource("", plural)
        assert resource is not None, f"every server has {plural}"
        return resource

    async def _publish_root_ca(self, namespace: str) -> None:
        cached = self._storage_resource("configmaps").get_cached(namespace, ROOT_CA)
        if cached is None:
            config_map = with_certificate({"metadata": {"name": ROOT_CA}}, self._authority)
            await self._create("configmaps", _PUBLISHER, namespace, config_map)
        elif not has_certificate(cached.load(), self._authority):
            await self._update_root_ca(namespace)

    async def _create(self, plural: str, user: User, namespace: str, obj: Object) -> None:
        resource = self._storage_resource(plural)
        scope = RequestScope(user, namespace, user_agent="kube-controller-manager")
        try:
            await creation.create(resource, scope, resource.decode(obj, scope, "Ignore"), _OPTIONS)
        except (AlreadyExists, NotFound):
            return  # it was created meanwhile, or the namespace is gone
        except Forbidden as error:
            # What a quota forbids is tried again, as upstream.
            if not error.has_cause(NAMESPACE_TERMINATING):
                raise

    async def _update_root_ca(self, namespace: str) -> None:
        scope = RequestScope(_PUBLISHER, namespace, ROOT_CA, user_agent="kube-controller-manager")

        def correct(current: Object) -> Object:
            return with_certificate(current, self._authority)

        try:
            await updating.update(self._storage_resource("configmaps"), scope, correct, _OPTIONS)
        except (NotFound, Conflict):
            return  # another writer changed it; its event queues the namespace again
