"""When the leases of nodes are renewed, and for how long they last."""

from itertools import pairwise

import pytest

from mockkube.api.errors import NotFound
from mockkube.kubelet.nodes.node_leases import DURATION_ANNOTATION, NodeLeases, get_lease_seconds
from mockkube.runtime.virtual_time import VirtualClock


def node(name, seconds=None, uid="1"):
    annotations = {} if seconds is None else {DURATION_ANNOTATION: seconds}
    return {"metadata": {"name": name, "uid": uid, "annotations": annotations}}


class Leases:
    """Client of the leases alone; notes when each was written."""

    def __init__(self, clock):
        self.clock, self.objects, self.writes = clock, {}, {}

    async def get(self, kind, key):
        if key.name not in self.objects:
            raise NotFound("there is no such lease")
        return self.objects[key.name]

    async def create(self, kind, obj):
        return self._write(obj)

    async def update(self, kind, obj):
        return self._write(obj)

    def _write(self, obj):
        name = obj["metadata"]["name"]
        self.writes.setdefault(name, []).append(self.clock.monotonic())
        self.objects[name] = obj
        return obj


async def renew(*nodes, seconds):
    """The client after the leases of some nodes were renewed for a time."""
    clock = VirtualClock()
    client = Leases(clock)
    leases = NodeLeases(client, clock, lambda name: True, owner="kubelet")
    for one in nodes:
        leases.add(one)
    while (at := 0.0 if leases.is_ready() else leases.wake_at()) is not None and at <= seconds:
        clock.move_to(at)
        await leases.step()
    return client


async def test_a_lease_of_forty_seconds_is_renewed_every_ten():
    writes = (await renew(node("n"), seconds=60)).writes["n"]
    assert len(writes) in (6, 7)
    assert {round(later - earlier, 6) for earlier, later in pairwise(writes[1:])} == {10}


async def test_the_annotation_sets_the_duration_and_a_quarter_of_it_the_interval():
    client = await renew(node("n", "400"), node("other"), seconds=1000)
    assert client.objects["n"]["spec"]["leaseDurationSeconds"] == 400
    assert client.objects["other"]["spec"]["leaseDurationSeconds"] == 40
    writes = client.writes["n"]
    assert {round(later - earlier, 6) for earlier, later in pairwise(writes[1:])} == {100}
    assert len(client.writes["other"]) > 9 * len(writes)


async def test_another_node_of_a_name_has_its_own_duration():
    clock = VirtualClock()
    leases = NodeLeases(Leases(clock), clock, lambda name: True, owner="kubelet")
    leases.add(node("n", "400"))
    leases.add(node("n", "20", uid="2"))
    assert leases.wake_at() <= 5
    leases.remove("n")
    assert leases.wake_at() is None


@pytest.mark.parametrize("text", ["", "0", "-5", "ten", "1.5", "²", "99999999999", "2147483648"])
def test_an_annotation_without_a_number_of_seconds_is_ignored(text):
    assert get_lease_seconds(node("n", text)) == 40
