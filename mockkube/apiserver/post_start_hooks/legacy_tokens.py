"""Secrets that keep a service account's token: filled when they are made, deleted when the account is gone.

Upstream a controller of the controller manager sees to it. Here the server does, which has the key and the certificate,
whatever controllers run.
"""

# upstream 1.36: pkg/controller/serviceaccount/tokens_controller.go

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import Conflict, NotFound
from mockkube.api.kinds.core.secret import SERVICE_ACCOUNT_NAME
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
    """Keeps secrets of that type. `authority` is a PEM certificate, or empty."""

    def __init__(self, registry: Registry, authority: str = "") -> None:
        self._registry = registry
        self._authority = authority
        clock = registry.services.clock
        bad = registry.services.cache.bad
        self.secrets = Rounds(self._ensure, clock, bad)
        self.references = Rounds(self._forget, clock, bad)
        self.uses = Rounds(self._note, clock, bad)

    def start(self) -> None:
        """Follow secrets and accounts, and see to the secrets there are."""
        secrets, accounts = self._stored("secrets").collection, self._stored("serviceaccounts").collection
        secrets.listeners[self._secret_changed] = None
        accounts.listeners[self._account_changed] = None
        for record in secrets.records.values():
            if record.fields.get("type") == TYPE:
                self.secrets.add(f"{record.namespace}/{record.name}")

    def stop(self) -> None:
        """Follow no longer."""
        self._stored("secrets").collection.listeners.pop(self._secret_changed, None)
        self._stored("serviceaccounts").collection.listeners.pop(self._account_changed, None)

    def used(self, namespace: str, name: str) -> None:
        """Have it noted that the token of a secret was used today."""
        record = self._stored("secrets").record(namespace, name)
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
        """Fill a secret, or delete it."""
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
        told = {SERVICE_ACCOUNT_NAME: own["name"], SERVICE_ACCOUNT_UID: own["uid"]}
        annotations = {**(metadata.get("annotations") or {}), **told}
        return {**secret, "metadata": {**metadata, "annotations": annotations}, "data": data}

    def _good(self, secret: ReadOnlyObject) -> bool:
        """Whether it keeps a token that this server, perhaps started anew since, knows."""
        # differs: the keys of a server end with it, upstream's are in a file
        token = kept_token(secret)
        try:
            return bool(token) and self._registry.services.accounts.claims(token.decode("utf-8", "replace")) is not None
        except InvalidCredentials:
            return False

    async def _delete(self, secret: ReadOnlyObject) -> None:
        metadata = secret["metadata"]
        call = Call(_CONTROLLER, metadata["namespace"], metadata["name"], user_agent=_AGENT)
        try:
            await deletion.delete(self._stored("secrets"), call, DeleteOptions(uid=metadata["uid"]))
        except (NotFound, Conflict):
            return  # it is gone, or another of that name has come

    async def _forget(self, reference: "_Reference") -> None:
        """Take a secret that is gone out of its account."""
        record = self._stored("serviceaccounts").record(reference.namespace, reference.account.name)
        account = None if record is None else record.load()
        if account is None or reference.account.uid not in ("", account["metadata"]["uid"]):
            return
        kept = [one for one in account.get("secrets") or () if one.get("name") != reference.secret]
        if kept != (account.get("secrets") or []):
            await self._update("serviceaccounts", {**account, "secrets": kept})

    async def _update(self, plural: str, obj: Object) -> None:
        metadata = obj["metadata"]
        call = Call(_CONTROLLER, metadata["namespace"], metadata["name"], user_agent=_AGENT)
        home = self._stored(plural)
        try:
            await updating.replace(home, call, home.decode(obj, call, "Ignore"), _OPTIONS)
        except (NotFound, Conflict):
            return  # whoever was faster has caused another look at it

    async def _note(self, key: str) -> None:
        """Label a secret with the day."""
        namespace, _, name = key.partition("/")
        call = Call(APISERVER, namespace, name, user_agent=MANAGER)
        today = self._today()

        def labelled(current: Object) -> Object:
            metadata = current["metadata"]
            labels = {**(metadata.get("labels") or {}), LAST_USED: today}
            return {**current, "metadata": {**metadata, "labels": labels}}

        try:
            await updating.update(self._stored("secrets"), call, labelled, WriteOptions(field_manager=MANAGER))
        except (NotFound, Conflict):
            return


@dataclass(frozen=True, slots=True)
class _Account:
    """Whose token a secret is to keep, as it says, whatever that is; the uid is empty where it does not."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class _Reference:
    """A secret that an account may list."""

    namespace: str
    secret: str
    account: _Account


def _names(record: Record, account: str) -> bool:
    annotations = (record.load().get("metadata") or {}).get("annotations")
    return isinstance(annotations, dict) and annotations.get(SERVICE_ACCOUNT_NAME) == account


def _account_of(secret: ReadOnlyObject) -> _Account:
    annotations = secret["metadata"].get("annotations") or {}
    return _Account(annotations.get(SERVICE_ACCOUNT_NAME, ""), annotations.get(SERVICE_ACCOUNT_UID, ""))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
