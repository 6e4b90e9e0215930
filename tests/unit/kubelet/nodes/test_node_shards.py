"""Members share the nodes: each node has one owner, or for a moment none, but never two."""

from collections.abc import Sequence
from typing import Any

import pytest

from mockkube.api.errors import ApiError, Forbidden
from mockkube.client.leader_election import LEASE_SECONDS, RENEW_DEADLINE_SECONDS, RETRY_SECONDS
from mockkube.client.protocol import ObjectList
from mockkube.kubelet.nodes.node_shards import NodeShards, find_owner
from mockkube.runtime.random import Random
from mockkube.runtime.steps import SeededChooser, Signal, Worker
from mockkube.runtime.virtual_time import VirtualClock
from tests.lease_server import LeaseServer, LeaseServerClient
from tests.simulation import Simulation

NODES = [f"node-{number}" for number in range(40)]


class Members:
    """Members on one virtual clock; a stopped one takes no steps."""

    def __init__(self, seed: int | None = None) -> None:
        self.server = LeaseServer()
        self.clock = VirtualClock()
        self.members: list[NodeShards] = []
        self.clients: list[LeaseServerClient] = []
        self.stopped: set[int] = set()
        chooser = None if seed is None else SeededChooser(Random.from_seed(seed, "steps").generator)
        self.simulation = Simulation(self.list_workers, clock=self.clock, chooser=chooser)

    def list_workers(self) -> Sequence[Worker]:
        self.find_owners()
        running = (member for number, member in enumerate(self.members) if number not in self.stopped)
        return [worker for member in running for worker in member.workers]

    def add(self, nodes: tuple[str, ...] | None = None) -> NodeShards:
        number = len(self.members)
        client = LeaseServerClient(self.server)
        given: Any = client
        member = NodeShards(given, self.clock, identity=f"host_{number}", owner=f"kubelet-{number}", nodes=nodes)
        self.members.append(member)
        self.clients.append(client)
        return member

    def find_owners(self) -> dict[str, int]:
        owners: dict[str, int] = {}
        for number, member in enumerate(self.members):
            for node in NODES:
                if member.owns(node):
                    assert node not in owners, f"{node} has the owners {owners[node]} and {number}"
                    owners[node] = number
        return owners

    def count_nodes(self) -> list[int]:
        owners = list(self.find_owners().values())
        return [owners.count(number) for number in range(len(self.members))]


@pytest.fixture
def members() -> Members:
    return Members()


async def test_one_member_has_all_nodes(members: Members) -> None:
    members.add()
    await members.simulation.settle()
    assert members.count_nodes() == [40]


async def test_members_share_the_nodes(members: Members) -> None:
    for _ in range(3):
        members.add()
    await members.simulation.advance(10)
    counts = members.count_nodes()
    assert sum(counts) == 40
    assert min(counts) >= 5


async def test_a_new_member_gets_its_share_at_once_and_the_others_keep_theirs(members: Members) -> None:
    members.add()
    members.add()
    await members.simulation.advance(60)
    before = members.find_owners()
    members.add()
    await members.simulation.settle()
    after = members.find_owners()
    assert len(after) == 40
    assert {owner for node, owner in after.items() if owner != before[node]} == {2}


async def test_nodes_of_a_killed_member_move_when_its_lease_expires(members: Members) -> None:
    for _ in range(3):
        members.add()
    await members.simulation.advance(60)
    deadline = members.members[0].deadline
    assert deadline is not None
    members.stopped.add(0)
    # A killed process answers nothing; the object that stands for it still knows its nodes until its deadline.
    await members.simulation.advance(10)
    assert members.count_nodes()[0] == 0
    await members.simulation.advance_until(lambda: len(members.find_owners()) == 40, 30)
    waited = members.clock.monotonic() - (deadline - RENEW_DEADLINE_SECONDS)
    assert waited == pytest.approx(LEASE_SECONDS, abs=1e-3)


@pytest.mark.parametrize("error", [None, Forbidden("no")], ids=["hanging", "refused"])
async def test_without_events_members_read_the_leases_at_intervals(members: Members, error: ApiError | None) -> None:
    for _ in range(3):
        members.add()
    for client in members.clients:
        client.holds_events, client.watch_error = True, error
    await members.simulation.advance(60)
    assert len(members.find_owners()) == 40
    members.stopped.add(0)
    await members.simulation.advance(LEASE_SECONDS + 2 * RETRY_SECONDS)
    assert len(members.find_owners()) == 40
    assert members.count_nodes()[0] == 0


async def test_members_that_rest_write_their_renewals_only(members: Members) -> None:
    for _ in range(3):
        members.add()
    await members.simulation.advance(60)
    before = members.server.version
    await members.simulation.advance(60)
    assert members.server.version - before == 3 * 60 / RETRY_SECONDS


async def test_a_list_that_an_event_has_overtaken_delays_nothing(members: Members) -> None:
    first, second = members.add(), members.add()
    await members.simulation.advance(61)
    client = members.clients[1]
    fresh, informer = client.list, second.workers[1]

    async def list_late(*given: Any) -> ObjectList:
        client.list = fresh  # type: ignore[method-assign]
        answer = await fresh(*given)
        members.clock.move_to(members.clock.monotonic() + 1)
        await first.step()
        await informer.step()
        members.clock.move_to(members.clock.monotonic() + 3)
        return answer

    client.list = list_late  # type: ignore[method-assign]
    await second.step()
    deadline = first.deadline
    assert deadline is not None
    members.stopped.add(0)
    await members.simulation.advance_until(lambda: members.count_nodes() == [0, 40], 60)
    assert members.clock.monotonic() - (deadline - RENEW_DEADLINE_SECONDS) == pytest.approx(LEASE_SECONDS, abs=1e-3)


async def test_the_lease_of_a_killed_member_is_deleted_after_a_while(members: Members) -> None:
    for _ in range(2):
        members.add()
    await members.simulation.advance(60)
    members.stopped.add(0)
    await members.simulation.advance(60)
    assert len(members.server.objects) == 2
    await members.simulation.advance(30)
    assert [obj["spec"]["holderIdentity"] for obj in members.server.objects.values()] == ["host_1"]


async def test_a_member_that_leaves_is_replaced_at_once(members: Members) -> None:
    for _ in range(2):
        members.add()
    await members.simulation.advance(60)
    members.stopped.add(0)
    await members.members[0].leave()
    await members.simulation.settle()
    assert members.count_nodes() == [0, 40]


async def test_a_member_that_is_cut_off_stops_before_others_take_its_nodes(members: Members) -> None:
    for _ in range(2):
        members.add()
    await members.simulation.advance(60)
    members.clients[0].cut_off()
    await members.simulation.advance(10)
    assert members.count_nodes()[0] == 0
    await members.simulation.advance(11)
    assert members.count_nodes() == [0, 40]
    members.clients[0].connect()
    await members.simulation.advance(10)
    counts = members.count_nodes()
    assert (sum(counts), counts[0] > 5) == (40, True)


async def test_a_suspended_member_has_no_node_when_it_goes_on(members: Members) -> None:
    suspended = members.add()
    members.add()
    await members.simulation.advance(60)
    members.stopped.add(0)
    await members.simulation.advance(60)
    assert not any(suspended.owns(node) for node in NODES)
    members.stopped.clear()
    await members.simulation.advance(10)
    assert sum(members.count_nodes()) == 40


class SlowWorker:
    """Worker whose step the test ends."""

    name = "kubelet/pods"

    def __init__(self) -> None:
        self.signal = Signal()

    def is_ready(self) -> bool:
        return False

    def wake_at(self) -> float | None:
        return None

    async def step(self) -> None:
        return None


async def test_a_node_moves_only_after_the_step_that_may_write_about_it(members: Members) -> None:
    first = members.add()
    [tracked] = first.track([SlowWorker()])
    await members.simulation.advance(60)
    first.begin_step(tracked)  # type: ignore[arg-type]
    members.add()
    await members.simulation.advance(30)
    lost = 40 - members.count_nodes()[0]
    assert members.count_nodes()[1] == 0
    assert lost > 5
    first.end_step(tracked)  # type: ignore[arg-type]
    await members.simulation.advance(4)
    assert members.count_nodes() == [40 - lost, lost]


async def test_a_step_of_before_the_loss_ends_before_the_process_is_a_member_again(members: Members) -> None:
    first = members.add()
    members.add()
    [tracked] = first.track([SlowWorker()])
    await members.simulation.advance(60)
    first.begin_step(tracked)  # type: ignore[arg-type]
    members.clients[0].cut_off()
    await members.simulation.advance(60)
    members.clients[0].connect()
    await members.simulation.advance(60)
    assert not first.is_member()
    first.end_step(tracked)  # type: ignore[arg-type]
    await members.simulation.advance(10)
    assert members.count_nodes()[0] > 5


async def test_a_stale_list_confirms_nothing(members: Members) -> None:
    members.add()
    second, client = members.add(), members.clients[1]
    fresh = client.list

    async def list_stale(*given: Any) -> ObjectList:
        return ObjectList((await fresh(*given)).items, "0")

    client.list = list_stale  # type: ignore[method-assign]
    await members.simulation.advance(30)
    assert not any(second.owns(node) for node in NODES)
    client.list = fresh  # type: ignore[method-assign]
    await members.simulation.advance(4)
    assert sum(members.count_nodes()) == 40


async def test_a_node_that_a_member_names_is_its_own(members: Members) -> None:
    members.add()
    members.add(("node-1", "node-2"))
    await members.simulation.advance(10)
    assert [node for node, owner in members.find_owners().items() if owner == 1] == ["node-1", "node-2"]
    assert members.count_nodes() == [38, 2]


@pytest.mark.parametrize("seed", range(30))
async def test_no_node_has_two_owners_whatever_happens(seed: int) -> None:
    """The invariant is checked before each step, in a random order of steps and of outages."""
    members, chance = Members(seed), Random.from_seed(seed, "outages").generator
    for _ in range(4):
        members.add()
    for _ in range(60):
        number = chance.randrange(4)
        match chance.randrange(8):
            case 0:
                members.stopped.symmetric_difference_update({number})
            case 1:
                members.clients[number].cut_off()
            case 2:
                members.clients[number].loses_answers = True
            case 3:
                members.clients[number].holds_events = True
            case 4:
                members.clients[number].break_watches()
            case _:
                members.clients[number].connect()
        await members.simulation.advance(chance.uniform(0, 12))
    members.stopped.clear()
    for client in members.clients:
        client.connect()
    await members.simulation.advance(40)
    assert len(members.find_owners()) == 40


def test_only_the_nodes_of_a_member_that_goes_get_another_owner() -> None:
    three = {"a": None, "b": None, "c": None}
    two = {"a": None, "b": None}
    moved = [node for node in NODES if find_owner(node, three) != find_owner(node, two)]
    assert moved == [node for node in NODES if find_owner(node, three) == "c"]
