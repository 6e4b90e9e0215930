"""Pods of one owner that are refused again and again are a loop."""

from typing import Any

from mockkube.kubelet.events.rejection_loops import LOOP_MIN, LOOP_RATE_METRIC, WINDOW_SECONDS, RejectionLoops
from mockkube.runtime.steps import Signal
from mockkube.runtime.virtual_time import VirtualClock


def pod(owner: str = "web") -> dict[str, Any]:
    """A pod that a replica set makes."""
    reference = {"kind": "ReplicaSet", "name": owner, "controller": True}
    return {"metadata": {"namespace": "default", "name": "p", "ownerReferences": [reference]}}


class Heard(Signal):
    """A bell that counts how often it was rung."""

    __slots__ = ("times",)

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def notify(self) -> None:
        """Count."""
        self.times += 1


def refused(clock: VirtualClock, times: int, bell: Signal | None = None) -> RejectionLoops:
    """So many refusals at once."""
    refusals = RejectionLoops(clock, bell)
    for _ in range(times):
        refusals.record_rejection(pod(), "NodeAffinity")
    return refusals


def test_a_few_refusals_are_no_loop() -> None:
    assert refused(VirtualClock(), LOOP_MIN - 1).find_loops() == []


def test_an_owner_is_named_with_reason_and_rate() -> None:
    refusals = refused(VirtualClock(), LOOP_MIN + 1)
    refusals.record_rejection(pod("other"), "NodeAffinity")
    (loop,) = refusals.find_loops()
    assert (loop.controller, loop.object, loop.cause) == ("admission", "ReplicaSet default/web", "NodeAffinity")
    assert loop.per_minute == LOOP_MIN + 1


def test_a_bell_rings_when_it_begins() -> None:
    bell = Heard()
    refused(VirtualClock(), LOOP_MIN - 1, bell)
    assert bell.times == 0
    refused(VirtualClock(), LOOP_MIN, bell)
    assert bell.times == 1


def test_it_ends_when_nothing_is_refused_for_a_while() -> None:
    clock = VirtualClock()
    refusals = refused(clock, LOOP_MIN)
    clock.move_to(WINDOW_SECONDS + 1)
    assert refusals.find_loops() == []


def test_it_is_a_metric() -> None:
    (family,) = refused(VirtualClock(), LOOP_MIN).collect()
    (sample,) = family.samples
    assert (sample.name, sample.value) == (LOOP_RATE_METRIC, LOOP_MIN)
    assert sample.labels == {"controller": "admission", "object": "ReplicaSet default/web", "cause": "NodeAffinity"}
