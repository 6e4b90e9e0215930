"""Whether caches show what a controller has written."""

import pytest
from prometheus_client import CollectorRegistry

from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType
from mockkube.controllers.framework.consistency_store import ConsistencyStore, TrackedInformer
from mockkube.runtime.virtual_time import VirtualClock

KEY = Key("default", "s")


class Seen:
    """A cache as far as it matters: it has a kind, and tells of changes."""

    kind = "Pod"

    def add_event_handler(self, handler):
        self.handler = handler

    def see(self, version, kind=WatchEventType.MODIFIED):
        self.handler(ObjectChange(kind, pod(version), None))


def pod(version):
    return {"metadata": {"name": "p", "resourceVersion": str(version)}}


@pytest.fixture
def cache():
    return Seen()


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def writes(cache, clock):
    return ConsistencyStore(clock, "s", CollectorRegistry(), [TrackedInformer(cache, "", "pods")])


def test_it_is_behind_until_the_write_or_something_later_was_seen(writes, cache):
    assert writes.is_stale(KEY) is False
    writes.wrote_at(KEY, "Pod", pod(10))
    cache.see(9)
    assert writes.is_stale(KEY) is True
    cache.see(11, WatchEventType.DELETED)
    assert writes.is_stale(KEY) is False


def test_each_key_waits_for_its_own_writes(writes, cache):
    writes.wrote_at(KEY, "Pod", pod(10))
    assert writes.is_stale(Key("default", "other")) is False


def test_writes_of_kinds_nobody_follows_are_not_waited_for(writes):
    writes.wrote_at(KEY, "Secret", pod(10))
    assert writes.is_stale(KEY) is False


def test_nobody_waits_for_ever(writes, clock):
    writes.wrote_at(KEY, "Pod", pod(10))
    clock.move_to(30)
    assert writes.is_stale(KEY) is False


def test_skips_are_counted(cache, clock):
    registry = CollectorRegistry()
    writes = ConsistencyStore(clock, "s", registry, [TrackedInformer(cache, "", "pods")])
    writes.wrote_at(KEY, "Pod", pod(10))
    writes.is_stale(KEY)
    assert registry.get_sample_value("s_stale_sync_skips_total", {"group": "", "resource": "pods"}) == 1
