"""What happened while pods were being decided on."""

from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.queue.in_flight_events import InFlightEvents

ONE, TWO, THREE = (ClusterEvent(EventResource.NODE, ActionType.ADD, new={"n": number}) for number in (1, 2, 3))


def test_a_pod_is_told_what_happened_since_it_was_taken():
    flight = InFlightEvents()
    flight.add_pod("a")
    flight.add_event(ONE)
    flight.add_pod("b")
    flight.add_event(TWO)
    assert (flight.events_since_pop("a"), flight.events_since_pop("b")) == ([ONE, TWO], [TWO])


def test_what_is_for_one_pod_is_told_to_no_other():
    flight = InFlightEvents()
    flight.add_pod("a")
    flight.add_pod("b")
    flight.add_event(ONE, "a")
    assert (flight.events_since_pop("a"), flight.events_since_pop("b")) == ([ONE], [])


def test_nothing_is_kept_that_nobody_needs():
    flight = InFlightEvents()
    flight.add_event(ONE)
    flight.add_pod("a")
    flight.add_event(TWO)
    flight.add_pod("b")
    flight.add_event(THREE)
    flight.done("a")
    assert flight.events_since_pop("b") == [THREE]
    flight.done("b")
    flight.done("b")
    assert len(flight) == 0
    flight.add_pod("c")
    assert flight.events_since_pop("c") == []
