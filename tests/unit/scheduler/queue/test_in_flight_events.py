"""What happened while pods were being decided on."""

from mockkube.scheduler.framework.events import Action, ClusterEvent, Subject
from mockkube.scheduler.queue.in_flight_events import InFlightEvents

ONE, TWO, THREE = (ClusterEvent(Subject.NODE, Action.ADD, new={"n": number}) for number in (1, 2, 3))


def test_a_pod_is_told_what_happened_since_it_was_taken():
    flight = InFlightEvents()
    flight.take("a")
    flight.note(ONE)
    flight.take("b")
    flight.note(TWO)
    assert (flight.since("a"), flight.since("b")) == ([ONE, TWO], [TWO])


def test_what_is_for_one_pod_is_told_to_no_other():
    flight = InFlightEvents()
    flight.take("a")
    flight.take("b")
    flight.note(ONE, "a")
    assert (flight.since("a"), flight.since("b")) == ([ONE], [])


def test_nothing_is_kept_that_nobody_needs():
    flight = InFlightEvents()
    flight.note(ONE)
    flight.take("a")
    flight.note(TWO)
    flight.take("b")
    flight.note(THREE)
    flight.done("a")
    assert flight.since("b") == [THREE]
    flight.done("b")
    flight.done("b")
    assert len(flight) == 0
    flight.take("c")
    assert flight.since("c") == []
