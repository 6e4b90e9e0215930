"""Legacy token secrets: fill new ones with a token, delete them with their service account.

Upstream the tokens controller of the controller manager does this. Here the server does, because it has the key and
the certificate, and works whatever controllers run.
"""

# upstream 1.36: pkg/controller/serviceaccount/tokens_controller.go

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import Conflict, NotFound
from mockkube.api.kinds.core.secret import SERVICE_ACCOUNT_NAME_ANNOTATION
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.authentication.legacy_tokens import TOKEN, kept_token
from mockkube.apiserver.identity.user import ALL_AUTHENTICATED, InvalidCredentials, User
from mockkube.apiserver.post_start_hooks.rounds import Rounds
from mockkube.apiserver.registry import deletion, updating
from mockkube.apiserver.registry.bootstrap import APISERVER, MANAGER
from mockkube.apiserver.registry.cache import Change, ChangeType, Record
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

TYPE: Final = "kubernetes.io/service-account-token"
SERVICE_ACCOUNT_UID: Final = "kubernetes.io/service-account.uid"
LAST_USED: Final = "kubernetes.io/legacy-token-last-used"
_AGENT: Final = "kube-controller-manager"
_CONTROLLER: Final = User("system:kube-controller-manager", groups=(ALL_AUTHENTICATED,))
_OPTIONS: Final = WriteOptions(field_manager=_AGENT)


class LegacyTokens:
    """Controller of legacy token secrets. `authority` is a PEM certificate, or empty."""

    def __init__(self, registry: Registry, authority: str = "") -> None:
        self._registry = registry
        self._authority = authority
        clock = registry.services.clock
        bad = registry.services.cache.bad
        self.secrets = Rounds(self._ensure, clock, bad)
        self.references = Rounds(self._forget, clock, bad)
        self.uses = Rounds(self._note, clock, bad)

    def start(self) -> None:
        """Follow secrets and service accounts, and queue the existing secrets."""
        secrets, accounts = self._stored("secrets").collection, self._stored("serviceaccounts").collection
        secrets.listeners[self._secret_changed] = None
        accounts.listeners[self._account_changed] = None
        for record in secrets.records.values():
            if record.fields.get("type") == TYPE:
                self.secrets.add(f"{record.namespace}/{record.name}")

    def stop(self) -> None:
        """Stop following secrets and service accounts."""
        self._stored("secrets").collection.listeners.pop(self._secret_changed, None)
        self._stored("serviceaccounts").collection.listeners.pop(self._account_changed, None)

    def used(self, namespace: str, name: str) -> None:
        """Queue recording that the token of a secret was used today."""
        record = self._stored("secrets").record(namespace, name)
        # The label holds a date, so each secret is written at most once a day.
        if record is not None and record.labels.get(LAST_USED) != self._today():
            self.uses.add(f"{namespace}/{name}")

    def _stored(self, plural: str) -> Resource:
        resource = self._registry.stored("", plural)
        assert resource is not None, f"every server has {plural}"
        return resource

    def _today(self) -> str:
        return f"{self._registry.services.clock.now():%Y-%m-%d}"

    def _secret_changed(self, change: Change) -> None:
        record = change.record
        if record.fields.get("type") != TYPE:
            return
        if change.type is ChangeType.DELETED:
            account = _account_of(record.load())
            self.references.add(_Reference(record.namespace, record.name, account))
        else:
            self.secrets.add(f"{record.namespace}/{record.name}")

    def _account_changed(self, change: Change) -> None:
        if change.type is ChangeType.DELETED:
            self.secrets.add(*self._secrets_of(change.record.namespace, change.record.name))

    def _secrets_of(self, namespace: str, account: str) -> Iterator[str]:
        secrets = self._stored("secrets")
        for record in secrets.collection.range(secrets.key(namespace, "")):
            if record.fields.get("type") == TYPE and _names(record, account):
                yield f"{namespace}/{record.name}"

    async def _ensure(self, key: str) -> None:
        """Fill the secret, or delete it if its service account is gone."""
        namespace, _, name = key.partition("/")
        record = self._stored("secrets").record(namespace, name)
        if record is None:
            return
        secret = record.load()
        wanted = _account_of(secret)
        if not wanted.name:
            return
        found = self._stored("serviceaccounts").record(namespace, wanted.name)
        account = None if found is None else found.load()
        # A new service account of the same name must not inherit the token of the old one.
        if account is None or wanted.uid not in ("", account["metadata"]["uid"]):
            await self._delete(secret)
        elif (filled := self._filled(secret, account))["data"] != (secret.get("data") or {}):
            await self._update("secrets", filled)

    def _filled(self, secret: Object, account: ReadOnlyObject) -> Object:
        metadata = secret["metadata"]
        data = dict(secret.get("data") or {})
        if self._authority:
            data["ca.crt"] = _encoded(self._authority)
        data["namespace"] = data.get("namespace") or _encoded(metadata["namespace"])
        if not self._good(secret):
            token = self._registry.services.accounts.issue_legacy(account, metadata["name"])
            data[TOKEN] = _encoded(token)
        own = account["metadata"]
        account_annotations = {SERVICE_ACCOUNT_NAME_ANNOTATION: own["name"], SERVICE_ACCOUNT_UID: own["uid"]}
        annotations = {**(metadata.get("annotations") or {}), **account_annotations}
        return {**secret, "metadata": {**metadata, "annotations": annotations}, "data": data}

    def _good(self, secret: ReadOnlyObject) -> bool:
        """Return whether the token of the secret was issued by this server since its last start."""
        # differs: the keys of a server end with it, upstream's are in a file
        token = kept_token(secret)
        try:
            return bool(token) and self._registry.services.accounts.claims(token.decode("utf-8", "replace")) is not None
        except InvalidCredentials:
            return False

    async def _delete(self, secret: ReadOnlyObject) -> None:
        metadata = secret["metadata"]
        scope = Call(_CONTROLLER, metadata["namespace"], metadata["name"], user_agent=_AGENT)
        try:
            await deletion.delete(self._stored("secrets"), scope, DeleteOptions(uid=metadata["uid"]))
        except (NotFound, Conflict):
            return  # it is gone, or another of that name has come

    async def _forget(self, reference: "_Reference") -> None:
        """Remove a deleted secret from the list of its service account."""
        record = self._stored("serviceaccounts").record(reference.namespace, reference.account.name)
        account = None if record is None else record.load()
        if account is None or reference.account.uid not in ("", account["metadata"]["uid"]):
            return
        kept = [one for one in account.get("secrets") or () if one.get("name") != reference.secret]
        if kept != (account.get("secrets") or []):
            await self._update("serviceaccounts", {**account, "secrets": kept})

    async def _update(self, plural: str, obj: Object) -> None:
        metadata = obj["metadata"]
        scope = Call(_CONTROLLER, metadata["namespace"], metadata["name"], user_agent=_AGENT)
        storage = self._stored(plural)
        try:
            await updating.replace(storage, scope, storage.decode(obj, scope, "Ignore"), _OPTIONS)
        except (NotFound, Conflict):
            return  # whoever was faster has caused another look at it

    async def _note(self, key: str) -> None:
        """Label the secret with the date of its last use."""
        namespace, _, name = key.partition("/")
        scope = Call(APISERVER, namespace, name, user_agent=MANAGER)
        today = self._today()

        def labelled(current: Object) -> Object:
            metadata = current["metadata"]
            labels = {**(metadata.get("labels") or {}), LAST_USED: today}
            return {**current, "metadata": {**metadata, "labels": labels}}

        try:
            await updating.update(self._stored("secrets"), scope, labelled, WriteOptions(field_manager=MANAGER))
        except (NotFound, Conflict):
            return


@dataclass(frozen=True, slots=True)
class _Account:
    """Service account that a secret names; the uid is empty if the secret does not name it."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class _Reference:
    """Secret that a service account may list."""

    namespace: str
    secret: str
    account: _Account


def _names(record: Record, account: str) -> bool:
    annotations = (record.load().get("metadata") or {}).get("annotations")
    return isinstance(annotations, dict) and annotations.get(SERVICE_ACCOUNT_NAME_ANNOTATION) == account


def _account_of(secret: ReadOnlyObject) -> _Account:
    annotations = secret["metadata"].get("annotations") or {}
    return _Account(annotations.get(SERVICE_ACCOUNT_NAME_ANNOTATION, ""), annotations.get(SERVICE_ACCOUNT_UID, ""))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
