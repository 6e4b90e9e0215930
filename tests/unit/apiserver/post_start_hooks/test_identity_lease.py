from datetime import timedelta

from mockkube.api.times import parse_micro_time, render_micro_time
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.post_start_hooks.identity_lease import HOSTNAME_LABEL, IDENTITY_LABEL, IdentityLease, lease_name
from mockkube.apiserver.registry import creation
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

LEASES = ("coordination.k8s.io", "leases")
HOST = "vm"
NAME = "apiserver-wlv32tlttr4jl3gtroqexyxapa"


def stored(registry):
    records = registry.find_storage_resource(*LEASES).collection.objects.values()
    return {record.name: record.load() for record in records}


async def make(registry, name, ago, labels):
    now = registry.dependencies.clock.now()
    spec = {"holderIdentity": "x", "leaseDurationSeconds": 60, "renewTime": render_micro_time(now - ago)}
    home, call = registry.find_storage_resource(*LEASES), RequestScope(User("somebody"), "kube-system")
    obj = home.decode({"metadata": {"name": name, "labels": labels}, "spec": spec}, call, "Strict")
    await creation.create(home, call, obj, WriteOptions())


def test_a_server_is_called_by_its_host_and_what_tells_it_apart():
    assert lease_name(HOST) == NAME
    assert lease_name(f"{HOST}/1") != NAME


async def test_a_server_says_that_it_is_alive(registry):
    lease = IdentityLease(registry, HOST)
    await lease.renew()
    first = stored(registry)[NAME]
    assert first["metadata"]["labels"] == {IDENTITY_LABEL: "kube-apiserver", HOSTNAME_LABEL: HOST}
    assert first["spec"]["holderIdentity"].startswith(f"{NAME}_")
    assert first["spec"]["leaseDurationSeconds"] == 3600
    await lease.renew()
    second = stored(registry)[NAME]
    assert second["metadata"]["uid"] == first["metadata"]["uid"]
    times = [parse_micro_time(one["spec"]["renewTime"]) for one in (first, second)]
    assert times[0] < times[1]


async def test_a_new_server_takes_the_lease_of_the_one_before(registry):
    await IdentityLease(registry, HOST).renew()
    before = stored(registry)[NAME]["spec"]["holderIdentity"]
    await IdentityLease(registry, HOST).renew()
    assert stored(registry)[NAME]["spec"]["holderIdentity"] != before


async def test_leases_of_servers_that_are_gone_are_collected(registry):
    own, long_ago = {IDENTITY_LABEL: "kube-apiserver"}, timedelta(hours=1)
    await make(registry, "gone", long_ago, own)
    await make(registry, "alive", timedelta(seconds=30), own)
    await make(registry, "other", long_ago, {})
    await IdentityLease(registry, HOST).delete_expired()
    assert sorted(stored(registry)) == ["alive", "other"]
