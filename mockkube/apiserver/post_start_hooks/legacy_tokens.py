"""Legacy token secrets: fill new ones with a token, delete them with their service account.

Upstream the tokens controller of the controller manager does this. Here the server does, because it has the key and
the certificate, and works whatever controllers run.
"""

# upstream 1.36: pkg/controller/serviceaccount/tokens_controller.go

import base64
from collections.abc import Iterator
from typing import Final

from mockkube.api.errors import Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.secret import SERVICE_ACCOUNT_NAME_ANNOTATION
from mockkube.apiserver.authentication.legacy_tokens import TOKEN_KEY, read_token
from mockkube.apiserver.identity.user import ALL_AUTHENTICATED, InvalidCredentials, User
from mockkube.apiserver.post_start_hooks.retry_queue import RetryQueue
from mockkube.apiserver.registry import deletion, updating
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, FIELD_MANAGER
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeType
from mockkube.lazy_dataclasses import dataclass

TOKEN_SECRET_TYPE: Final = "kubernetes.io/service-account-token"  # noqa: S105
SERVICE_ACCOUNT_UID_ANNOTATION: Final = "kubernetes.io/service-account.uid"
LAST_USED_LABEL: Final = "kubernetes.io/legacy-token-last-used"
_MANAGER_NAME: Final = "kube-controller-manager"
_CONTROLLER_USER: Final = User("system:kube-controller-manager", groups=(ALL_AUTHENTICATED,))
_OPTIONS: Final = WriteOptions(field_manager=_MANAGER_NAME)


class LegacyTokenController:
    """Controller of legacy token secrets. `authority` is a PEM certificate, or empty."""

    def __init__(self, registry: Registry, authority: str = "") -> None:
        self._registry = registry
        self._authority = authority
        clock = registry.dependencies.clock
        bad = registry.dependencies.watch_cache.bad_objects
        self.secret_queue = RetryQueue(self._sync_secret, clock, bad)
        self.reference_queue = RetryQueue(self._remove_reference, clock, bad)
        self.use_queue = RetryQueue(self._label_last_use, clock, bad)

    def start(self) -> None:
        """Follow secrets and service accounts, and queue the existing secrets."""
        secrets, accounts = (
            self._storage_resource("secrets").collection,
            self._storage_resource("serviceaccounts").collection,
        )
        secrets.listeners[self._on_secret_change] = False
        accounts.listeners[self._on_account_change] = False
        for cached in secrets.objects.values():
            if cached.fields.get("type") == TOKEN_SECRET_TYPE:
                self.secret_queue.add(f"{cached.namespace}/{cached.name}")

    def stop(self) -> None:
        """Stop following secrets and service accounts."""
        self._storage_resource("secrets").collection.listeners.pop(self._on_secret_change, None)
        self._storage_resource("serviceaccounts").collection.listeners.pop(self._on_account_change, None)

    def record_use(self, namespace: str, name: str) -> None:
        """Queue recording that the token of a secret was used today."""
        cached = self._storage_resource("secrets").get_cached(namespace, name)
        # The label holds a date, so each secret is written at most once a day.
        if cached is not None and cached.labels.get(LAST_USED_LABEL) != self._today():
            self.use_queue.add(f"{namespace}/{name}")

    def _storage_resource(self, plural: str) -> Resource:
        resource = self._registry.find_storage_resource("", plural)
        assert resource is not None, f"every server has {plural}"
        return resource

    def _today(self) -> str:
        return f"{self._registry.dependencies.clock.now():%Y-%m-%d}"

    def _on_secret_change(self, change: CacheChange) -> None:
        cached = change.object
        if cached.fields.get("type") != TOKEN_SECRET_TYPE:
            return
        if change.type is ChangeType.DELETED:
            account = _account_ref(cached.load())
            self.reference_queue.add(_SecretReference(cached.namespace, cached.name, account))
        else:
            self.secret_queue.add(f"{cached.namespace}/{cached.name}")

    def _on_account_change(self, change: CacheChange) -> None:
        if change.type is ChangeType.DELETED:
            self.secret_queue.add(*self._find_secrets(change.object.namespace, change.object.name))

    def _find_secrets(self, namespace: str, account: str) -> Iterator[str]:
        secrets = self._storage_resource("secrets")
        for cached in secrets.collection.range(secrets.key(namespace, "")):
            if cached.fields.get("type") == TOKEN_SECRET_TYPE and _names_account(cached, account):
                yield f"{namespace}/{cached.name}"

    async def _sync_secret(self, key: str) -> None:
        """Fill the secret, or delete it if its service account is gone."""
        namespace, _, name = key.partition("/")
        cached = self._storage_resource("secrets").get_cached(namespace, name)
        if cached is None:
            return
        secret = cached.load()
        wanted = _account_ref(secret)
        if not wanted.name:
            return
        found = self._storage_resource("serviceaccounts").get_cached(namespace, wanted.name)
        account = None if found is None else found.load()
        # A new service account of the same name must not inherit the token of the old one.
        if account is None or wanted.uid not in ("", account["metadata"]["uid"]):
            await self._delete(secret)
        elif (filled := self._fill(secret, account))["data"] != (secret.get("data") or {}):
            await self._update("secrets", filled)

    def _fill(self, secret: Object, account: ReadOnlyObject) -> Object:
        metadata = secret["metadata"]
        data = dict(secret.get("data") or {})
        if self._authority:
            data["ca.crt"] = _encode(self._authority)
        data["namespace"] = data.get("namespace") or _encode(metadata["namespace"])
        if not self._has_valid_token(secret):
            token = self._registry.dependencies.token_issuer.issue_legacy(account, metadata["name"])
            data[TOKEN_KEY] = _encode(token)
        own = account["metadata"]
        account_annotations = {SERVICE_ACCOUNT_NAME_ANNOTATION: own["name"], SERVICE_ACCOUNT_UID_ANNOTATION: own["uid"]}
        annotations = {**(metadata.get("annotations") or {}), **account_annotations}
        return {**secret, "metadata": {**metadata, "annotations": annotations}, "data": data}

    def _has_valid_token(self, secret: ReadOnlyObject) -> bool:
        """Return whether the token of the secret was issued by this server since its last start."""
        # differs: the keys of a server end with it, upstream's are in a file
        token = read_token(secret)
        try:
            return (
                bool(token)
                and self._registry.dependencies.token_issuer.verify(token.decode("utf-8", "replace")) is not None
            )
        except InvalidCredentials:
            return False

    async def _delete(self, secret: ReadOnlyObject) -> None:
        metadata = secret["metadata"]
        scope = RequestScope(_CONTROLLER_USER, metadata["namespace"], metadata["name"], user_agent=_MANAGER_NAME)
        try:
            await deletion.delete(self._storage_resource("secrets"), scope, DeleteOptions(uid=metadata["uid"]))
        except (NotFound, Conflict):
            return  # it is gone, or another of that name has come

    async def _remove_reference(self, reference: "_SecretReference") -> None:
        """Remove a deleted secret from the list of its service account."""
        cached = self._storage_resource("serviceaccounts").get_cached(reference.namespace, reference.account.name)
        account = None if cached is None else cached.load()
        if account is None or reference.account.uid not in ("", account["metadata"]["uid"]):
            return
        kept = [one for one in account.get("secrets") or () if one.get("name") != reference.secret]
        if kept != (account.get("secrets") or []):
            await self._update("serviceaccounts", {**account, "secrets": kept})

    async def _update(self, plural: str, obj: Object) -> None:
        metadata = obj["metadata"]
        scope = RequestScope(_CONTROLLER_USER, metadata["namespace"], metadata["name"], user_agent=_MANAGER_NAME)
        storage_resource = self._storage_resource(plural)
        try:
            await updating.replace(storage_resource, scope, storage_resource.decode(obj, scope, "Ignore"), _OPTIONS)
        except (NotFound, Conflict):
            return  # another writer changed it; its event queues the key again

    async def _label_last_use(self, key: str) -> None:
        """Label the secret with the date of its last use."""
        namespace, _, name = key.partition("/")
        scope = RequestScope(APISERVER_USER, namespace, name, user_agent=FIELD_MANAGER)
        today = self._today()

        def add_label(current: Object) -> Object:
            metadata = current["metadata"]
            labels = {**(metadata.get("labels") or {}), LAST_USED_LABEL: today}
            return {**current, "metadata": {**metadata, "labels": labels}}

        try:
            await updating.update(
                self._storage_resource("secrets"), scope, add_label, WriteOptions(field_manager=FIELD_MANAGER)
            )
        except (NotFound, Conflict):
            return


@dataclass(frozen=True, slots=True)
class _AccountRef:
    """Service account that a secret names; the uid is empty if the secret does not name it."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class _SecretReference:
    """Secret that a service account may list."""

    namespace: str
    secret: str
    account: _AccountRef


def _names_account(cached: CachedObject, account: str) -> bool:
    annotations = (cached.load().get("metadata") or {}).get("annotations")
    return isinstance(annotations, dict) and annotations.get(SERVICE_ACCOUNT_NAME_ANNOTATION) == account


def _account_ref(secret: ReadOnlyObject) -> _AccountRef:
    annotations = secret["metadata"].get("annotations") or {}
    return _AccountRef(
        annotations.get(SERVICE_ACCOUNT_NAME_ANNOTATION, ""), annotations.get(SERVICE_ACCOUNT_UID_ANNOTATION, "")
    )


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
