"""Read what a cluster still knows about a pod: the pod, or its last state before deletion, and its events."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from mockkube.api.errors import ApiError, Expired, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Client, Key, Selection, Watch, WatchEnded, WatchEventType
from mockkube.lazy_dataclasses import dataclass

# How long to wait for a server over a network to replay a deletion.
DELETION_WAIT_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class PodHistory:
    """A pod, existing or deleted, and its events."""

    # None if the pod is gone and its last state has been compacted.
    pod: ReadOnlyObject | None
    is_gone: bool
    events: Sequence[ReadOnlyObject]


async def read_history(client: Client, key: Key) -> PodHistory:
    """Return pod and events; NotFound if there are neither."""
    try:
        pod = await client.get("Pod", key)
    except NotFound as error:
        events = await _list_events(client, key)
        if not events:
            raise NotFound.for_object("", "pods", key.name) from error
        # Several pods may have had this name; the one with the latest event is the one that people ask about.
        latest = _filter_by_uid(events, _uid(events[-1]))
        return PodHistory(await _find_last_state(client, key, latest), True, latest)
    return PodHistory(pod, False, _filter_by_uid(await _list_events(client, key), pod["metadata"].get("uid", "")))


def _uid(event: ReadOnlyObject) -> str:
    return str(event["involvedObject"].get("uid", ""))


def _filter_by_uid(events: Sequence[ReadOnlyObject], uid: str) -> Sequence[ReadOnlyObject]:
    """Return the events about the pod with this uid, and those without a uid."""
    return [one for one in events if not uid or _uid(one) in ("", uid)]


async def _list_events(client: Client, key: Key) -> Sequence[ReadOnlyObject]:
    """Return the events about pods of that name, by the time they were last seen."""
    try:
        listed = await client.list("Event", Selection(key.namespace, fields=f"involvedObject.name={key.name}"))
    except ApiError:  # whoever asks may not read them; the rest can be told all the same
        return ()
    about = [one for one in listed.items if (one.get("involvedObject") or {}).get("kind") == "Pod"]
    return sorted(about, key=_event_order)


def _event_order(event: ReadOnlyObject) -> tuple[str, int]:
    """Return the sort key of an event: last time and revision."""
    when = event.get("lastTimestamp") or (event.get("series") or {}).get("lastObservedTime") or event.get("eventTime")
    return when or event["metadata"].get("creationTimestamp", ""), _revision(event)


def _revision(event: ReadOnlyObject) -> int:
    text = event["metadata"].get("resourceVersion", "")
    return int(text) if text.isdecimal() else 0


async def _find_last_state(client: Client, key: Key, events: Sequence[ReadOnlyObject]) -> ReadOnlyObject | None:
    """Return the last state of a deleted pod, if the server can still replay its deletion."""
    selection = Selection(key.namespace, fields=f"metadata.name={key.name}")
    uid = _uid(events[-1])
    # A watch from the revision of an event replays what came later, the deletion too, unless that revision was
    # compacted.
    for revision in sorted({_revision(event) for event in events}):
        with suppress(Expired):
            watch = await client.watch("Pod", selection, str(revision))
            try:
                return await _await_deletion(watch, uid)
            finally:
                await watch.close()
    return None


async def _await_deletion(watch: Watch, uid: str) -> ReadOnlyObject | None:
    """Return the last state of a deleted pod from a watch; None if it does not arrive in time."""
    with suppress(TimeoutError, WatchEnded):
        async with asyncio.timeout(DELETION_WAIT_SECONDS):
            while True:
                for event in watch.take():
                    same = not uid or event.object["metadata"].get("uid", "") == uid
                    if event.type is WatchEventType.DELETED and same:
                        return event.object
                await watch.signal.wait()
    return None
