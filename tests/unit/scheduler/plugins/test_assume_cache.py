"""Objects as the scheduler takes them to be."""

from collections.abc import Sequence
from typing import Any

import pytest

from mockkube.client.informer import InformerFactory
from mockkube.client.protocol import Key, WatchEvent, WatchEventType
from mockkube.runtime.clock import RealClock
from mockkube.scheduler.plugins.assume_cache import AssumeCache

KEY = Key("a", "c")


def claim(version: int, note: str = "") -> Any:
    return {"metadata": {"name": "c", "namespace": "a", "resourceVersion": str(version)}, "note": note}


class Script:
    """A client whose watch delivers what it is told to."""

    def __init__(self) -> None:
        self.waiting: list[WatchEvent] = []

    async def list(self, kind: str, selection: Any) -> Any:
        return type("Listed", (), {"items": [claim(5)], "resource_version": "5"})

    async def watch(self, kind: str, selection: Any, after: str) -> Any:
        return self

    def is_ready(self) -> bool:
        return bool(self.waiting)

    def take(self, count_max: int = 0) -> Sequence[WatchEvent]:
        taken, self.waiting = self.waiting, []
        return taken


@pytest.fixture
async def shown() -> Any:
    """Objects over a cache that holds version 5 of a claim; `deliver` makes it see an event."""
    client = Script()
    cache = InformerFactory(client, RealClock(), owner="").informer_for("ResourceClaim")  # type: ignore[arg-type]
    objects = AssumeCache(cache)
    await cache.step()

    async def deliver(kind: WatchEventType, obj: Any) -> None:
        client.waiting.append(WatchEvent(kind, obj))
        await cache.step()

    objects.deliver = deliver  # type: ignore[attr-defined]
    return objects


async def test_an_assumption_takes_the_place_of_what_the_cache_holds(shown: Any) -> None:
    assert shown.assume(claim(5, "mine")) == ""
    assert shown.get(KEY) == claim(5, "mine")
    assert shown.overlay([claim(5)]) == [claim(5, "mine")]
    assert shown.informer.get(KEY) == claim(5)


@pytest.mark.parametrize(
    ("assumed", "event", "expected"),
    [
        pytest.param(5, (WatchEventType.MODIFIED, claim(6, "theirs")), claim(6, "theirs"), id="somebody was faster"),
        pytest.param(7, (WatchEventType.MODIFIED, claim(6, "theirs")), claim(7, "mine"), id="the cache lags behind"),
        pytest.param(7, (WatchEventType.MODIFIED, claim(7, "same")), claim(7, "same"), id="the cache has caught up"),
        pytest.param(7, (WatchEventType.DELETED, claim(8)), None, id="the object is gone"),
    ],
)
async def test_an_assumption_lasts_until_the_cache_is_as_new(
    shown: Any, assumed: int, event: tuple[WatchEventType, Any], expected: Any
) -> None:
    assert shown.assume(claim(assumed, "mine")) == ""
    await shown.deliver(*event)
    assert shown.get(KEY) == expected


async def test_nothing_older_than_the_cache_can_be_assumed(shown: Any) -> None:
    assert shown.assume(claim(4)) == '"a/c" is out of sync (stored: 5, assume: 4)'
    assert shown.get(KEY) == claim(5)


async def test_an_assumption_is_given_up_unless_another_took_its_place(shown: Any) -> None:
    shown.assume(claim(6, "mine"))
    shown.restore(claim(5))
    assert shown.get(KEY) == claim(6, "mine")
    shown.restore(claim(6))
    assert shown.get(KEY) == claim(5)
