"""Defaults of every namespace: service account `default` and ConfigMap `kube-root-ca.crt`.

Upstream two controllers of the controller manager create them. A pod cannot be created before they exist, so here the
server does it, whatever controllers run.
"""

import asyncio
import logging
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from mockkube.api.types import Object
from mockkube.apiserver.identity.user import ALL_AUTHENTICATED, User
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.cache import Change, ChangeType, Collection, Listener, Record
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

ACCOUNT: Final = "default"
ROOT_CA: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = "kubernetes.io/description"
_TEXT: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
_LOG: Final = logging.getLogger("mockkube.apiserver")
_OPTIONS: Final = WriteOptions(field_manager="kube-controller-manager")
_ACCOUNTS: Final = ("system:serviceaccounts", "system:serviceaccounts:kube-system", ALL_AUTHENTICATED)


def _user(controller: str) -> User:
    return User(f"system:serviceaccount:kube-system:{controller}", groups=_ACCOUNTS)


_ACCOUNT_MAKER: Final = _user("service-account-controller")
_PUBLISHER: Final = _user("root-ca-cert-publisher")


class Accounts:
    """Controller of the namespace defaults. `authority` is a PEM certificate, or empty."""

    # upstream 1.36: pkg/controller/serviceaccount, pkg/controller/certificates/rootcacertpublisher

    def __init__(self, registry: Registry, authority: str = "") -> None:
        self._registry = registry
        self._authority = authority
        self._pending: dict[str, None] = {}
        self._running = False
        self._wake = asyncio.Event()

    async def ensure(self, namespace: str) -> None:
        """Create what an active namespace lacks, and update the certificate."""
        record = self._stored("namespaces").record("", namespace)
        if record is None or record.fields.get("status.phase") != "Active":
            return
        if self._stored("serviceaccounts").record(namespace, ACCOUNT) is None:
            await self._create("serviceaccounts", _ACCOUNT_MAKER, namespace, {"metadata": {"name": ACCOUNT}})
        await self._publish(namespace)

    async def run(self) -> None:
        """Reconcile all namespaces, then new ones and those that lost an object, until cancelled."""
        namespaces, accounts = self._stored("namespaces").collection, self._stored("serviceaccounts").collection
        maps = self._stored("configmaps").collection
        self._pending.update((record.name, None) for record in namespaces.records.values())
        self._wake.set()
        self._running = True
        heeded: tuple[tuple[Collection, Listener], ...] = (
            (namespaces, self._namespace_changed),
            (accounts, self._account_changed),
            (maps, self._map_changed),
        )
        for collection, listener in heeded:
            collection.listeners[listener] = None
        try:
            while True:
                await self._wake.wait()
                await self.step()
        finally:
            self._running = False
            for collection, listener in heeded:
                del collection.listeners[listener]

    def is_ready(self) -> bool:
        """Return whether a namespace is queued."""
        return bool(self._pending)

    @property
    def busy(self) -> bool:
        """True if it runs, and a namespace is queued or being processed."""
        return self._running and self._wake.is_set()

    async def step(self) -> None:
        """Reconcile one namespace."""
        namespace = next(iter(self._pending), None)
        if namespace is not None:
            del self._pending[namespace]
            try:
                await self.ensure(namespace)
            except ApiError as error:
                _LOG.warning("namespace %s: %s", namespace, error)
            except Exception as error:  # what is stored in one namespace must not take the server down
                self._registry.services.cache.bad.record_failure("Accounts", "namespaces", namespace, error)
        if not self._pending:
            self._wake.clear()

    def _remember(self, namespace: str) -> None:
        self._pending[namespace] = None
        self._wake.set()

    def _namespace_changed(self, change: Change) -> None:
        if change.type is not ChangeType.DELETED:
            self._remember(change.record.name)

    def _account_changed(self, change: Change) -> None:
        # Only deletions matter: the contents of a service account belong to its users.
        if change.type is ChangeType.DELETED and change.record.name == ACCOUNT:
            self._remember(change.record.namespace)

    def _map_changed(self, change: Change) -> None:
        if change.type is not ChangeType.ADDED and change.record.name == ROOT_CA:
            self._remember(change.record.namespace)

    def _stored(self, plural: str) -> Resource:
        resource = self._registry.stored("", plural)
        assert resource is not None, f"every server has {plural}"
        return resource

    async def _publish(self, namespace: str) -> None:
        record = self._stored("configmaps").record(namespace, ROOT_CA)
        data = {"ca.crt": self._authority}
        if record is None:
            metadata = {"name": ROOT_CA, "annotations": {_DESCRIPTION: _TEXT}}
            await self._create("configmaps", _PUBLISHER, namespace, {"metadata": metadata, "data": data})
        elif _outdated(record, data):
            await self._correct(namespace, data)

    async def _create(self, plural: str, user: User, namespace: str, obj: Object) -> None:
        resource = self._stored(plural)
        scope = Call(user, namespace, user_agent="kube-controller-manager")
        try:
            await creation.create(resource, scope, resource.decode(obj, scope, "Ignore"), _OPTIONS)
        except (AlreadyExists, NotFound, Forbidden):
            # It was created meanwhile, or the namespace is being deleted, or a quota forbids it. differs: upstream
            # retries on exceeded quota; here only the next change of the namespace does.
            return

    async def _correct(self, namespace: str, data: Object) -> None:
        scope = Call(_PUBLISHER, namespace, ROOT_CA, user_agent="kube-controller-manager")

        def correct(current: Object) -> Object:
            annotations = {**current["metadata"].get("annotations", {}), _DESCRIPTION: _TEXT}
            return {**current, "metadata": {**current["metadata"], "annotations": annotations}, "data": data}

        try:
            await updating.update(self._stored("configmaps"), scope, correct, _OPTIONS)
        except (NotFound, Conflict):
            return  # whoever took it away or changed it has caused another look at it


def _outdated(record: Record, data: Object) -> bool:
    obj = record.load()
    described = (obj["metadata"].get("annotations") or {}).get(_DESCRIPTION)
    return obj.get("data", {}) != data or not described
