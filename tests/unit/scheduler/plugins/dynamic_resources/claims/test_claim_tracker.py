"""What is counted as taken: by claims that have devices, and by those about to get them."""

from decimal import Decimal
from typing import Any

import pytest

from mockkube.client.informer import EventHandler, ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_tracker import ClaimTracker
from mockkube.scheduler.plugins.dynamic_resources.devices.devices import DeviceId

KEY = Key("a", "c")


def device(name: str) -> DeviceId:
    return DeviceId("drv", "pool", name)


def given(name: str, **fields: Any) -> Any:
    return {"devices": {"results": [{"request": "r", **device(name)._asdict(), "device": name, **fields}]}}


def claim(version: int, allocation: Any = None, uid: str = "u") -> Any:
    status = {"allocation": allocation} if allocation else {}
    metadata = {"name": "c", "namespace": "a", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": metadata, "status": status}


class Shown:
    """As much of a cache as the ledger asks: what has been shown to it."""

    def __init__(self) -> None:
        self.objects: dict[Key, Any] = {}
        self._handlers: list[EventHandler] = []

    def get(self, key: Key) -> Any:
        return self.objects.get(key)

    def add_event_handler(self, handler: EventHandler) -> None:
        self._handlers.append(handler)

    def show(self, obj: Any) -> None:
        old = self.objects.get(key_of(obj))
        self.objects[key_of(obj)] = obj
        self._tell(ObjectChange(WatchEventType.ADDED if old is None else WatchEventType.MODIFIED, obj, old))

    def remove(self, obj: Any) -> None:
        del self.objects[key_of(obj)]
        self._tell(ObjectChange(WatchEventType.DELETED, obj, obj))

    def _tell(self, change: ObjectChange) -> None:
        for handler in self._handlers:
            handler(change)


@pytest.fixture
def cache() -> Shown:
    return Shown()


@pytest.fixture
def ledger(cache: Shown) -> ClaimTracker:
    return ClaimTracker(cache, sharing=True)  # type: ignore[arg-type]


def taken(ledger: ClaimTracker) -> set[str]:
    return {one.name for one in ledger.allocated.devices}


def test_a_claims_devices_are_taken_until_it_gives_them_back_or_goes(cache: Shown, ledger: ClaimTracker) -> None:
    cache.show(claim(1, given("d")))
    assert taken(ledger) == {"d"}
    cache.show(claim(2))
    assert taken(ledger) == set()
    cache.show(claim(3, given("e")))
    cache.remove(claim(4, given("e")))
    assert taken(ledger) == set()


def test_a_promise_counts_once_through_writing_and_seeing_it(cache: Shown, ledger: ClaimTracker) -> None:
    cache.show(claim(1))
    ledger.add_pending_allocation("u", given("d"))
    assert ledger.pending_allocation("u") == given("d")
    ledger.assume_after_write(claim(3, given("d")))
    assert (taken(ledger), ledger.pending_allocation("u")) == ({"d"}, None)
    cache.show(claim(2))  # the finalizer, which the cache sees before the allocation
    assert taken(ledger) == {"d"}
    cache.show(claim(3, given("d")))
    assert ledger.allocated.devices == {device("d"): 1}


def test_a_promise_that_is_withdrawn_leaves_nothing(cache: Shown, ledger: ClaimTracker) -> None:
    cache.show(claim(1))
    ledger.add_pending_allocation("u", given("d"))
    ledger.remove_pending_allocation("u", KEY)
    assert (taken(ledger), ledger.pending_allocation("u")) == (set(), None)


def test_withdrawing_what_was_never_promised_changes_nothing(cache: Shown, ledger: ClaimTracker) -> None:
    cache.show(claim(1, given("d")))
    ledger.remove_pending_allocation("u", KEY)
    assert taken(ledger) == {"d"}


def test_a_claim_written_before_the_cache_knows_of_it_counts_all_along(cache: Shown, ledger: ClaimTracker) -> None:
    ledger.add_pending_allocation("imagined", given("d"))
    ledger.assume_after_write(claim(2, given("d")), promised="imagined")
    assert ledger.pending_allocation("imagined") is None
    cache.show(claim(1))
    assert ledger.allocated.devices == {device("d"): 1}
    cache.show(claim(2, given("d")))
    assert ledger.allocated.devices == {device("d"): 1}
    assert ledger.pending_allocation("u") is None


def test_another_claim_of_the_same_name_takes_over(cache: Shown, ledger: ClaimTracker) -> None:
    cache.show(claim(1, given("d")))
    cache.show(claim(2, given("e"), uid="v"))
    assert taken(ledger) == {"e"}


def test_parts_of_a_shared_device_add_up(cache: Shown, ledger: ClaimTracker) -> None:
    ledger.add_pending_allocation("one", given("d", shareID="1", consumedCapacity={"memory": "1Gi"}))
    ledger.add_pending_allocation("two", given("d", shareID="2", consumedCapacity={"memory": "2Gi"}))
    assert ledger.allocated.capacity == {device("d"): {"memory": Decimal(3 * 2**30)}}
    assert taken(ledger) == set()
    assert ledger.allocated.includes(device("d"))
    for uid in ("one", "two"):
        ledger.remove_pending_allocation(uid, KEY)
    assert ledger.allocated.capacity == {}
    assert not ledger.allocated.includes(device("d"))


def test_what_administrators_have_is_not_taken(ledger: ClaimTracker) -> None:
    ledger.add_pending_allocation("u", given("d", adminAccess=True))
    assert not ledger.allocated.includes(device("d"))


def test_where_sharing_is_unknown_a_part_is_the_whole(cache: Shown) -> None:
    ledger = ClaimTracker(cache, sharing=False)  # type: ignore[arg-type]
    ledger.add_pending_allocation("u", given("d", shareID="1", consumedCapacity={"memory": "1Gi"}))
    assert (taken(ledger), ledger.allocated.capacity) == ({"d"}, {})
