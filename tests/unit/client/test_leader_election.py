"""Of several candidates at most one leads at any moment, and one does as soon as the Lease allows it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from mockkube.api.errors import ApiError, Forbidden, NotFound, Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_micro_time
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.leader_election import (
    JITTER_FACTOR,
    LEASE_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_SECONDS,
    LeaderElectionConfig,
    LeaderElector,
)
from mockkube.client.lease_holder_client import LeaseHolderClient
from mockkube.client.protocol import Key
from mockkube.runtime.random import Random
from mockkube.runtime.steps import SeededChooser, Worker, yield_to_event_loop
from mockkube.runtime.virtual_time import VirtualClock
from tests.lease_server import LeaseServer, LeaseServerClient
from tests.simulation import Simulation

CONFIG = LeaderElectionConfig("kube-scheduler")
# Longest time between two tries: the retry period with jitter.
POLL_SECONDS_MAX = RETRY_SECONDS * (1 + JITTER_FACTOR)
KEY = CONFIG.key


class SkewedClock(VirtualClock):
    """Clock of a host whose date is wrong; its seconds are those of the others."""

    def __init__(self, clock: VirtualClock, ahead: timedelta) -> None:
        super().__init__()
        self._clock, self._ahead = clock, ahead

    def now(self) -> datetime:
        return self._clock.now() + self._ahead

    def monotonic(self) -> float:
        return self._clock.monotonic()


class Candidates:
    """Electors on one virtual clock; a stopped one takes no steps."""

    def __init__(self, seed: int | None = None) -> None:
        self.server = LeaseServer()
        self.clock = VirtualClock()
        chooser = None if seed is None else SeededChooser(Random.from_seed(seed, "steps").generator)
        self.electors: list[LeaderElector] = []
        self.clients: list[LeaseServerClient] = []
        self.stopped: set[int] = set()
        self.simulation = Simulation(self.list_workers, clock=self.clock, chooser=chooser)

    def list_workers(self) -> Sequence[Worker]:
        assert sum(elector.is_leading for elector in self.electors) <= 1, "two lead at once"
        running = (elector for number, elector in enumerate(self.electors) if number not in self.stopped)
        return [worker for elector in running for worker in elector.workers]

    def add(self, ahead: timedelta = timedelta(), *, config: LeaderElectionConfig = CONFIG) -> LeaderElector:
        number = len(self.electors)
        client: Any = LeaseServerClient(self.server)
        clock = SkewedClock(self.clock, ahead) if ahead else self.clock
        random = Random.from_seed(number, "candidate")
        recorder = EventRecorder(client, clock, random, component="default-scheduler", owner=f"candidate-{number}")
        elector = LeaderElector(
            client, clock, random, config, identity=f"host_{number}", owner=f"candidate-{number}", recorder=recorder
        )
        self.electors.append(elector)
        self.clients.append(client)
        return elector

    @property
    def lease(self) -> Object:
        return self.server.get("Lease", KEY)

    def find_leaders(self) -> list[int]:
        return [number for number, elector in enumerate(self.electors) if elector.is_leading]

    async def wait_for_takeover(self) -> float:
        """Kill the leader; return the seconds from its last renewal until another candidate leads."""
        [leader] = self.find_leaders()
        deadline = self.electors[leader].renew_deadline
        assert deadline is not None
        self.stopped.add(leader)
        assert await self.simulation.advance_until(lambda: bool(set(self.find_leaders()) - {leader}), 60)
        return self.clock.monotonic() - (deadline - RENEW_DEADLINE_SECONDS)

    async def wait_for_leader(self, number: int, seconds_max: float) -> float:
        began = self.clock.monotonic()
        assert await self.simulation.advance_until(lambda: self.electors[number].is_leading, seconds_max)
        return self.clock.monotonic() - began


@pytest.fixture
def candidates() -> Candidates:
    return Candidates()


async def test_the_first_candidate_leads_and_renews(candidates: Candidates) -> None:
    candidates.add()
    candidates.add()
    await candidates.simulation.settle()
    assert candidates.find_leaders() == [0]
    assert candidates.lease["spec"] == {
        "holderIdentity": "host_0",
        "leaseDurationSeconds": 15,
        "acquireTime": "2030-01-01T00:00:00.000000Z",
        "renewTime": "2030-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    await candidates.simulation.advance(3600)
    spec = candidates.lease["spec"]
    assert (candidates.find_leaders(), spec["leaseTransitions"], candidates.electors[0].term) == ([0], 0, 1)
    assert spec["acquireTime"] == "2030-01-01T00:00:00.000000Z"
    assert candidates.clock.now() - parse_micro_time(spec["renewTime"]) <= timedelta(seconds=2)


async def test_the_standby_knows_who_leads(candidates: Candidates) -> None:
    candidates.add()
    standby = candidates.add()
    await candidates.simulation.settle()
    assert standby.holder == "host_0"


async def test_a_standby_takes_over_from_a_killed_leader_when_the_lease_expires(candidates: Candidates) -> None:
    for _ in range(3):
        candidates.add()
    # Not a multiple of the retry period: the kill comes at any time between two renewals.
    await candidates.simulation.advance(61.3)
    assert await candidates.wait_for_takeover() == pytest.approx(LEASE_SECONDS, abs=1e-3)
    assert candidates.lease["spec"]["leaseTransitions"] == 1


def refuse_watches(client: LeaseServerClient) -> None:
    client.watch_error = Forbidden('leases.coordination.k8s.io is forbidden: User "u" cannot list resource "leases"')
    client.break_watches()


def fail_watches(client: LeaseServerClient) -> None:
    client.watch_error = Unavailable("the watch cannot be opened")
    client.break_watches()


def hold_events(client: LeaseServerClient) -> None:
    client.holds_events = True


@pytest.mark.parametrize("disturb", [refuse_watches, fail_watches, hold_events], ids=["refused", "failing", "hanging"])
@pytest.mark.parametrize("since", ["the start", "later"])
async def test_without_events_the_standbys_read_the_lease_at_intervals(
    candidates: Candidates, disturb: Callable[[LeaseServerClient], None], since: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        candidates.add()
    if since == "later":
        await candidates.simulation.advance(60)
    for client in candidates.clients:
        disturb(client)
    await candidates.simulation.advance(3600)
    # A standby counts from its own read, up to 4.4 s after the renewal.
    assert LEASE_SECONDS <= await candidates.wait_for_takeover() <= LEASE_SECONDS + POLL_SECONDS_MAX
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) <= len(candidates.electors)


async def test_a_watch_that_broke_off_is_opened_again(candidates: Candidates) -> None:
    candidates.add()
    candidates.add()
    await candidates.simulation.advance(60)
    fail_watches(candidates.clients[1])
    await candidates.simulation.advance(30)
    candidates.clients[1].watch_error = None
    await candidates.simulation.advance(31)
    candidates.clients[1].break_watches()
    assert await candidates.wait_for_takeover() == pytest.approx(LEASE_SECONDS, abs=1e-3)


async def test_events_that_come_late_delay_the_takeover_only(candidates: Candidates) -> None:
    candidates.add()
    standby, client = candidates.add(), candidates.clients[1]
    await candidates.simulation.advance(60)
    hold_events(client)
    candidates.stopped.add(1)
    await candidates.simulation.advance(30)
    # The standby was suspended, too: what it sees first are renewals of long ago.
    candidates.stopped.clear()
    client.deliver_events()
    await candidates.simulation.advance(5)
    assert (candidates.find_leaders(), standby.holder) == ([0], "host_0")
    assert await candidates.wait_for_takeover() == pytest.approx(LEASE_SECONDS, abs=1e-3)


async def test_an_event_of_before_a_read_changes_nothing(candidates: Candidates) -> None:
    candidates.add()
    second = candidates.add()
    await candidates.simulation.advance(60)
    hold_events(candidates.clients[1])
    await candidates.simulation.advance(4)
    candidates.stopped.add(0)
    await candidates.electors[0].release()
    await candidates.wait_for_leader(1, 60)
    # The events show the other holder, and its release, which this candidate knew when it began to lead.
    candidates.clients[1].deliver_events()
    await candidates.simulation.advance(60)
    assert (candidates.find_leaders(), second.term) == ([1], 1)


async def test_an_answer_that_an_event_has_overtaken_changes_nothing(candidates: Candidates) -> None:
    candidates.add()
    standby, client = candidates.add(), candidates.clients[1]
    await candidates.simulation.advance(61)
    get, informer = client.get, standby.workers[1]

    async def get_late(kind: str, key: Key, **more: Any) -> ReadOnlyObject:
        answer = await get(kind, key, **more)
        candidates.clock.move_to(candidates.clock.monotonic() + 1)
        await candidates.electors[0].step()
        await informer.step()
        candidates.clock.move_to(candidates.clock.monotonic() + 3)
        return answer

    client.get = get_late  # type: ignore[method-assign]
    await standby.step()
    client.get = get  # type: ignore[method-assign]
    assert await candidates.wait_for_takeover() == pytest.approx(LEASE_SECONDS, abs=1e-3)


async def test_a_leader_that_is_cut_off_stops_before_another_one_leads(candidates: Candidates) -> None:
    candidates.add()
    candidates.add()
    await candidates.simulation.advance(60)
    renewed = parse_micro_time(candidates.lease["spec"]["renewTime"])
    candidates.clients[0].cut_off()
    await candidates.simulation.advance_until(lambda: not candidates.find_leaders(), 60)
    assert (candidates.clock.now() - renewed).total_seconds() == 10
    await candidates.wait_for_leader(1, 60)
    candidates.clients[0].connect()
    await candidates.simulation.advance(60)
    assert candidates.find_leaders() == [1]


async def test_a_short_outage_changes_no_leader(candidates: Candidates) -> None:
    leader = candidates.add()
    candidates.add()
    await candidates.simulation.advance(60)
    for client in candidates.clients:
        client.cut_off()
    await candidates.simulation.advance(7)
    for client in candidates.clients:
        client.connect()
    await candidates.simulation.advance(60)
    assert (candidates.find_leaders(), leader.term) == ([0], 1)


async def test_a_suspended_leader_writes_nothing_when_it_goes_on(candidates: Candidates) -> None:
    leader = candidates.add()
    candidates.add()
    inner: Any = candidates.clients[0]
    client = LeaseHolderClient(inner, lambda: leader.is_leading)
    await candidates.simulation.advance(60)
    await client.create("ConfigMap", {"metadata": {"name": "before", "namespace": "default"}})
    candidates.stopped.add(0)  # the process is suspended, and has not lost anything
    await candidates.wait_for_leader(1, 60)
    # Its first step after it goes on may be the write that it was about to send.
    with pytest.raises(Unavailable, match="does not hold its Lease"):
        await client.create("ConfigMap", {"metadata": {"name": "after", "namespace": "default"}})
    candidates.stopped.clear()
    await candidates.simulation.advance(60)
    assert (candidates.find_leaders(), leader.holder) == ([1], "host_1")


async def test_an_answer_after_the_deadline_makes_no_leader(candidates: Candidates) -> None:
    elector = candidates.add()
    client = candidates.clients[0]
    create = client.create

    async def create_slowly(kind: str, obj: Object, **more: Any) -> ReadOnlyObject:
        stored = await create(kind, obj, **more)
        candidates.clock.move_to(candidates.clock.monotonic() + 11)
        return stored

    client.create = create_slowly  # type: ignore[method-assign]
    await elector.step()
    assert (elector.is_leading, elector.term, elector.holder) == (False, 0, "host_0")
    # It holds the Lease all the same, and leads with the next renewal.
    await candidates.simulation.advance(5)
    assert elector.is_leading


@pytest.mark.parametrize("minutes", [-10, 10], ids=["behind", "ahead"])
async def test_the_date_of_a_host_does_not_matter(candidates: Candidates, minutes: int) -> None:
    candidates.add()
    candidates.add(timedelta(minutes=minutes))
    await candidates.simulation.advance(120)
    assert candidates.find_leaders() == [0]
    assert await candidates.wait_for_takeover() == pytest.approx(LEASE_SECONDS, abs=1e-3)


@pytest.mark.parametrize(
    ("disturb", "seconds_max"),
    [
        pytest.param(lambda client: None, 0.0, id="seen at once"),
        pytest.param(refuse_watches, POLL_SECONDS_MAX, id="without a watch"),
    ],
)
async def test_a_released_lease_is_taken(
    candidates: Candidates, disturb: Callable[[LeaseServerClient], None], seconds_max: float
) -> None:
    leader = candidates.add()
    candidates.add()
    disturb(candidates.clients[1])
    await candidates.simulation.advance(60)
    candidates.stopped.add(0)
    await leader.release()
    assert not leader.is_leading
    spec = candidates.lease["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
    assert await candidates.wait_for_leader(1, 60) <= seconds_max


@pytest.mark.parametrize("fails", [False, True], ids=["old answer", "no answer"])
async def test_a_lease_that_is_released_during_a_try_is_taken(candidates: Candidates, fails: bool) -> None:
    leader, standby = candidates.add(), candidates.add()
    await candidates.simulation.advance(60)
    client = candidates.clients[1]
    get = client.get

    async def get_before_release(kind: str, key: Key, **more: Any) -> ReadOnlyObject:
        client.get = get  # type: ignore[method-assign]
        answer = await get(kind, key, **more)
        candidates.stopped.add(0)
        await leader.release()
        await standby.workers[1].step()
        if fails:
            raise Unavailable("the answer is lost")
        return answer

    client.get = get_before_release  # type: ignore[method-assign]
    await standby.step()
    assert await candidates.wait_for_leader(1, 60) == 0


async def test_of_two_standbys_one_takes_a_released_lease(candidates: Candidates) -> None:
    for _ in range(3):
        candidates.add()
    await candidates.simulation.advance(60)
    update, conflicts = LeaseServerClient.update, list[str]()

    for number in (1, 2):
        client = candidates.clients[number]
        other = candidates.electors[3 - number]

        async def update_second(
            kind: str, obj: Object, *, client: Any = client, other: LeaderElector = other, **more: Any
        ) -> ReadOnlyObject:
            # Both have read the Lease before one of them writes.
            if not conflicts:
                conflicts.append(other.identity)
                await other.step()
            return await update(client, kind, obj, **more)

        client.update = update_second  # type: ignore[method-assign]
    candidates.stopped.add(0)
    await candidates.electors[0].release()
    await candidates.simulation.settle()
    [leader] = candidates.find_leaders()
    assert conflicts == [candidates.electors[leader].identity]
    await candidates.simulation.advance(60)
    assert (candidates.find_leaders(), candidates.lease["spec"]["leaseTransitions"]) == ([leader], 1)


async def test_a_released_lease_that_cannot_be_taken_is_not_tried_without_a_pause(candidates: Candidates) -> None:
    leader = candidates.add()
    candidates.add()
    await candidates.simulation.advance(60)
    tries: list[ApiError] = []

    async def update(*_: Any, **__: Any) -> ReadOnlyObject:
        tries.append(Forbidden("no"))
        raise tries[-1]

    candidates.clients[1].update = update  # type: ignore[method-assign]
    candidates.stopped.add(0)
    await leader.release()
    await candidates.simulation.advance(60)
    assert 60 / POLL_SECONDS_MAX <= len(tries) <= 1 + 60 / RETRY_SECONDS


@pytest.mark.parametrize("seed", range(40))
async def test_never_do_two_lead_whatever_happens(seed: int) -> None:
    """The invariant is checked before each step, in a random order of steps, outages, suspensions and late events."""
    candidates, chance = Candidates(seed), Random.from_seed(seed, "outages").generator
    for _ in range(3):
        candidates.add(timedelta(seconds=chance.uniform(-600, 600)))
    for _ in range(60):
        number = chance.randrange(3)
        elector, client = candidates.electors[number], candidates.clients[number]
        match chance.randrange(9):
            case 0:
                candidates.stopped.symmetric_difference_update({number})
            case 1:
                client.cut_off()
            case 2:
                client.loses_answers = True
            case 3:
                hold_events(client)
            case 4:
                client.break_watches()
            case 5:
                refuse_watches(client)
            case 6:
                await elector.release()
            case _:
                client.connect()
                client.watch_error = None
        await candidates.simulation.advance(chance.uniform(0, 8))
    candidates.stopped.clear()
    for client in candidates.clients:
        client.connect()
        client.watch_error = None
    await candidates.simulation.advance(60)
    assert len(candidates.find_leaders()) == 1
    assert await candidates.wait_for_takeover() == pytest.approx(LEASE_SECONDS, abs=1e-3)


async def test_a_standby_releases_nothing(candidates: Candidates) -> None:
    candidates.add()
    standby = candidates.add()
    await candidates.simulation.advance(60)
    await standby.release()
    assert candidates.lease["spec"]["holderIdentity"] == "host_0"


async def test_a_leader_that_sees_another_holder_stops_at_once(candidates: Candidates) -> None:
    leader = candidates.add()
    await candidates.simulation.advance(60)
    lease = candidates.lease
    candidates.server.write("Lease", {**lease, "spec": {**lease["spec"], "holderIdentity": "someone"}})
    await candidates.simulation.settle()
    assert (leader.is_leading, leader.holder) == (False, "someone")


async def test_a_deleted_lease_is_created_again(candidates: Candidates) -> None:
    leader = candidates.add()
    await candidates.simulation.advance(60)
    del candidates.server.objects["Lease", KEY]

    async def update(kind: str, obj: Object, **_: Any) -> ReadOnlyObject:
        raise NotFound.for_object("", kind, obj["metadata"]["name"])

    candidates.clients[0].update = update  # type: ignore[method-assign]
    await candidates.simulation.advance(2)
    assert (leader.is_leading, leader.term) == (True, 1)
    assert candidates.lease["spec"]["holderIdentity"] == "host_0"


async def test_events_say_who_leads(candidates: Candidates) -> None:
    leader = candidates.add()
    await candidates.simulation.advance(5)
    leader.stop_leading()
    await candidates.simulation.settle()
    events = [obj for (kind, _), obj in candidates.server.objects.items() if kind == "Event"]
    assert [(one["reason"], one["message"], one["involvedObject"]["name"]) for one in events] == [
        ("LeaderElection", "host_0 became leader", "kube-scheduler"),
        ("LeaderElection", "host_0 stopped leading", "kube-scheduler"),
    ]


class SlowClient(LeaseServerClient):
    """Client some of whose requests arrive late, and some of whose answers do."""

    def __init__(self, server: LeaseServer, clock: VirtualClock, chance: Any) -> None:
        super().__init__(server)
        self._clock, self._chance = clock, chance

    async def _wait(self) -> None:
        if self._chance.random() < 0.3:
            await self._clock.sleep(self._chance.uniform(0, 7))

    async def get(self, kind: str, key: Key, **more: Any) -> ReadOnlyObject:
        await self._wait()
        answer = await super().get(kind, key, **more)
        await self._wait()
        return answer

    async def create(self, kind: str, obj: Object, **more: Any) -> ReadOnlyObject:
        await self._wait()
        answer = await super().create(kind, obj, **more)
        await self._wait()
        return answer

    async def update(self, kind: str, obj: Object, **more: Any) -> ReadOnlyObject:
        await self._wait()
        answer = await super().update(kind, obj, **more)
        await self._wait()
        return answer


@pytest.mark.parametrize("seed", range(20))
async def test_never_do_two_lead_while_requests_are_on_their_way(seed: int) -> None:
    """The workers take their steps beside each other, so events arrive while a try waits for its answers."""
    server, clock, chance = LeaseServer(), VirtualClock(), Random.from_seed(seed, "requests").generator
    clients: list[Any] = [SlowClient(server, clock, chance) for _ in range(3)]
    electors = [
        LeaderElector(client, clock, Random.from_seed(seed, f"{number}"), CONFIG, identity=f"h{number}", owner="c")
        for number, client in enumerate(clients)
    ]

    async def run(worker: Worker) -> None:
        while True:
            if worker.is_ready():
                await worker.step()
            await clock.sleep(chance.uniform(0.01, 0.2))

    led: set[str] = set()
    tasks = [asyncio.create_task(run(worker)) for elector in electors for worker in elector.workers]
    while clock.monotonic() < 200:
        for _ in range(5):
            await yield_to_event_loop()
        leaders = [elector.identity for elector in electors if elector.is_leading]
        assert len(leaders) <= 1
        led.update(leaders)
        if chance.random() < 0.001:
            client = chance.choice(clients)
            chance.choice((client.cut_off, client.connect, client.connect, client.break_watches))()
        moment = clock.next_timer()
        assert moment is not None
        clock.move_to(moment)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in results} == {asyncio.CancelledError}
    assert led


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(CONFIG, [], id="defaults"),
        pytest.param(
            LeaderElectionConfig("n", lease_seconds=10),
            ["leader-elect-lease-duration must be greater than leader-elect-renew-deadline"],
            id="deadline not before the end of the lease",
        ),
        pytest.param(
            LeaderElectionConfig("n", renew_deadline_seconds=2.4),
            ["leader-elect-renew-deadline must be greater than leader-elect-retry-period times 1.2"],
            id="no second try",
        ),
        pytest.param(
            LeaderElectionConfig("n", retry_seconds=0),
            ["leader-elect-retry-period must be greater than zero"],
            id="no pause",
        ),
    ],
)
def test_timing_that_cannot_work_is_an_error(config: LeaderElectionConfig, expected: list[str]) -> None:
    assert list(config.find_errors()) == expected
