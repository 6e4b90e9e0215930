"""Whether caches show what a controller has written."""

import pytest
from prometheus_client import CollectorRegistry

from mockkube.client.protocol import Key
from mockkube.controllers.framework.consistency_store import ConsistencyStore, TrackedInformer

KEY = Key("default", "s")


class Seen:
    """A cache as far as it matters: it has a kind, and a version."""

    kind = "Pod"
    resource_version = ""


def pod(version):
    return {"metadata": {"name": "p", "resourceVersion": str(version)}}


@pytest.fixture
def cache():
    return Seen()


@pytest.fixture
def writes(cache):
    return ConsistencyStore("s", CollectorRegistry(), [TrackedInformer(cache, "", "pods")])


def test_it_is_behind_until_the_write_or_something_later_was_seen(writes, cache):
    assert writes.is_stale(KEY) is False
    writes.wrote_at(KEY, "Pod", pod(10))
    cache.resource_version = "9"
    assert writes.is_stale(KEY) is True
    cache.resource_version = "11"
    assert writes.is_stale(KEY) is False


def test_each_key_waits_for_its_own_writes(writes, cache):
    writes.wrote_at(KEY, "Pod", pod(10))
    assert writes.is_stale(Key("default", "other")) is False


def test_writes_of_kinds_nobody_follows_are_not_waited_for(writes):
    writes.wrote_at(KEY, "Secret", pod(10))
    assert writes.is_stale(KEY) is False


def test_it_is_behind_while_a_new_list_is_due(writes, cache):
    cache.resource_version = "11"
    writes.wrote_at(KEY, "Pod", pod(10))
    cache.resource_version = ""
    assert writes.is_stale(KEY) is True


def test_nobody_waits_for_the_write_of_an_owner_that_is_gone(writes):
    writes.wrote_at(KEY, "Pod", pod(10))
    writes.forget(KEY)
    assert writes.is_stale(KEY) is False


def test_skips_are_counted(cache):
    registry = CollectorRegistry()
    writes = ConsistencyStore("s", registry, [TrackedInformer(cache, "", "pods")])
    writes.wrote_at(KEY, "Pod", pod(10))
    writes.is_stale(KEY)
    assert registry.get_sample_value("s_stale_sync_skips_total", {"group": "", "resource": "pods"}) == 1
