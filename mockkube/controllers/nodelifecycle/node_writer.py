"""Writes taints and labels of nodes, with retries on conflict.

upstream 1.36: pkg/controller/controller_utils.go
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from mockkube.api.errors import Conflict
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.client.protocol import Client, Key
from mockkube.runtime.clock import Clock

_TRIES_MAX: Final = 5


def same_taint(one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Return whether two taints have the same key and effect, which identify a taint of a node."""
    return bool(one["key"] == other["key"] and one["effect"] == other["effect"])


def has_taint(taints: Sequence[ReadOnlyObject], wanted: ReadOnlyObject) -> bool:
    """Return whether a taint is among others."""
    return any(same_taint(taint, wanted) for taint in taints)


def add_taint(taints: Sequence[ReadOnlyObject], added: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the taints with one added, or replaced if it exists."""
    if not has_taint(taints, added):
        return [*taints, added]
    return [added if same_taint(taint, added) else taint for taint in taints]


def remove_taint(taints: Sequence[ReadOnlyObject], removed: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the taints without one."""
    return [taint for taint in taints if not same_taint(taint, removed)]


class NodeWriter:
    """Writes taints and labels of nodes through a controller's client."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client, self._clock = client, clock

    async def swap_taints(
        self, node: ReadOnlyObject, *, add: Sequence[ReadOnlyObject], remove: Sequence[ReadOnlyObject]
    ) -> None:
        """Add taints with the current time, then remove those that the given node has."""
        key, added_at = Key("", node["metadata"]["name"]), render_time(self._clock.now())
        timed = [{**taint, "timeAdded": added_at} for taint in add]
        if timed:
            await self._change_taints(key, lambda taints: _apply_each(add_taint, taints, timed))
        await self.remove_taints(node, remove)

    async def remove_taints(self, node: ReadOnlyObject, remove: Sequence[ReadOnlyObject]) -> None:
        """Remove taints; send no request if the given node has none of them."""
        if any(has_taint(node["spec"].get("taints", ()), taint) for taint in remove):
            key = Key("", node["metadata"]["name"])
            await self._change_taints(key, lambda taints: _apply_each(remove_taint, taints, remove))

    async def set_labels(self, key: Key, labels: Mapping[str, str]) -> None:
        """Set labels of a node."""
        await self._client.patch("Node", key, {"metadata": {"labels": dict(labels)}})

    async def _change_taints(
        self, key: Key, change: Callable[[Sequence[ReadOnlyObject]], Sequence[ReadOnlyObject]]
    ) -> None:
        """Read the node, change its taints and patch them, with retries on conflict."""

        async def once() -> None:
            node = await self._client.get("Node", key)
            old = node["spec"].get("taints", [])
            new = change(old)
            if list(new) != list(old):
                # Taints are an atomic list, so the patch must fail if anyone changed the node since it was read.
                metadata: Object = {"resourceVersion": node["metadata"]["resourceVersion"]}
                await self._client.patch("Node", key, {"metadata": metadata, "spec": {"taints": list(new) or None}})

        await retry_on_conflict(once)


def _apply_each(
    change: Callable[[Sequence[ReadOnlyObject], ReadOnlyObject], list[ReadOnlyObject]],
    taints: Sequence[ReadOnlyObject],
    by: Sequence[ReadOnlyObject],
) -> Sequence[ReadOnlyObject]:
    for taint in by:
        taints = change(taints, taint)
    return taints


async def retry_on_conflict(write: Callable[[], Awaitable[None]]) -> None:
    """Call `write` up to five times until it does not raise Conflict."""
    for _ in range(_TRIES_MAX - 1):
        try:
            return await write()
        except Conflict:
            continue
    return await write()
