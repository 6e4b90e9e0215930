"""Events are named after what they are about, and point to it."""

import pytest

from mockkube.client.events import EventNames, namespace_of, reference_to
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock

POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "7"},
    "spec": {},
}


def test_a_reference_names_the_object_at_its_version() -> None:
    assert reference_to(POD, "spec.containers{c}") == {
        "kind": "Pod", "apiVersion": "v1", "name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "7",
        "fieldPath": "spec.containers{c}",
    }  # fmt: skip


def test_a_reference_stays_what_it_is() -> None:
    reference = {"kind": "Node", "name": "n", "uid": "n"}
    assert reference_to(reference) == reference


@pytest.mark.parametrize(("reference", "namespace"), [({"namespace": "ns"}, "ns"), ({"name": "n"}, "default")])
def test_events_are_where_their_object_is(reference: dict[str, str], namespace: str) -> None:
    assert namespace_of(reference) == namespace


def test_names_of_one_moment_differ_and_tell_the_moment() -> None:
    clock = VirtualClock()
    names = EventNames(clock, Random.from_seed(1, "a"))
    given = [names.generate("p") for _ in range(100)]
    assert len(set(given)) == 100
    moments = [int(name.removeprefix("p."), 16) for name in given]
    start = int(clock.now().timestamp()) * 10**9
    assert all(start <= moment < start + 2_000_000 for moment in moments)


def test_recorders_of_one_moment_do_not_meet() -> None:
    clock = VirtualClock()
    first, second = (EventNames(clock, Random.from_seed(1, owner)) for owner in ("a", "b"))
    assert {first.generate("p") for _ in range(50)}.isdisjoint(second.generate("p") for _ in range(50))


def test_what_cannot_be_a_name_is_replaced() -> None:
    names = EventNames(VirtualClock(), Random.from_seed(1, "a"))
    assert len(names.generate("Not_a_name")) == 36
