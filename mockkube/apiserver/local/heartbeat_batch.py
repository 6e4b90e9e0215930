"""Heartbeats that a component sends together, like the renewals of many leases."""

from collections.abc import Sequence
from typing import Final

from mockkube_storage.store import BatchStore

from mockkube.api.json_objects import Object
from mockkube.apiserver.local.request import LocalRequest
from mockkube.apiserver.registry.heartbeats import HeartbeatRound, HeartbeatSender
from mockkube.client.protocol import Key

# Heartbeats in one commit; a kubelet's component has those of a tenth of all its nodes to write at one moment.
BATCH_MAX: Final = 128


async def repeat_heartbeats(
    request: LocalRequest, sender: HeartbeatSender, keys: Sequence[Key], change: Object
) -> Sequence[Key]:
    """Write heartbeats of a sender in one commit; return the keys of the objects that are to be updated one by one.

    The request is that for the first object, and stands for those for the others.
    """
    resource = request.resource
    store = resource.dependencies.store
    # A span covers one request.
    if "" not in resource.strategy.heartbeat_times or not isinstance(store, BatchStore) or request.server.tracer:
        return keys
    heartbeats = HeartbeatRound(resource, request.scope, sender, change)
    is_namespaced = resource.kind.namespaced
    prepared = heartbeats.prepare(keys if is_namespaced else [Key("", key.name) for key in keys])
    ready = [(key, one) for key, one in zip(keys, prepared, strict=True) if one is not None]
    if not ready:
        return keys
    (first, _), *others = ready
    request.scope.namespace, request.scope.name = first.namespace if is_namespaced else "", first.name
    request.others += [key for key, _ in others]
    request.count = len(ready)
    with request:
        outcomes = await heartbeats.write(store, [one for _, one in ready])
    written = {key for (key, _), is_written in zip(ready, outcomes, strict=True) if is_written}
    return [key for key in keys if key not in written]
