"""Own writes are visible at once, and leave with their objects in whatever order answers and events arrive."""

from typing import Any

import pytest

from mockkube.api.json_objects import Object
from mockkube.client.informer import EventHandler, ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.write_through_cache import WriteThroughCache


class StubInformer:
    """An informer whose events the test delivers."""

    def __init__(self) -> None:
        self.objects: dict[Key, Object] = {}
        self.handlers: list[EventHandler] = []

    def add_event_handler(self, handler: EventHandler) -> None:
        self.handlers.append(handler)

    def get(self, key: Key) -> Object | None:
        return self.objects.get(key)

    def deliver(self, obj: Object, *, deleted: bool = False) -> None:
        key = key_of(obj)
        old = self.objects.pop(key, None)
        if not deleted:
            self.objects[key] = obj
        kind = WatchEventType.DELETED if deleted else WatchEventType.MODIFIED if old else WatchEventType.ADDED
        for handler in self.handlers:
            handler(ObjectChange(kind, obj, old))


def make(version: int, number: int = 0) -> Object:
    return {"metadata": {"name": f"o-{number}", "uid": f"u-{number}", "resourceVersion": str(version)}}


KEY = Key("", "o-0")


@pytest.fixture
def informer() -> Any:
    """Any: it offers the part of an informer that is used."""
    return StubInformer()


def test_a_write_is_visible_before_its_event(informer: Any) -> None:
    cache = WriteThroughCache(informer)
    cache.record_write(make(5))
    assert cache.get(KEY) == make(5)
    informer.deliver(make(5))
    assert cache.is_own(make(5))
    assert not cache._written


def test_events_of_other_objects_do_not_hide_a_write(informer: Any) -> None:
    cache = WriteThroughCache(informer)
    informer.deliver(make(4, number=1))
    cache.record_write(make(5))
    assert cache.get(KEY) == make(5)


def test_a_deletion_that_arrives_before_the_answer_to_the_write_counts(informer: Any) -> None:
    cache = WriteThroughCache(informer)
    informer.deliver(make(5))
    informer.deliver(make(6), deleted=True)
    cache.record_write(make(5))
    assert cache.get(KEY) is None


def test_objects_that_came_and_went_leave_nothing(informer: Any) -> None:
    cache = WriteThroughCache(informer)
    for number in range(100):
        for answered_last in (False, True):
            version = 10 * number + (5 if answered_last else 1)
            if answered_last:
                informer.deliver(make(version, number))
                informer.deliver(make(version + 1, number), deleted=True)
                cache.record_write(make(version, number))
            else:
                cache.record_write(make(version, number))
                informer.deliver(make(version, number))
                cache.record_deletion(make(version, number))
                informer.deliver(make(version + 1, number), deleted=True)
    assert not cache._written
    assert not cache._own_versions
    assert not cache._deleted
