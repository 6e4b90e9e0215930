"""Cached objects: objects as the store has them, which readers and watchers share.

A `CachedObject` is immutable: its bytes are the response, its labels and fields are what selectors match; readers that
need the object decode a copy.
"""

from collections.abc import Callable, Mapping
from sys import intern
from typing import TYPE_CHECKING, Final

from mockkube_storage.model import Entry

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry import encoding
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.apiserver.registry.heartbeats import Heartbeat

_NO_LABELS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class ObjectAttributes:
    """Labels and fields of an object that selectors match."""

    labels: Mapping[str, str]
    fields: Mapping[str, str]


GetAttributes = Callable[[ReadOnlyObject], ObjectAttributes]
# Attributes of objects that no selector is ever applied to.
NO_ATTRIBUTES: Final = ObjectAttributes({}, {})


class CachedObject:
    """One stored object at one revision. It is decoded only when a selector is applied to it.

    It shares the value that the store has in memory, and inserts the resourceVersion whenever its JSON is read.
    """

    __slots__ = (
        "_attributes",
        "_tail_at",
        "_value",
        "_version_at",
        "head",
        "heartbeat",
        "key",
        "name",
        "namespace",
        "needs_rewrite",
        "revision",
    )

    def __init__(
        self,
        key: str,
        name: str,
        namespace: str,
        revision: int,
        head: bytes,
        tail: bytes,
        attributes: ObjectAttributes | GetAttributes = NO_ATTRIBUTES,
        *,
        foreign: bool = False,
        tail_at: int = 0,
        version_at: int = 0,
    ) -> None:
        """With `version_at`, the tail is the rest of a stored value, and the resourceVersion is to be inserted."""
        self.key, self.name, self.namespace, self.revision = key, name, intern(namespace), revision
        self.head = head
        self._value, self._tail_at, self._version_at = tail, tail_at, version_at
        self._attributes = attributes
        # Whether another binary version stored it, differently than this one would: the next write rewrites it.
        self.needs_rewrite = foreign
        # Update that left it like this and is expected to repeat.
        self.heartbeat: Heartbeat | None = None

    @property
    def display_name(self) -> str:
        """Namespace and name of the object, for messages."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def size(self) -> int:
        """Size of the object in bytes, as it is stored."""
        return len(self._value)

    @property
    def stored_value(self) -> bytes:
        """Value in the store; empty if another version of the binary wrote it."""
        return self._value if self._version_at else b""

    @property
    def tail(self) -> bytes:  # hot: per object of a list
        """JSON after kind and apiVersion, which list items leave out."""
        value, at = self._value, self._version_at
        if not at:
            return value
        return b"".join((value[self._tail_at : at], b"%d" % self.revision, value[at:]))

    @property
    def body(self) -> bytes:  # hot: per object read, per event of a watch
        """JSON of the object."""
        value, at = self._value, self._version_at
        if not at:
            return self.head + value
        return b"".join((self.head, value[self._tail_at : at], b"%d" % self.revision, value[at:]))

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of the object."""
        return self._get_attributes().labels

    @property
    def fields(self) -> Mapping[str, str]:
        """Values of the fields that field selectors support."""
        return self._get_attributes().fields

    @property
    def undecoded_bytes(self) -> int:
        """Bytes to decode before a selector can be applied; 0 if that is done."""
        return 0 if isinstance(self._attributes, ObjectAttributes) else self.size

    def load(self) -> Object:
        """Return a decoded copy of the object, which the caller may change."""
        return encoding.loads(self.body)

    def load_without_managed_fields(self) -> Object:
        """Return a decoded copy of the object without its managedFields."""
        return encoding.loads_without_managed_fields(self.body)

    def at_revision(self, revision: int) -> "CachedObject":
        """Return the same object at a later revision: the last state of one that no longer matches a selector."""
        old, new = b'"resourceVersion":"%d"' % self.revision, b'"resourceVersion":"%d"' % revision
        tail = self.tail.replace(old, new, 1)
        return CachedObject(self.key, self.name, self.namespace, revision, self.head, tail, self._attributes)

    def after_heartbeat(self, entry: Entry) -> "CachedObject":  # hot: per heartbeat
        """Return the object after an update that has put other times of the same length into its stored value."""
        cached = CachedObject.__new__(CachedObject)
        cached.key, cached.name, cached.namespace, cached.revision = self.key, self.name, self.namespace, entry.revision
        cached.head, cached._value, cached._attributes = self.head, entry.value, self._attributes
        cached._tail_at, cached._version_at, cached.needs_rewrite = self._tail_at, self._version_at, self.needs_rewrite
        cached.heartbeat = None
        return cached

    def _get_attributes(self) -> ObjectAttributes:
        attributes = self._attributes
        if not isinstance(attributes, ObjectAttributes):
            attributes = self._attributes = self._read_attributes(attributes)
        return attributes

    def _read_attributes(self, get_attributes: GetAttributes) -> ObjectAttributes:
        try:
            return get_attributes(self.load())
        # Anything may be stored. An object that cannot be read is still found by its name, so that it can be deleted.
        except Exception:
            return ObjectAttributes({}, {"metadata.name": self.name, "metadata.namespace": self.namespace})


def read_labels(obj: ReadOnlyObject) -> Mapping[str, str]:
    """Return the labels of an object."""
    # Objects without labels share one empty mapping: there may be very many of them.
    labels: Mapping[str, str] = obj["metadata"].get("labels") or _NO_LABELS
    return labels
