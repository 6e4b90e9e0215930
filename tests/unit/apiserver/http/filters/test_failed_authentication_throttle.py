"""Guessing is slow, and slows nobody else."""

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from mockkube.apiserver.http.filters.failed_authentication_throttle import (
    BURST_MAX,
    INTERVAL_SECONDS,
    PEERS_MAX,
    WAIT_SECONDS_MAX,
    FailedAuthenticationThrottle,
)
from mockkube.runtime.clock import RealClock

WAITING_MAX = round(WAIT_SECONDS_MAX / INTERVAL_SECONDS)


class NotedClock(RealClock):
    """A clock that stands still until it is set, and notes how long it was to sleep."""

    def __init__(self) -> None:
        self.present = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.present

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))


class Peer:
    """The transport of a connection from an address."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get_extra_info(self, name: str, default: object = None) -> object:
        return (self._address, 1) if name == "peername" else default


async def only_good(request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(status=200 if request.headers["Authorization"] == "Bearer good" else 401)


class Guesser:
    """A client that sends tokens."""

    def __init__(self) -> None:
        self.clock = NotedClock()
        self.pace = FailedAuthenticationThrottle(only_good, self.clock)

    async def send(self, token: str, address: str = "192.0.2.1") -> int:
        headers = {"Authorization": f"Bearer {token}"}
        request = make_mocked_request("GET", "/api", headers=headers, transport=Peer(address))
        return (await self.pace(request)).status

    async def guess(self, count: int) -> list[int]:
        return [await self.send("bad") for _ in range(count)]


@pytest.fixture
def guesser() -> Guesser:
    return Guesser()


async def test_a_few_bad_credentials_are_answered_at_once(guesser: Guesser) -> None:
    assert set(await guesser.guess(BURST_MAX)) == {401}
    assert guesser.clock.slept == []


async def test_further_ones_are_answered_one_after_the_other(guesser: Guesser) -> None:
    await guesser.guess(BURST_MAX + 3)
    assert guesser.clock.slept == [INTERVAL_SECONDS, 2 * INTERVAL_SECONDS, 3 * INTERVAL_SECONDS]


async def test_no_more_than_a_bounded_number_waits(guesser: Guesser) -> None:
    answers = await guesser.guess(BURST_MAX + WAITING_MAX + 50)
    assert answers == [401] * (BURST_MAX + WAITING_MAX) + [429] * 50
    assert max(guesser.clock.slept) == WAIT_SECONDS_MAX


async def test_good_credentials_from_the_same_address_never_wait(guesser: Guesser) -> None:
    await guesser.guess(BURST_MAX + WAITING_MAX + 1)
    guesser.clock.slept.clear()
    assert await guesser.send("good") == 200
    assert guesser.clock.slept == []


async def test_another_address_is_not_slowed(guesser: Guesser) -> None:
    await guesser.guess(BURST_MAX + WAITING_MAX + 1)
    guesser.clock.slept.clear()
    assert await guesser.send("bad", "192.0.2.2") == 401
    assert guesser.clock.slept == []


async def test_after_a_pause_a_few_are_answered_at_once_again(guesser: Guesser) -> None:
    await guesser.guess(BURST_MAX + WAITING_MAX)
    guesser.clock.present = WAIT_SECONDS_MAX + BURST_MAX * INTERVAL_SECONDS
    guesser.clock.slept.clear()
    assert set(await guesser.guess(BURST_MAX)) == {401}
    assert guesser.clock.slept == []


async def test_what_is_remembered_of_addresses_is_bounded(guesser: Guesser) -> None:
    for number in range(2 * PEERS_MAX):
        await guesser.send("bad", f"192.0.{number // 250}.{number % 250}")
    assert len(guesser.pace._next_times) == PEERS_MAX
