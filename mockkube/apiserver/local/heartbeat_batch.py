"""Heartbeats that a component sends together, like the renewals of many leases."""

from collections.abc import Sequence
from typing import Final

from mockkube_storage.store import BatchStore

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.local.request import LocalRequest
from mockkube.apiserver.registry import heartbeats
from mockkube.apiserver.registry.heartbeats import HeartbeatRound, HeartbeatSender, PreparedHeartbeat
from mockkube.client.protocol import Key

# Heartbeats in one commit; a kubelet's component has those of a tenth of all its nodes to write at one moment.
_BATCH_MAX: Final = 128


class HeartbeatBatch:
    """Updates of one kind that repeat earlier ones of a sender, to be written in one commit."""

    def __init__(self, request: LocalRequest, sender: HeartbeatSender) -> None:
        """Begin with a request for the first object; it stands for those for the others, too."""
        self.sent: list[Object] = []
        self._request = request
        self._round = HeartbeatRound(request.resource, request.scope, sender)
        self._prepared: list[PreparedHeartbeat] = []
        self._is_namespaced = request.resource.kind.namespaced

    def add(self, obj: Object) -> bool:  # hot: per heartbeat
        """Add an update if it repeats an earlier one and there is room; return whether it was added."""
        metadata = obj["metadata"]
        key = Key(metadata.get("namespace", "") if self._is_namespaced else "", metadata.get("name", ""))
        prepared = self._round.prepare(key.namespace, key.name, obj) if len(self.sent) < _BATCH_MAX else None
        if prepared is None:
            return False
        if self.sent:
            self._request.others.append(key)
        self.sent.append(obj)
        self._prepared.append(prepared)
        return True

    async def write(self) -> Sequence[ReadOnlyObject | None]:
        """Write the objects; return them as they are now, and None for each that takes an update of its own."""
        resource, keep = self._request.resource, self._request.view.keep
        store = resource.dependencies.store
        assert isinstance(store, BatchStore), "there are no batches for others"
        try:
            with self._request:
                updates = await heartbeats.repeat_heartbeats(resource, store, self._prepared)
        except ApiError:
            return [None for _ in self.sent]
        for update in updates:
            if update is not None:
                keep(update.object, update.shown)
        return [None if update is None else update.shown for update in updates]
