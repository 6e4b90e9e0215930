"""Deleted objects, whose events recorders forget."""

from collections.abc import Callable, Set
from typing import Final

from mockkube.client.events import digest_uid
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import WatchEventType

# Objects that are forgotten together: finding their events takes a pass over all events of a recorder.
BATCH: Final = 256


class DeletedObjects:
    """Digests of the uids of deleted objects, collected until there are enough to forget them together."""

    def __init__(self, forget: Callable[[Set[bytes]], None]) -> None:
        self._forget = forget
        self._digests: set[bytes] = set()
        self._last_digests: set[bytes] = set()

    def handle_change(self, change: ObjectChange) -> None:
        """Collect the uid of an object that was deleted."""
        metadata = change.object["metadata"]
        uid = metadata.get("uid")
        if change.type is not WatchEventType.DELETED or not isinstance(uid, str):
            return
        self._digests.add(digest_uid(uid))
        # As upstream, events about nodes name the node as the uid.
        if not metadata.get("namespace"):
            self._digests.add(digest_uid(metadata["name"]))
        if len(self._digests) >= BATCH:
            # Twice, as events that were recorded before the deletion may be written after it.
            self._forget(self._last_digests | self._digests)
            self._last_digests, self._digests = self._digests, set()
