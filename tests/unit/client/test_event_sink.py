"""What cannot be written waits, is tried again, and is given up in the end."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from mockkube.api.errors import NAMESPACE_TERMINATING, AlreadyExists, Forbidden, Unavailable
from mockkube.client.event_sink import QUEUED_MAX, TRIES_MAX, EventSink, catch
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock


class Post:
    """Where an outbox writes to."""

    def __init__(self, clock: VirtualClock, chance: Random) -> None:
        self.clock, self.error, self.written = clock, None, []  # type: ignore[var-annotated]
        self.tries = 0
        self.outbox = EventSink(clock, chance, self.write_all)

    async def write_all(self, events: Sequence[dict[str, Any]]) -> Sequence[Exception | None]:
        return [await catch(self.write(event)) for event in events]

    async def write(self, event: dict[str, Any]) -> None:
        self.tries += 1
        if self.error is not None:
            raise self.error
        self.written.append(event["reason"])

    async def go(self) -> None:
        while True:
            while self.outbox.is_ready():
                await self.outbox.send()
            if (moment := self.outbox.wake_at()) is None:
                return
            self.clock.move_to(moment)


@pytest.fixture
def post(clock: VirtualClock, chance: Random) -> Post:
    return Post(clock, chance)


async def test_events_leave_in_their_order(post: Post) -> None:
    for reason in "abc":
        post.outbox.put({"reason": reason})
    await post.go()
    assert post.written == ["a", "b", "c"]


async def test_while_no_server_answers_all_wait_for_the_first(post: Post) -> None:
    post.error = Unavailable("away")
    post.outbox.put({"reason": "a"})
    post.outbox.put({"reason": "b"})
    await post.outbox.send()
    assert not post.outbox.is_ready()
    moment = post.outbox.wake_at()
    assert moment is not None
    assert 0 <= moment < 10
    post.error = None
    await post.go()
    assert post.written == ["a", "b"]


async def test_an_event_is_given_up_after_many_tries(post: Post) -> None:
    post.error = Unavailable("away")
    post.outbox.put({"reason": "a"})
    await post.go()
    assert (post.tries, post.outbox.is_ready()) == (TRIES_MAX, False)
    assert 100 <= post.clock.monotonic() < 110


@pytest.mark.parametrize("error", [Forbidden("no"), AlreadyExists("there")])
async def test_what_the_server_refuses_is_not_tried_again(post: Post, error: Exception) -> None:
    post.error = error
    post.outbox.put({"reason": "a"})
    await post.go()
    assert post.tries == 1


async def test_more_than_fits_is_dropped(post: Post) -> None:
    for number in range(QUEUED_MAX + 5):
        post.outbox.put({"reason": number})
    await post.go()
    assert (len(post.written), post.outbox.dropped) == (QUEUED_MAX, 5)


@pytest.mark.parametrize(
    ("details", "level"),
    [
        pytest.param({"causes": [{"reason": NAMESPACE_TERMINATING}]}, logging.DEBUG, id="its namespace is going"),
        pytest.param({}, logging.ERROR, id="anything else"),
    ],
)
async def test_an_event_that_is_refused_is_an_error_unless_its_namespace_goes(
    post: Post, caplog: pytest.LogCaptureFixture, details: dict[str, Any], level: int
) -> None:
    caplog.set_level(logging.DEBUG, logger="mockkube.client")
    post.error = Forbidden("no", details=details)
    post.outbox.put({"reason": "a"})
    await post.go()
    assert [record.levelno for record in caplog.records] == [level]
