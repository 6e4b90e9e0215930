"""What quotas say is used, in virtual time."""

import pytest

from mockkube.runtime.steps import InOrderChooser, settle

QUOTAS = "resourcequota-controller"


async def pod(sim, name, cpu="100m", **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    await sim.pod(name, spec={"containers": [container], **spec})


async def quota(sim, hard, **spec):
    await sim.create("ResourceQuota", "q", spec={"hard": hard, **spec})


async def used(sim):
    return (await sim.get("ResourceQuota", "q"))["status"]["used"]


@pytest.fixture
async def counting(sim):
    await sim.start(QUOTAS)
    return sim


async def test_what_is_there_already_is_counted(counting):
    await pod(counting, "a")
    await quota(counting, {"pods": "2", "requests.cpu": "1", "count/configmaps": "5"})
    status = (await counting.get("ResourceQuota", "q"))["status"]
    assert status["hard"] == {"pods": "2", "requests.cpu": "1", "count/configmaps": "5"}
    assert status["used"] == {"pods": "1", "requests.cpu": "100m", "count/configmaps": "0"}


async def test_what_goes_gives_back_what_it_used(counting):
    await quota(counting, {"pods": "1", "requests.cpu": "1"})
    await pod(counting, "a")
    assert await used(counting) == {"pods": "1", "requests.cpu": "100m"}
    await counting.delete("Pod", "a")
    assert await used(counting) == {"pods": "0", "requests.cpu": "0"}


async def test_a_finished_pod_uses_nothing(counting):
    await quota(counting, {"pods": "1", "requests.cpu": "1"})
    await pod(counting, "a")
    await counting.status("Pod", "a", {"phase": "Succeeded"})
    assert await used(counting) == {"pods": "0", "requests.cpu": "0"}


async def test_only_what_is_in_scope_counts(counting):
    await pod(counting, "a", activeDeadlineSeconds=60)
    await pod(counting, "b")
    await quota(counting, {"pods": "5"}, scopes=["Terminating"])
    assert await used(counting) == {"pods": "1"}


async def test_new_limits_are_counted_at_once(counting):
    await quota(counting, {"pods": "5"})
    await counting.merge("ResourceQuota", "q", {"spec": {"hard": {"services": "2"}}})
    assert await used(counting) == {"pods": "0", "services": "1"}


async def test_a_kind_that_users_define_is_counted(counting):
    names = {"plural": "things", "kind": "Thing"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    await counting.create("CustomResourceDefinition", "things.example.com", "", spec=spec)
    await counting.served("things.example.com")
    await counting.create("Thing.example.com", "t")
    await quota(counting, {"count/things.example.com": "3"})
    assert await used(counting) == {"count/things.example.com": "1"}


async def test_a_quota_counts_itself_before_the_monitor_of_quotas_has_seen_it(counting):
    manager = counting.manager
    others = [worker for worker in manager.workers if not worker.name.endswith("/every-kind")]
    assert len(others) == len(manager.workers) - 1
    quota = {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": {"resourcequotas": "2"}}}
    await counting.client.create("ResourceQuota", quota)
    deliver = counting.server.registry.dependencies.watch_cache.wait_until_fresh
    await settle(lambda: others, InOrderChooser(), wait_for_delivery=deliver)
    assert await used(counting) == {"resourcequotas": "1"}
    await counting.settle()
    assert await used(counting) == {"resourcequotas": "1"}


async def test_a_deleted_quota_is_no_longer_counted(counting):
    await quota(counting, {"resourcequotas": "2"})
    await counting.create("ResourceQuota", "other", spec={"hard": {"pods": "1"}})
    assert await used(counting) == {"resourcequotas": "2"}
    await counting.delete("ResourceQuota", "other")
    assert await used(counting) == {"resourcequotas": "1"}
