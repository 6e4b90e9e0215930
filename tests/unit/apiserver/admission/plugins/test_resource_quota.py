import asyncio

import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.resource_quota import ResourceQuota
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

PLUGIN = ResourceQuota()


async def quota(world, hard, used=None, name="q", **spec):
    metadata = {"name": name, "namespace": "ns"}
    await world.put({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard, **spec}})
    used = dict.fromkeys(hard, "0") if used is None else used

    def counted(current):
        return {**current, "status": {"hard": hard, "used": used}}

    call = RequestScope(User("controller"), "ns", name, "status")
    await updating.update(world.registry.find_storage_resource("", "resourcequotas"), call, counted, WriteOptions())


def used(world, name="q"):
    return world.registry.find_storage_resource("", "resourcequotas").get_cached("ns", name).load()["status"]["used"]


def pod(**spec):
    containers = spec.pop("containers", [{"name": "c", "image": "i"}])
    metadata = {"name": "p", "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def asking(**requests):
    return [{"name": "c", "image": "i", "resources": {"requests": requests}}]


def config_map():
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}


def service(**spec):
    metadata = {"name": "s", "namespace": "ns"}
    ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports, **spec}}


def claim(size, storage_class):
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage_class,
    }
    metadata = {"name": "c", "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("hard", "obj", "counted"),
    [
        pytest.param({"pods": "2"}, pod(), {"pods": "1"}, id="a pod"),
        pytest.param(
            {"requests.cpu": "2", "count/pods": "9"},
            pod(containers=asking(cpu="500m")),
            {"requests.cpu": "500m", "count/pods": "1"},
            id="what a pod asks for",
        ),
        pytest.param(
            {"requests.example.com/gpu": "2"},
            pod(
                containers=[
                    {"name": "c", "image": "i", "resources": {"limits": {"example.com/gpu": "1"}}},
                ]
            ),
            {"requests.example.com/gpu": "1"},
            id="an extended resource",
        ),
        pytest.param(
            {"configmaps": "2", "count/configmaps": "3"},
            config_map(),
            {"configmaps": "1", "count/configmaps": "1"},
            id="a config map under both names",
        ),
        pytest.param(
            {"services": "5", "services.nodeports": "5", "services.loadbalancers": "5"},
            service(type="NodePort"),
            {"services": "1", "services.nodeports": "2", "services.loadbalancers": "0"},
            id="a service and its node ports",
        ),
        pytest.param(
            {"requests.storage": "5Gi", "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "2"},
            claim("1Gi", "gold"),
            {"requests.storage": "1Gi", "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1"},
            id="a claim by its class",
        ),
    ],
)
async def test_what_is_made_counts(world, hard, obj, counted):
    await quota(world, hard)
    await PLUGIN.validate_async(world.creation(obj))
    assert used(world) == counted


@pytest.mark.parametrize(
    ("hard", "before", "obj", "why"),
    [
        pytest.param(
            {"pods": "1"},
            {"pods": "1"},
            pod(),
            "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1",
            id="too many pods",
        ),
        pytest.param(
            {"cpu": "1", "pods": "5", "memory": "1Gi"},
            {"cpu": "600m", "pods": "1", "memory": "1Gi"},
            pod(containers=asking(cpu="500m", memory="1Mi")),
            "exceeded quota: q, requested: cpu=500m,memory=1Mi, used: cpu=600m,memory=1Gi, limited: cpu=1,memory=1Gi",
            id="too much of two things",
        ),
        pytest.param(
            {"limits.cpu": "1", "requests.cpu": "1"},
            {"limits.cpu": "0", "requests.cpu": "0"},
            pod(),
            "failed quota: q: must specify limits.cpu for: c; requests.cpu for: c",
            id="a pod that does not say what it needs",
        ),
        pytest.param(
            {"pods": "1", "count/pods": "1"},
            {"pods": "0"},
            pod(),
            "status unknown for quota: q, resources: count/pods,pods",
            id="before the quota has been counted",
        ),
    ],
)
async def test_what_a_quota_does_not_allow_is_refused(world, hard, before, obj, why):
    await quota(world, hard, before)
    with pytest.raises(Forbidden) as caught:
        await PLUGIN.validate_async(world.creation(obj))
    assert caught.value.message == f'pods "p" is forbidden: {why}'
    assert used(world) == before


@pytest.mark.parametrize(
    ("scopes", "obj", "counts"),
    [
        pytest.param({"scopes": ["BestEffort"]}, pod(), True, id="best effort"),
        pytest.param({"scopes": ["NotBestEffort"]}, pod(), False, id="not best effort"),
        pytest.param({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=5), True, id="with a deadline"),
        pytest.param({"scopes": ["NotTerminating"]}, pod(activeDeadlineSeconds=5), False, id="without a deadline"),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
                }
            },
            pod(priorityClassName="high"),
            True,
            id="of a priority class",
        ),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
                }
            },
            pod(),
            False,
            id="of another priority class",
        ),
    ],
)
async def test_a_quota_counts_what_is_within_its_scopes(world, scopes, obj, counts):
    await quota(world, {"pods": "2"}, **scopes)
    await PLUGIN.validate_async(world.creation(obj))
    assert used(world) == {"pods": "1" if counts else "0"}


async def test_all_quotas_count_or_none_does(world):
    await quota(world, {"pods": "5"}, name="a")
    await quota(world, {"pods": "0"}, name="b")
    with pytest.raises(Forbidden):
        await PLUGIN.validate_async(world.creation(pod()))
    assert used(world, "a") == {"pods": "0"}


async def test_an_update_counts_for_what_it_adds(world):
    await quota(world, {"services.nodeports": "9"}, {"services.nodeports": "3"})
    await PLUGIN.validate_async(world.update(service(type="NodePort"), service()))
    assert used(world) == {"services.nodeports": "5"}


async def test_a_dry_run_is_judged_and_not_counted(world):
    await quota(world, {"pods": "1"})
    request = world.creation(pod())
    request.dry_run = True
    await PLUGIN.validate_async(request)
    assert used(world) == {"pods": "0"}


async def test_of_concurrent_requests_only_as_many_as_fit_are_admitted(world):
    await quota(world, {"pods": "3"})
    requests = [world.creation(pod()) for _ in range(5)]
    results = await asyncio.gather(*(PLUGIN.validate_async(one) for one in requests), return_exceptions=True)
    assert sum(isinstance(one, Forbidden) for one in results) == 2
    assert used(world) == {"pods": "3"}
