"""Reading of events that a replica no longer has: a watch on all keys that starts in the past."""

from asyncio import Future, get_running_loop
from typing import Final

from mockkube_storage.encoding import Malformed
from mockkube_storage.errors import Compacted
from mockkube_storage.etcd import grpc, messages
from mockkube_storage.etcd.grpc import GrpcError
from mockkube_storage.etcd.key_space import KeySpace
from mockkube_storage.etcd.messages import WatchEvent
from mockkube_storage.model import Event, delete_event, put_event

# Events of one read, unless etcd sends more of them at once.
HISTORY_EVENTS_MAX: Final = 10_000
# Total size of their values.
HISTORY_BYTES_MAX: Final = 16 * 1024 * 1024


class HistoryRead:
    """One read: its answer has the events, and the revision up to which they are complete."""

    def __init__(self, keys: KeySpace, prefix: str, after: int, up_to: int) -> None:
        self.answer: Future[tuple[tuple[Event, ...], int]] = get_running_loop().create_future()
        self._keys = keys
        self._prefix = prefix
        self._after = after
        self._up_to = up_to
        self._events: list[Event] = []
        self._bytes = 0

    def handle_message(self, data: bytes) -> None:
        """Take a response of the watch."""
        if self.answer.done():
            return
        try:
            self._handle(data)
        except (Malformed, Compacted) as error:
            self._fail(GrpcError(grpc.UNKNOWN, str(error)) if isinstance(error, Malformed) else error)

    def handle_end(self, error: GrpcError | None) -> None:
        """Take the end of the watch."""
        self._fail(error or GrpcError(grpc.UNAVAILABLE, "it has ended the watch"))

    def _handle(self, data: bytes) -> None:
        response = messages.decode_watch(data)
        if response.canceled:
            if response.compact_revision:
                raise Compacted(self._after, response.compact_revision)
            self._fail(GrpcError(grpc.UNAVAILABLE, response.cancel_reason or "it has cancelled the watch"))
            return
        if not response.events:
            return
        for event in response.events:
            self._add(event)
        # A fragment may end within a revision.
        last = response.events[-1].current.mod_revision
        is_full = len(self._events) >= HISTORY_EVENTS_MAX or self._bytes >= HISTORY_BYTES_MAX
        if not response.is_fragment and (last >= self._up_to or is_full):
            self.answer.set_result((tuple(self._events), min(last, self._up_to)))

    def _add(self, event: WatchEvent) -> None:
        revision = event.current.mod_revision
        self._bytes += len(event.current.value)
        key = self._keys.decode(event.current.key)
        if key is None or not key.startswith(self._prefix) or not self._after < revision <= self._up_to:
            return
        found = self._keys.to_entries([event.previous]) if event.previous else []
        previous = found[0] if found else None
        if not event.is_deletion:
            self._events.append(put_event(self._keys.to_entries([event.current])[0], previous))
        elif previous is not None:
            self._events.append(delete_event(previous, revision))
        else:
            # A compaction has overtaken the watch.
            raise Compacted(self._after, revision)

    def _fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
            self.answer.exception()  # a caller that was cancelled does not read it
