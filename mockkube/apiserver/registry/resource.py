"""Resource: one kind at one version, with what reading and writing it needs.

Verbs live beside it, one module each: creation, updating, deletion, listing, watching. They take a `Resource` and a
`RequestScope` and deal in objects, cached objects and errors; nothing here knows HTTP.

upstream 1.36: apiserver/pkg/registry/generic/registry/store.go
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mockkube_storage.model import Entry
from mockkube_storage.store import Store

from mockkube.api import conversions
from mockkube.api.catalogue import KindInfo
from mockkube.api.decoding import decoding_errors
from mockkube.api.decoding.codec import Codec, Decoder, DecodingError, DecodingState
from mockkube.api.decoding.documents import NO_DUPLICATES, DuplicateFields
from mockkube.api.errors import ApiError, BadRequest, StorageTooLarge
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.default_printers import CREATED_AT_PRINTER
from mockkube.api.printers.table import Printer
from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.api.schema import TypeNode
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.apiserver.identity.service_account_tokens import TokenIssuer
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry import webhook_calls as webhook_calls
from mockkube.apiserver.registry.admission import Admission
from mockkube.apiserver.registry.authorizer import Decision
from mockkube.apiserver.registry.cached_object import CachedObject, ObjectAttributes, read_labels
from mockkube.apiserver.registry.etcd_layout import DIRECTORIES
from mockkube.apiserver.registry.scale_mapper import ScaleMapper
from mockkube.apiserver.registry.service_ip_allocator import ServiceIpAllocator
from mockkube.apiserver.registry.simulated_kubelets import SimulatedKubelets
from mockkube.apiserver.registry.upstream_values import decode_upstream_value, is_upstream_value
from mockkube.apiserver.registry.watch_cache import Collection, WatchCache
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.heavy_work import HeavyWorkRunner, InlineRunner
from mockkube.runtime.random import Random

if TYPE_CHECKING:
    from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
    from mockkube.apiserver.registry.managed_fields import ManagedFieldsUpdaters

T = TypeVar("T")
PATCH_TYPES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
    "application/strategic-merge-patch+json",
)
_DENIED: Final = Decision(allowed=False)


@dataclass(slots=True)
class RequestScope:
    """One request as the registry sees it; collects warnings for the response."""

    user: User
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user_agent: str = ""
    # Bytes of the request body, by which work is moved off the event loop.
    body_bytes: int = 0
    warnings: list[str] = field(default_factory=list)
    # The client sent an empty list of managedFields, which resets it.
    resets_managed_fields: bool = False
    # Value that the object was decoded from. It tells an empty map from an absent one, which decoding makes equal.
    decoded_from: Any = None
    # Raises Forbidden unless the user may create; set for updates and patches, which may turn out to create.
    authorize_creation: Callable[[], object] | None = None

    def warn(self, texts: Iterable[str]) -> None:
        """Add warnings, each once."""
        if texts:
            self.warnings += [text for text in dict.fromkeys(texts) if text not in self.warnings]


@dataclass(slots=True)
class RegistryDependencies:
    """Dependencies that all resources of one API server share."""

    store: Store
    watch_cache: WatchCache
    clock: Clock
    random: Random
    capabilities: Capabilities
    codec: Codec
    protobuf: ProtobufSerializer
    admission: Admission
    service_ip_allocator: ServiceIpAllocator
    token_issuer: TokenIssuer
    managed_fields_updaters: ManagedFieldsUpdaters
    find_storage_resource: Callable[[str, str], Resource | None]
    """Find the resource of a group and plural, in its storage version."""
    find_by_kind: Callable[[str, str], Resource | None]
    """Find the served resource of an apiVersion and a kind."""
    find_equivalents: Callable[[Resource], Sequence[Resource]]
    """Return the served resources that are stored as the same kind."""
    on_namespace_created: Callable[[str], Awaitable[None]] | None = None
    """Hook that is awaited before the creation of a namespace is answered."""
    on_crd_created: Callable[[str], Awaitable[None]] | None = None
    """Hook that is awaited before the creation of a CRD is answered."""
    on_service_stored: Callable[[ReadOnlyObject | None, ReadOnlyObject | None], Awaitable[None]] | None = None
    """Hook that is awaited before the write of a service is answered, with its new and old state."""
    authorize: Callable[[AuthorizationAttributes], Decision] = lambda attributes: _DENIED
    """Authorizer for admission plugins; denies everything by default."""
    is_component_running: Callable[[str], bool] = lambda component: False
    """Return whether another component of the cluster runs, by its name."""
    simulated_kubelets: SimulatedKubelets = field(default_factory=SimulatedKubelets)
    """Kubelets that answer for pods: exec, attach, port-forward and logs."""
    warnings: tuple[str, ...] = ()
    """Warnings in every response about these resources."""
    is_store_shared: bool = False
    """Whether API servers of other processes use the same store."""
    heavy_work: HeavyWorkRunner = field(default_factory=InlineRunner)
    """Runner of long computations, off the event loop where there are threads."""
    call_webhook: webhook_calls.WebhookCall = webhook_calls.refuse_webhook_call
    """Function that posts to webhooks, for admission and conversion."""

    def get_namespace_labels(self, name: str) -> ReadOnlyObject | None:
        """Return the labels of a namespace; None if it does not exist."""
        namespaces = self.find_storage_resource("", "namespaces")
        cached = namespaces.get_cached("", name) if namespaces is not None else None
        return None if cached is None else cached.labels


class Resource:
    """One kind at one version. `storage_resource` is the same kind in its storage version, often this very resource."""

    # Whether decoding accepts objects of another kind, which validation then rejects: custom resources are
    # unstructured.
    accepts_other_kinds = False
    patch_types: tuple[str, ...] = PATCH_TYPES
    scale_mapper = ScaleMapper()
    # Whether a webhook converts between its versions.
    uses_conversion_webhook = False
    # Whether it can be rendered as a Table; kinds that only answer a POST cannot.
    has_table = True
    # Whether every item of a list carries kind and apiVersion, as lists of unstructured objects do.
    items_have_kind = False

    def __init__(
        self,
        kind: KindInfo,
        version: str,
        get_node: Callable[[], TypeNode],
        strategy: Callable[[], Strategy],
        dependencies: RegistryDependencies,
        load: Callable[[], Kind] | None = None,
    ) -> None:
        self.kind = kind
        self.group = kind.group
        self.plural = kind.plural
        self.version = version
        self.api_version = f"{kind.group}/{version}" if kind.group else version
        self._get_node = get_node
        self._make_strategy = strategy
        self._load = load
        self.dependencies = dependencies
        self.storage_resource: Resource = self
        self.head = encoding.encode_head(kind.kind, self.api_version)
        self.tag = f"{dependencies.capabilities.version}{dependencies.codec.schema.overlay_digest}".encode()

    @cached_property
    def node(self) -> TypeNode:
        """Type of the kind in this version, built when its first object is handled."""
        return self._get_node()

    @cached_property
    def _decode(self) -> Decoder:
        return self.dependencies.codec.get_decoder(self.node)

    @property
    def has_status(self) -> bool:
        """True if objects of a built-in kind have a status in this version."""
        return self.dependencies.codec.schema.has_status(self.group, self.version, self.kind.kind)

    @cached_property
    def _stored_head(self) -> bytes:
        """Beginning of the values that this binary version stores."""
        return self.tag + b"\n" + self.head

    @cached_property
    def strategy(self) -> Strategy:
        """Strategy of the kind, built when its first object is handled."""
        return self._make_strategy()

    @cached_property
    def set_defaults(self) -> Callable[[Object, Capabilities], None] | None:
        """Function that sets the defaults of this version, if there is one."""
        return None if self._load is None else self._load().defaults.get(self.version)

    @cached_property
    def set_times(self) -> Callable[[Object, datetime], None] | None:
        """Function that sets fields to the present time, if the version has one."""
        return None if self._load is None else self._load().time_defaults.get(self.version)

    @cached_property
    def printer(self) -> Printer:
        """Printer of the kind's tables."""
        return CREATED_AT_PRINTER if self._load is None else self._load().printer

    @cached_property
    def collection(self) -> Collection:
        """Cached objects of this kind."""
        group, plural = self.storage_resource.group or "core", self.storage_resource.plural
        return self.dependencies.watch_cache.collection(f"{group}/{plural}", self.storage_resource.decode_entry)

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object in the store."""
        folder = self.collection.prefix
        return f"{folder}{namespace}/{name}" if self.kind.namespaced else f"{folder}{name}"

    def prefix(self, namespace: str) -> str:
        """Return the key prefix of the objects in a namespace, or of all."""
        folder = self.collection.prefix
        return f"{folder}{namespace}/" if namespace and self.kind.namespaced else folder

    def etcd_key(self, namespace: str, name: str) -> str:
        """Return the key that upstream's API server names in error messages."""
        folder = f"/registry/{DIRECTORIES.get(self.plural, self.plural)}"
        return f"{folder}/{namespace}/{name}" if self.kind.namespaced else f"{folder}/{name}"

    def strategy_context(
        self, subresource: str = "", *, user: User | None = None, metadata_is_valid: bool = False
    ) -> StrategyContext:
        """Return the context for the strategy's hooks at this moment."""
        dependencies = self.dependencies
        requester = {} if user is None else user.to_user_info()
        return StrategyContext(
            dependencies.capabilities,
            dependencies.clock.now(),
            subresource,
            dependencies.get_namespace_labels,
            requester,
            metadata_is_valid,
        )

    def get_cached(self, namespace: str, name: str) -> CachedObject | None:
        """Return the cached object; None if it does not exist as far as this server has read the store."""
        return self.collection.objects.get(self.key(namespace, name))

    # Reading what is stored

    async def encode_for_store(self, obj: Object) -> bytes:
        """Encode an object of the storage version for the store; raise StorageTooLarge if it is too large."""
        value = encoding.encode_stored(obj, self.tag)
        # Upstream limits what it stores, which takes long to compute, and is smaller than JSON.
        if len(value) > StorageTooLarge.BYTES_MAX:
            message_size = partial(self._message_size, obj, len(value))
            if (size := await self.dependencies.heavy_work.run(len(value), message_size)) > StorageTooLarge.BYTES_MAX:
                raise StorageTooLarge(size)
        return value

    async def store(
        self, obj: Object, write: Callable[[bytes], Awaitable[Entry]], *, waits_for_cache: bool = True
    ) -> Entry:
        """Encode an object of the storage version, write it, and return its entry.

        The watch cache has the object by then, unless `waits_for_cache` is False.
        """
        value = await self.encode_for_store(obj)
        collection = self.collection
        written = collection.written_attributes
        if any(collection.listeners.values()):
            written[id(value)] = self.get_attributes(obj)
        try:
            entry = await write(value)
            if not waits_for_cache:
                return entry
            # Clients may read their own write from the cache as soon as their request is answered.
            await self.dependencies.watch_cache.wait_until_at(entry.revision)
            return entry
        finally:
            if written:
                written.pop(id(value), None)

    def _message_size(self, obj: Object, size: int) -> int:
        """Return the size that upstream's storage would find: protobuf for built-in kinds, else JSON."""
        protobuf = self.dependencies.protobuf
        speaks = not self.accepts_other_kinds and protobuf.supports(self.api_version, self.kind.kind)
        return len(protobuf.encode(obj)) if speaks else size

    def decode_entry(self, entry: Entry) -> CachedObject:  # hot: every write, and every object at the start
        """Return a stored entry as a cached object; what another binary version wrote is decoded by this schema."""
        value, head = entry.value, self._stored_head
        # The tag names version and schema of the writer: equal tags mean that decoding would change nothing.
        if value.startswith(head) and (version_at := encoding.find_version(value, len(head))):
            namespace, _, name = entry.key[len(self.collection.prefix) :].rpartition("/")
            attributes = self.collection.written_attributes.get(id(value), self.get_attributes)
            return CachedObject(
                entry.key, name, namespace, entry.revision, self.head, value, attributes,
                tail_at=len(head), version_at=version_at,
            )  # fmt: skip
        if is_upstream_value(value):
            value = self._translate_upstream_value(value)
        tag, body = encoding.decode_stored(value, entry.revision)
        if tag == self.tag and body.startswith(self.head):
            return self._to_cached_object(entry.key, entry.revision, body)
        try:
            revised = encoding.dumps(encoding.order_fields(self.decode_foreign(encoding.loads(body))))
        except Exception:  # another program wrote it; it is served so that it can be deleted
            return self._to_cached_object(entry.key, entry.revision, self._salvage(entry, body))
        return self._to_cached_object(entry.key, entry.revision, revised, foreign=revised != body)

    def _translate_upstream_value(self, value: bytes) -> bytes:
        """Return what the real API server has stored as a value without a tag; empty if it cannot be decoded."""
        try:
            obj = decode_upstream_value(value, self.dependencies.protobuf, self.api_version)
        except Exception:  # anything may be stored; it is served so that it can be deleted
            return b""
        return b"\n" + encoding.dumps(obj)

    def _salvage(self, entry: Entry, body: bytes) -> bytes:
        """Return JSON of an object of this kind for an unreadable entry: at least its name."""
        namespace, _, name = entry.key[len(self.collection.prefix) :].rpartition("/")
        try:
            given: Any = encoding.loads(body)
        except ValueError:
            given = {}
        obj: Object = dict(given) if isinstance(given, dict) else {}
        metadata = obj.get("metadata")
        named = {"name": name, "resourceVersion": str(entry.revision)} | ({"namespace": namespace} if namespace else {})
        obj["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), **named}
        return encoding.dumps(encoding.order_fields({**obj, "kind": self.kind.kind, "apiVersion": self.api_version}))

    def with_object(self, cached: CachedObject, obj: Object) -> CachedObject:
        """Return a copy of a cached object with another content."""
        return self._to_cached_object(
            cached.key, cached.revision, encoding.dumps(encoding.order_fields(obj)), foreign=True
        )

    def _to_cached_object(self, key: str, revision: int, body: bytes, *, foreign: bool = False) -> CachedObject:
        namespace, _, name = key[len(self.collection.prefix) :].rpartition("/")
        if not body.startswith(self.head):  # the kind of a CRD may have changed since the object was stored
            renamed = {**encoding.loads(body), "kind": self.kind.kind, "apiVersion": self.api_version}
            body, foreign = encoding.dumps(encoding.order_fields(renamed)), True
        tail = body[len(self.head) :]
        return CachedObject(key, name, namespace, revision, self.head, tail, self.get_attributes, foreign=foreign)

    def get_attributes(self, obj: ReadOnlyObject) -> ObjectAttributes:
        """Return the labels and fields of an object that selectors match (upstream: GetAttrs)."""
        metadata = obj["metadata"]
        fields = dict(self.strategy.selectable_fields(obj))
        fields["metadata.name"] = metadata["name"]
        if self.kind.namespaced:
            fields["metadata.namespace"] = metadata.get("namespace", "")
        return ObjectAttributes(read_labels(obj), fields)

    def decode_foreign(self, obj: Object) -> Object:
        """Decode an object that another binary version stored: drop unknown fields, set defaults."""
        found = DecodingState()
        revised: Object = self._decode(obj, found)
        if self.set_defaults is not None:
            self.set_defaults(revised, self.dependencies.capabilities)
        return revised

    # Between this version and the stored one

    def to_storage_version(self, obj: Object) -> Object:
        """Convert an object of this version to the storage version."""
        return (
            obj
            if self.storage_resource is self
            else conversions.convert(obj, self.api_version, self.storage_resource.api_version)
        )

    def to_served_version(self, obj: Object) -> Object:
        """Convert a stored object to this version. The result belongs to the caller."""
        return (
            obj
            if self.storage_resource is self
            else conversions.convert(obj, self.storage_resource.api_version, self.api_version)
        )

    def tail(self, cached: CachedObject) -> bytes:
        """Return the JSON of a cached object in this version, without kind and apiVersion."""
        if self.storage_resource is self:
            return cached.tail
        return encoding.dumps(encoding.order_fields(self.to_served_version(cached.load())))[len(self.head) :]

    def body(self, cached: CachedObject) -> bytes:
        """Return the JSON of a cached object in this version."""
        return cached.body if cached.head is self.head else self.head + self.tail(cached)

    # Conversion webhooks: the following methods await the webhook before code that cannot wait needs another version.
    # Without a webhook they return their argument.
    async def convert_for_reading(self, cached: CachedObject) -> CachedObject:
        """Return the object in a form that `to_served_version` can convert without waiting."""
        return cached

    async def convert_all_for_reading(
        self, cached_objects: Sequence[CachedObject], *, reconvert: bool = False
    ) -> Sequence[CachedObject]:
        """Return the objects in a form that `to_served_version` can convert; `reconvert`: use no cached conversion."""
        return cached_objects

    async def convert_for_storing(self, obj: Object) -> Object:
        """Convert a validated object to the form in which it is stored."""
        return obj

    def run_with_conversions(self, decide: Callable[[], T], size: int = 0) -> Awaitable[T]:
        """Return the result of `decide`, which handles objects of `size` bytes.

        It may be called more than once: again after each conversion that it turned out to need.
        """
        return self.dependencies.heavy_work.run(size, decide)

    def convert_for_validation(self, obj: Object) -> Object:
        """Convert an object written by another version to the version in which this one validates."""
        return obj

    def find_unknown_fields(self, value: Any) -> list[str]:
        """Return the paths of fields that this version does not have."""
        return list(decoding_errors.find_unknown_fields(self.node, value))

    def decode(
        self, value: Any, scope: RequestScope, validation: str, duplicates: DuplicateFields = NO_DUPLICATES
    ) -> Object:
        """Decode and default the value of a request; the object is in this version.

        Unknown and duplicate fields are rejected, reported as warnings, or ignored, as `validation` says.
        """
        found = DecodingState()
        try:
            obj: Object = self._decode(value, found)
        except DecodingError as error:
            # The decoder is fast because it does not track paths; the error text comes from a second, slower walk.
            raise BadRequest(
                self.cannot_handle_message(value, decoding_errors.find_decoding_error(self.node, value))
            ) from error
        if found.has_unknown_fields or duplicates:
            self._report_field_errors(value, scope, validation, duplicates)
        scope.resets_managed_fields, scope.decoded_from = resets_managed_fields(value), value
        self.complete(obj)
        return obj

    def complete(self, obj: Object) -> None:
        """Set kind, apiVersion and defaults of a decoded object."""
        # A request body may leave out both: the path of the request says what it is.
        obj["kind"], obj["apiVersion"] = self.kind.kind, self.api_version
        if self.set_defaults is not None:
            self.set_defaults(obj, self.dependencies.capabilities)
        if self.set_times is not None:
            self.set_times(obj, self.dependencies.clock.now())

    def cannot_handle_message(self, value: Any, why: str, version: str = "") -> str:
        """Return the error text for a body that is no object of this kind and version."""
        given = (value.get("kind") if isinstance(value, dict) else None) or self.kind.kind
        return f'{given} in version "{version or self.version}" cannot be handled as a {self.kind.kind}: {why}'

    def _report_field_errors(
        self, value: Any, scope: RequestScope, validation: str, duplicates: DuplicateFields
    ) -> None:
        if validation == "Ignore":
            return
        unknown = self.find_unknown_fields(value)
        if validation == "Strict":
            why = duplicates.join_errors(unknown, typed=True)
            raise BadRequest(self.cannot_handle_message(value, f"strict decoding error: {why}"))
        scope.warn(duplicates.list_errors(unknown, typed=True))


def resets_managed_fields(value: Any) -> bool:
    """Return whether an object resets managedFields; decoding drops the empty list that asks for it."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


def error_without_reason(code: int, message: str) -> ApiError:
    """Return an error that upstream answers as a plain Go error: a Status without a reason."""
    error = ApiError(message)
    error.code, error.reason = code, ""
    return error


@contextmanager
def plain_version_errors() -> Iterator[None]:
    """Context in which an invalid resourceVersion is a plain 500, as upstream answers for GET and watch."""
    prefix = "invalid resource version: "
    try:
        yield
    except BadRequest as error:
        if not error.message.startswith(prefix):
            raise
        raise error_without_reason(500, error.message.removeprefix(prefix)) from error


def equals_except_version(new: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    """Return whether nothing but the resourceVersion differs."""
    ignored = {"resourceVersion": ""}
    return {**new, "metadata": {**new["metadata"], **ignored}} == {**old, "metadata": {**old["metadata"], **ignored}}
