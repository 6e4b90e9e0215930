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


async def test_a_node_that_is_removed_while_others_are_renewed_gets_no_lease():
    clock = VirtualClock()
    client = Leases(clock)
    leases = NodeLeases(client, clock, lambda name: True, owner="kubelet")
    write = client._write

    def remove_and_write(obj):
        leases.remove("second")
        return write(obj)

    client._write = remove_and_write
    leases.add(node("first"))
    leases.add(node("second"))
    await leases.step()
    assert list(client.objects) == ["first"]


class BatchLeases(Leases):
    """Client that repeats the renewals of some leases, and counts the reads."""

    def __init__(self, clock):
        super().__init__(clock)
        self.repeats, self.reads, self.changed_by_others = [], [], set()

    async def get(self, kind, key):
        self.reads.append(key.name)
        return await super().get(kind, key)

    async def repeat_all(self, kind, keys, change):
        self.repeats.append([key.name for key in keys])
        for key in keys:
            if key.name not in self.changed_by_others:
                self._write({**self.objects[key.name], **change})
        return [key for key in keys if key.name in self.changed_by_others]

    async def create_all(self, kind, objects):
        raise NotImplementedError


async def test_renewals_are_repeated_and_leases_that_others_changed_are_read_again():
    clock = VirtualClock()
    client = BatchLeases(clock)
    leases = NodeLeases(client, clock, lambda name: True, owner="kubelet")
    leases.add(node("n"))
    await leases.step()
    assert (client.reads, client.repeats) == (["n"], [])

    async def renew_next():
        clock.move_to(leases.wake_at())
        await leases.step()
        return client.writes["n"][-1] == clock.monotonic()

    assert await renew_next()
    assert await renew_next()
    assert (client.reads, client.repeats) == (["n"], [["n"], ["n"]])
    client.changed_by_others.add("n")
    # The lease is read in the same round, because this worker does not have its present state.
    assert await renew_next()
    assert client.reads == ["n", "n"]
    # Now it has.
    assert await renew_next()
    assert (client.reads, len(client.repeats)) == (["n", "n"], 4)


@pytest.mark.parametrize("text", ["", "0", "-5", "ten", "1.5", "²", "99999999999", "2147483648"])
def test_an_annotation_without_a_number_of_seconds_is_ignored(text):
    assert get_lease_seconds(node("n", text)) == 40
