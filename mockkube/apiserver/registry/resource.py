"""A served resource: one kind at one version, with all that reading and writing it needs.

Verbs live beside it, one module each: creation, updating, deletion, listing, watching. They take a `Resource` and a
`Call` and speak of objects, records and errors; nothing here knows HTTP.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mockkube_storage.model import Entry
from mockkube_storage.store import Store

from mockkube.api import complaints, conversions
from mockkube.api.catalogue import KindInfo
from mockkube.api.codec import Codec, Found, Mismatch
from mockkube.api.documents import NO_REPEATS, Repeats
from mockkube.api.errors import ApiError, BadRequest
from mockkube.api.kind import Kind
from mockkube.api.printers.plain import CREATED
from mockkube.api.printers.table import Printer
from mockkube.api.protobuf.envelope import Protobuf
from mockkube.api.schema import Node
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry import webhook_calls as webhook_calls
from mockkube.apiserver.registry.admission import Admission
from mockkube.apiserver.registry.allocators import Allocators
from mockkube.apiserver.registry.authorizer import Decision
from mockkube.apiserver.registry.cache import Cache, Collection, Index, Record, labels_of
from mockkube.apiserver.registry.scaling import Scaling
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.heavy_work import HeavyWork, InlineWork

if TYPE_CHECKING:
    from mockkube.apiserver.registry.authorizer import Attributes
    from mockkube.apiserver.registry.tracking import Trackers

T = TypeVar("T")
PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
    "application/strategic-merge-patch+json",
)
_NOBODY: Final = Decision(allowed=False)
_ETCD_FOLDERS: Final = {
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "ingresses": "ingress",
}


@dataclass(slots=True)
class Call:
    """One request, as the registry sees it. Warnings gather in it on the way."""

    user: User
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user_agent: str = ""
    size: int = 0
    """How many bytes were sent."""
    warnings: list[str] = field(default_factory=list)
    forgets_managers: bool = False
    """The client sent an empty list of managedFields."""
    given: Any = None
    """What the object was decoded from: tells an empty map from none, which once decoded are one."""

    def warn(self, texts: Iterable[str]) -> None:
        """Add warnings, each once."""
        self.warnings += [text for text in dict.fromkeys(texts) if text not in self.warnings]


@dataclass(slots=True)
class Services:
    """What every resource of one API server shares."""

    store: Store
    cache: Cache
    clock: Clock
    chance: Chance
    caps: Capabilities
    codec: Codec
    protobuf: Protobuf
    admission: Admission
    allocators: Allocators
    accounts: TokenIssuer
    trackers: Trackers
    find: Callable[[str, str], Resource | None]
    """The resource of a group and plural, in its storage version."""
    of_kind: Callable[[str, str], Resource | None]
    """The served resource of an apiVersion and a kind."""
    equivalents: Callable[[Resource], Sequence[Resource]]
    """The served versions of what a resource stores."""
    namespace_created: Callable[[str], Awaitable[None]] | None = None
    """What is awaited before the creation of a namespace is answered."""
    definition_created: Callable[[str], Awaitable[None]] | None = None
    """The same for a definition of custom resources."""
    service_stored: Callable[[ReadOnlyObject | None, ReadOnlyObject | None], Awaitable[None]] | None = None
    """What is awaited before the write of a service is answered, with what it is now and was."""
    authorize: Callable[[Attributes], Decision] = lambda asked: _NOBODY
    """Who may do what, where a plugin asks."""
    runs: Callable[[str], bool] = lambda component: False
    """Whether another component of the cluster runs, by its name."""
    heavy: HeavyWork = field(default_factory=InlineWork)
    """Where what takes long is done."""
    call_webhook: webhook_calls.Call = webhook_calls.nobody
    """How a webhook is reached, by who admits or converts."""

    def namespace_labels(self, name: str) -> ReadOnlyObject | None:
        """The labels of a namespace; None of one that is not there."""
        namespaces = self.find("", "namespaces")
        record = namespaces.record("", name) if namespaces is not None else None
        return None if record is None else record.labels


class Resource:
    """One kind at one version. `home` is the same kind in the version it is stored in; often itself."""

    open_kind = False
    """Whether reading takes an object of another kind, which validation then refuses."""
    patch_types: tuple[str, ...] = PATCHES
    scaling = Scaling()
    converted = False
    """Whether a server elsewhere converts its versions."""
    tabular = True
    """Whether tables show it: not what only answers."""
    whole_items = False
    """Whether the items of a list name their kind and version each."""

    def __init__(
        self,
        kind: KindInfo,
        version: str,
        node: Node,
        strategy: Callable[[], Strategy],
        services: Services,
        load: Callable[[], Kind] | None = None,
    ) -> None:
        self.kind = kind
        self.group = kind.group
        self.plural = kind.plural
        self.version = version
        self.api_version = f"{kind.group}/{version}" if kind.group else version
        self.node = node
        self._make_strategy = strategy
        self._load = load
        self.services = services
        self.home: Resource = self
        self.head = encoding.head(kind.kind, self.api_version)
        self.tag = f"{services.caps.version}{services.codec.schema.overlay_digest}".encode()
        self._decode = services.codec.decoder(node)

    @cached_property
    def strategy(self) -> Strategy:
        """The rules of the kind; read when the first object of it comes by."""
        return self._make_strategy()

    @cached_property
    def default(self) -> Callable[[Object, Capabilities], None] | None:
        """Defaulting function of the version, if it has one."""
        return None if self._load is None else self._load().defaults.get(self.version)

    @cached_property
    def stamp(self) -> Callable[[Object, datetime], None] | None:
        """Function that fills in the present time, if the version has one."""
        return None if self._load is None else self._load().stamps.get(self.version)

    @cached_property
    def printer(self) -> Printer:
        """Printer of the kind's tables."""
        return CREATED if self._load is None else self._load().printer

    @cached_property
    def collection(self) -> Collection:
        """What is stored of this kind."""
        group, plural = self.home.group or "core", self.home.plural
        return self.services.cache.collection(f"{group}/{plural}", self.home.read_entry)

    def key(self, namespace: str, name: str) -> str:
        """Where an object lies in the store."""
        folder = self.collection.prefix
        return f"{folder}{namespace}/{name}" if self.kind.namespaced else f"{folder}{name}"

    def prefix(self, namespace: str) -> str:
        """Where the objects of a namespace lie, or all of them."""
        folder = self.collection.prefix
        return f"{folder}{namespace}/" if namespace and self.kind.namespaced else folder

    def etcd_key(self, namespace: str, name: str) -> str:
        """The key a real API server would name in a message."""
        folder = f"/registry/{_ETCD_FOLDERS.get(self.plural, self.plural)}"
        return f"{folder}/{namespace}/{name}" if self.kind.namespaced else f"{folder}/{name}"

    def judge(self, subresource: str = "", *, user: User | None = None) -> Judge:
        """What a strategy may know of this moment."""
        services = self.services
        requester = {} if user is None else user.info()
        return Judge(services.caps, services.clock.now(), subresource, services.namespace_labels, requester)

    def record(self, namespace: str, name: str) -> Record | None:
        """The stored object, as far as this server has seen the store."""
        return self.collection.records.get(self.key(namespace, name))

    # Reading what is stored

    async def to_stored(self, obj: Object) -> bytes:
        """The bytes to store for an object of the storage version; StorageTooLarge if there are too many."""
        value = encoding.to_stored(obj, self.tag)
        check = partial(encoding.check_size, value, partial(self._message_size, obj, len(value)))
        return await self.services.heavy.run(len(value), check)

    def _message_size(self, obj: Object, size: int) -> int:
        """How large upstream's storage would find the object, of which the JSON has this size."""
        protobuf = self.services.protobuf
        speaks = not self.open_kind and protobuf.speaks(self.api_version, self.kind.kind)
        return len(protobuf.write(obj)) if speaks else size

    def read_entry(self, entry: Entry) -> Record:  # hot: every write, and every object at the start
        """Make a record of a stored entry; what another version wrote is decoded as this version knows it."""
        tag, body = encoding.read_stored(entry.value, entry.revision)
        if tag == self.tag and body.startswith(self.head):
            return self._record(entry.key, entry.revision, body)
        try:
            revised = encoding.dumps(encoding.ordered(self.revise(encoding.loads(body))))
        except Exception:  # nobody of ours wrote it: it is served as far as it can be, so that it can be deleted
            return self._record(entry.key, entry.revision, self._salvage(entry, body))
        return self._record(entry.key, entry.revision, revised, foreign=revised != body)

    def _salvage(self, entry: Entry, body: bytes) -> bytes:
        """Return the JSON of an object of this kind, whatever is stored: at least its name."""
        namespace, _, name = entry.key[len(self.collection.prefix) :].rpartition("/")
        try:
            given: Any = encoding.loads(body)
        except ValueError:
            given = {}
        obj: Object = dict(given) if isinstance(given, dict) else {}
        metadata = obj.get("metadata")
        named = {"name": name, "resourceVersion": str(entry.revision)} | ({"namespace": namespace} if namespace else {})
        obj["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), **named}
        return encoding.dumps(encoding.ordered({**obj, "kind": self.kind.kind, "apiVersion": self.api_version}))

    def rewritten(self, record: Record, obj: Object) -> Record:
        """Make a record of what this version makes of another record's object."""
        return self._record(record.key, record.revision, encoding.dumps(encoding.ordered(obj)), foreign=True)

    def _record(self, key: str, revision: int, body: bytes, *, foreign: bool = False) -> Record:
        namespace, _, name = key[len(self.collection.prefix) :].rpartition("/")
        if not body.startswith(self.head):  # a definition may have been given another kind than its objects have
            renamed = {**encoding.loads(body), "kind": self.kind.kind, "apiVersion": self.api_version}
            body, foreign = encoding.dumps(encoding.ordered(renamed)), True
        tail = body[len(self.head) :]
        return Record(key, name, namespace, revision, self.head, tail, self.index, foreign=foreign)

    def index(self, obj: ReadOnlyObject) -> Index:
        """What selectors look at in an object of this kind."""
        metadata = obj["metadata"]
        fields = dict(self.strategy.fields(obj))
        fields["metadata.name"] = metadata["name"]
        if self.kind.namespaced:
            fields["metadata.namespace"] = metadata.get("namespace", "")
        return Index(labels_of(obj), fields)

    def revise(self, obj: Object) -> Object:
        """What this version makes of an object another one wrote: unknown fields are lost, defaults filled in."""
        found = Found()
        revised: Object = self._decode(obj, found)
        if self.default is not None:
            self.default(revised, self.services.caps)
        return revised

    # Between this version and the stored one

    def stored(self, obj: Object) -> Object:
        """An object of this version, in the storage version."""
        return obj if self.home is self else conversions.convert(obj, self.api_version, self.home.api_version)

    def served(self, obj: Object) -> Object:
        """A stored object, in this version. Belongs to the caller."""
        return obj if self.home is self else conversions.convert(obj, self.home.api_version, self.api_version)

    def tail(self, record: Record) -> bytes:
        """The JSON of a record in this version, without kind and apiVersion."""
        if self.home is self:
            return record.tail
        return encoding.dumps(encoding.ordered(self.served(record.load())))[len(self.head) :]

    def body(self, record: Record) -> bytes:
        """The JSON of a record in this version."""
        return self.head + self.tail(record)

    # Where a server elsewhere converts versions, it is asked before what is below needs another one

    async def seen(self, record: Record) -> Record:
        """The record in a form of which `served` makes an object of this version."""
        return record

    async def all_seen(self, records: Sequence[Record], *, anew: bool = False) -> Sequence[Record]:
        """The same of many; `anew`: as they are converted now, not when they were first seen."""
        return records

    async def laid_down(self, obj: Object) -> Object:
        """What was judged, in the form in which it is stored."""
        return obj

    async def decided(self, decide: Callable[[], T], size: int = 0) -> T:
        """What `decide` returns, which may be called more than once: until all it converts is known.

        It works on objects of so many bytes.
        """
        return await self.services.heavy.run(size, decide)

    def judged(self, obj: Object) -> Object:
        """An object that another version made for the store, in the form in which this one judges."""
        return obj

    def unknown_fields(self, value: Any) -> list[str]:
        """Paths of the fields of a value that this version does not have."""
        return list(complaints.unknown_fields(self.node, value))

    def decode(self, value: Any, call: Call, validation: str, repeats: Repeats = NO_REPEATS) -> Object:
        """Decode, prune and default a request's value; the object is in this version.

        Unknown fields, and those that stand more than once, are refused, told of or passed over as `validation` says.
        """
        found = Found()
        try:
            obj: Object = self._decode(value, found)
        except Mismatch as error:
            raise BadRequest(self.cannot_handle(value, complaints.mismatch(self.node, value))) from error
        if found.unknown or repeats:
            self._report(value, call, validation, repeats)
        call.forgets_managers, call.given = empties_managers(value), value
        self.complete(obj)
        return obj

    def complete(self, obj: Object) -> None:
        """Name the kind of a decoded object and fill in its defaults."""
        obj["kind"], obj["apiVersion"] = self.kind.kind, self.api_version
        if self.default is not None:
            self.default(obj, self.services.caps)
        if self.stamp is not None:
            self.stamp(obj, self.services.clock.now())

    def cannot_handle(self, value: Any, why: str, version: str = "") -> str:
        """The message for a body that is not an object of this kind, or not of this version."""
        given = (value.get("kind") if isinstance(value, dict) else None) or self.kind.kind
        return f'{given} in version "{version or self.version}" cannot be handled as a {self.kind.kind}: {why}'

    def _report(self, value: Any, call: Call, validation: str, repeats: Repeats) -> None:
        if validation == "Ignore":
            return
        unknown = self.unknown_fields(value)
        if validation == "Strict":
            why = repeats.told_at_once(unknown, typed=True)
            raise BadRequest(self.cannot_handle(value, f"strict decoding error: {why}"))
        call.warn(repeats.told(unknown, typed=True))


def empties_managers(value: Any) -> bool:
    """Whether a client's object asks to forget who manages what: decoding drops the empty list that says so."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


def result_without_reason(code: int, message: str) -> ApiError:
    """An error upstream answers as plain text: a status without a reason."""
    error = ApiError(message)
    error.code, error.reason = code, ""
    return error


@contextmanager
def bare_version_error() -> Iterator[None]:
    """Word a resourceVersion that is no number as reads of one object and watches do: bare, as a server's failure."""
    prefix = "invalid resource version: "
    try:
        yield
    except BadRequest as error:
        if not error.message.startswith(prefix):
            raise
        raise result_without_reason(500, error.message.removeprefix(prefix)) from error


def spec_equal(new: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    """Whether nothing but the resourceVersion differs."""
    ignored = {"resourceVersion": ""}
    return {**new, "metadata": {**new["metadata"], **ignored}} == {**old, "metadata": {**old["metadata"], **ignored}}
