"""What a cluster still knows of a pod: the pod itself, or how it was at its end, and the events about it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import ApiError, Expired, NotFound
from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Client, EventType, Key, Selection, Watch, WatchEnded

PATIENCE_SECONDS: Final = 2.0
"""How long a server over a network may take to tell of a deletion that it remembers."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A pod, gone or not, and what was said of it."""

    pod: ReadOnlyObject | None
    """None: it is gone, and so long that nobody can tell how it was."""
    gone: bool
    events: Sequence[ReadOnlyObject]


async def remember(client: Client, key: Key) -> Memory:
    """Return what is known; NotFound if that is nothing."""
    try:
        pod = await client.get("Pod", key)
    except NotFound as error:
        events = await _events(client, key)
        if not events:
            raise NotFound.object("", "pods", key.name) from error
        latest = _of_uid(events, _uid(events[-1]))
        return Memory(await _last_seen(client, key, latest), True, latest)
    return Memory(pod, False, _of_uid(await _events(client, key), pod["metadata"].get("uid", "")))


def _uid(event: ReadOnlyObject) -> str:
    return str(event["involvedObject"].get("uid", ""))


def _of_uid(events: Sequence[ReadOnlyObject], uid: str) -> Sequence[ReadOnlyObject]:
    """Return the events about one of the pods that have had the name, with those that do not say which."""
    return [one for one in events if not uid or _uid(one) in ("", uid)]


async def _events(client: Client, key: Key) -> Sequence[ReadOnlyObject]:
    """Return the events about a pod of that name, in the order of their last time."""
    try:
        listed = await client.list("Event", Selection(key.namespace, fields=f"involvedObject.name={key.name}"))
    except ApiError:  # whoever asks may not read them; the rest can be told all the same
        return ()
    about = [one for one in listed.items if (one.get("involvedObject") or {}).get("kind") == "Pod"]
    return sorted(about, key=_moment)


def _moment(event: ReadOnlyObject) -> tuple[str, int]:
    when = event.get("lastTimestamp") or (event.get("series") or {}).get("lastObservedTime") or event.get("eventTime")
    return when or event["metadata"].get("creationTimestamp", ""), _revision(event)


def _revision(event: ReadOnlyObject) -> int:
    text = event["metadata"].get("resourceVersion", "")
    return int(text) if text.isdecimal() else 0


async def _last_seen(client: Client, key: Key, events: Sequence[ReadOnlyObject]) -> ReadOnlyObject | None:
    """Return the pod as it was when it was deleted, if the server still tells; the events say where to begin."""
    selection = Selection(key.namespace, fields=f"metadata.name={key.name}")
    uid = _uid(events[-1])
    for revision in sorted({_revision(event) for event in events}):
        with suppress(Expired):
            watch = await client.watch("Pod", selection, str(revision))
            try:
                return await _deleted(watch, uid)
            finally:
                await watch.close()
    return None


async def _deleted(watch: Watch, uid: str) -> ReadOnlyObject | None:
    """Return the last state of the pod of a uid, or of any without one; None if it is not told."""
    with suppress(TimeoutError, WatchEnded):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                for event in watch.take():
                    same = not uid or event.object["metadata"].get("uid", "") == uid
                    if event.type is EventType.DELETED and same:
                        return event.object
                await watch.bell.wait()
    return None
