"""Of several candidates at most one leads at any moment, and one does as soon as the Lease allows it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from mockkube.api.errors import NotFound, Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_micro_time
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.leader_election import LeaderElectionConfig, LeaderElector
from mockkube.client.lease_holder_client import LeaseHolderClient
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Worker
from mockkube.runtime.virtual_time import VirtualClock
from tests.lease_server import LeaseServer, LeaseServerClient
from tests.simulation import Simulation

CONFIG = LeaderElectionConfig("kube-scheduler")
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

    def __init__(self) -> None:
        self.server = LeaseServer()
        self.clock = VirtualClock()
        self.electors: list[LeaderElector] = []
        self.clients: list[LeaseServerClient] = []
        self.stopped: set[int] = set()
        self.simulation = Simulation(self.list_workers, clock=self.clock)

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
    await candidates.simulation.advance(60)
    renewed = parse_micro_time(candidates.lease["spec"]["renewTime"])
    candidates.stopped.add(0)
    assert await candidates.simulation.advance_until(lambda: bool({1, 2} & set(candidates.find_leaders())), 60)
    waited = (candidates.clock.now() - renewed).total_seconds()
    # It counts from the moment at which it saw the last renewal, up to 4.4 s after it was written.
    assert 15 <= waited <= 15 + 2 * 2.2
    assert candidates.lease["spec"]["leaseTransitions"] == 1


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
    candidates.stopped.add(0)
    assert await candidates.wait_for_leader(1, 60) <= 15 + 2 * 2.2


async def test_a_released_lease_is_taken_at_the_next_try(candidates: Candidates) -> None:
    leader = candidates.add()
    candidates.add()
    await candidates.simulation.advance(60)
    candidates.stopped.add(0)
    await leader.release()
    assert not leader.is_leading
    spec = candidates.lease["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
    assert await candidates.wait_for_leader(1, 60) <= 2 * 2.2


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
    await candidates.simulation.advance(2)
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
