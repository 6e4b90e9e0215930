"""Evictions keep the pod they are for waiting, exactly as long as they take."""

import asyncio
from dataclasses import replace

import pytest

from mockkube.api.errors import Unavailable
from mockkube.client.series_recorder import SeriesRecorder
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.framework.metrics import SchedulerMetrics
from mockkube.scheduler.framework.pod_status_writer import PodStatusWriter
from mockkube.scheduler.preemption.executor import ExecutorDependencies, Preemption, PreemptionExecutor
from mockkube.scheduler.queue.nominator import Nominator

UID = "preemptor"


class Server:
    """A client that notes who is deleted, and what was thought of the preemptor then."""

    def __init__(self):
        self.deleted, self.look, self.answers, self.refused = [], lambda: None, True, ""

    async def patch(self, kind, key, patch, *, subresource):
        if not self.answers or key.name == self.refused:
            raise Unavailable("gone")

    async def delete(self, kind, key, how):
        self.deleted.append((key.name, self.look()))


class Calls:
    """What evictions tell the queue, with what is thought of the preemptor then."""

    def __init__(self):
        self.made, self.look = [], lambda: None

    def __getattr__(self, name):
        return lambda uid: self.made.append((name, uid, self.look()))


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def queue():
    return Calls()


@pytest.fixture
def seen():
    """Return the pods that are seen, by key."""
    return {}


@pytest.fixture
def evictions(server, queue, seen):
    clock, chance = VirtualClock(), Random.from_seed(1, "test")
    tools = ExecutorDependencies(
        server,
        seen,
        PodStatusWriter(server, Capabilities(DEFAULT, frozenset()), clock),
        SeriesRecorder(server, clock, chance, owner="test"),
        Nominator(lambda pod: pod),
        SchedulerMetrics(),
        activate=queue.activate,
        recheck_gate=queue.recheck_gate,
        cancel_binding=lambda uid, reason: False,
    )
    evictions = PreemptionExecutor(tools, owner="test")
    server.look = queue.look = lambda: (evictions.is_running_preemption(UID), evictions.has_pending_victims(UID))
    return evictions


def begin(evictions, pods, *names):
    evictions.start(Preemption(pods(UID), "n1", [pods(name) for name in names]))


def test_a_pod_is_kept_waiting_until_only_one_victim_is_left_that_is_not_seen_any_more(evictions, server, queue, pods):
    begin(evictions, pods, "a", "b")
    assert (evictions.is_running_preemption(UID), evictions.has_pending_victims(UID)) == (True, True)
    asyncio.run(evictions.step())
    assert server.deleted == [("a", (True, True)), ("b", (False, False))]
    assert queue.made == [("recheck_gate", UID, (False, False))]


def test_the_last_victim_keeps_it_waiting_while_it_is_seen_alive(evictions, server, seen, pods):
    victim = pods("a")
    seen[victim.key] = victim.obj
    begin(evictions, pods, "a")
    asyncio.run(evictions.step())
    assert server.deleted == [("a", (True, False))]
    assert not evictions.is_running_preemption(UID)


def test_a_pod_whose_victims_could_not_be_evicted_is_tried_at_once(evictions, server, queue, pods):
    server.answers = False
    begin(evictions, pods, "a", "b")
    asyncio.run(evictions.step())
    assert queue.made == [("recheck_gate", UID, (False, False)), ("activate", UID, (False, False))]


def test_several_preemptions_go_at_once_and_none_is_stopped_by_another(evictions, server, queue, pods):
    evictions._parallelism = 2
    for uid, names in ((UID, ("a", "b")), ("second", ("c",)), ("third", ("d",))):
        evictions.start(Preemption(pods(uid), "n1", [pods(name) for name in names]))
    server.refused = "a"
    asyncio.run(evictions.step())
    assert [name for name, _ in server.deleted] == ["c"]
    assert ("activate", UID, (False, False)) in queue.made
    assert (
        evictions.is_ready(),
        evictions.is_running_preemption("second"),
        evictions.is_running_preemption("third"),
    ) == (
        True,
        False,
        True,
    )


def test_victims_that_are_going_already_are_left_alone(evictions, pods):
    victim = pods("a")
    victim.terminating = True
    evictions.start(Preemption(pods(UID), "n1", [victim]))
    assert (evictions.is_ready(), evictions.is_running_preemption(UID)) == (False, False)


@pytest.mark.parametrize("named", [True, False])
def test_an_event_about_a_victim_refers_to_the_preemptor_where_it_names_it(evictions, pods, named):
    notes = []

    class Notes:
        def record(self, obj, kind, reason, note, *, action, controller, related):
            notes.append((reason, note, related))

    evictions._dependencies = replace(evictions._dependencies, recorder=Notes(), relate_events_to_preemptor=named)
    begin(evictions, pods, "a")
    asyncio.run(evictions.step())
    ((reason, note, related),) = notes
    assert (reason, note) == ("Preempted", f"Preempted by pod {UID} on node n1")
    assert (related is None) == (not named)
