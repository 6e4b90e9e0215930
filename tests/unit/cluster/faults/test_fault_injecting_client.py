"""The line from a component to a server of its process, and what faults do on it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.errors import ApiError, Expired, Forbidden, NotFound, Unavailable
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.server import ApiServer, ApiServerOptions
from mockkube.client import identity
from mockkube.client.protocol import Key, Selection, WatchEnded
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.cluster.faults.fault_injecting_client import STAGE_KINDS, ComponentClientConfig, FaultInjectingClient
from mockkube.cluster.faults.faults import Faults
from mockkube.features.versions import DEFAULT
from mockkube.kubelet.stages.stage import STAGE_KIND as STAGE
from mockkube.proposals.component_extensions import make_schema
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock

A, GONE = Key("default", "a"), Key("default", "gone")
HERE = Selection("default", fields="metadata.name!=kube-root-ca.crt")


@dataclass
class Rig:
    line: FaultInjectingClient
    faults: Faults
    door: LocalEndpoint
    pauses: list[float] = field(default_factory=list)

    def inject(self, match: dict[str, Any], inject: dict[str, Any], **status: Any) -> None:
        spec = {"match": match, "inject": inject}
        self.faults.replace_faults({"f": {"metadata": {"name": "f", "uid": "u"}, "spec": spec, "status": status}})

    async def revision(self) -> int:
        return int((await self.line.list("ConfigMap")).resource_version)

    async def put(self, name: str, **data: str) -> None:
        await self.line.create("ConfigMap", {"metadata": {"name": name, "namespace": "default"}, "data": data})


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[Rig]:
    clock, chance = VirtualClock(), Random.from_seed(1, "test")
    options = ApiServerOptions(authenticator=Authenticator({}), disable_admission=("ServiceAccount",))
    async with MemoryStore() as store:
        server = ApiServer(store=store, options=options, clock=clock, random=chance)
        await server.start()
        door, faults, pauses = LocalEndpoint(), Faults(chance), list[float]()
        door.open(server)

        async def pause(seconds: float) -> None:
            pauses.append(seconds)

        end = ComponentClientConfig(identity.controller_manager(DEFAULT), VersionedDecoder(make_schema(DEFAULT)))
        yield Rig(FaultInjectingClient("kube-apiserver", door, end, faults, pause_step=pause), faults, door, pauses)
        door.close()
        await server.stop()


async def test_it_leads_to_the_server(rig: Rig) -> None:
    await rig.put("a", x="1")
    assert (await rig.line.get("ConfigMap", A))["data"] == {"x": "1"}
    await rig.line.delete("ConfigMap", A)
    with pytest.raises(NotFound):
        await rig.line.get("ConfigMap", A)


async def test_a_node_without_the_right_to_still_reads_what_it_is_simulated_by(rig: Rig) -> None:
    end = ComponentClientConfig(
        identity.kubelet("n", DEFAULT), VersionedDecoder(make_schema(DEFAULT)), identity.kubelets(DEFAULT)
    )
    line = FaultInjectingClient("kube-apiserver", rig.door, end, rig.faults, pause_step=rig.line._pause_step)
    assert (await line.list("CustomResourceDefinition")).items == []
    with pytest.raises(Forbidden):
        await line.list("ClusterRole")


def test_stages_are_what_a_kubelet_is_simulated_by() -> None:
    assert STAGE in STAGE_KINDS


async def test_without_a_server_it_is_dead(rig: Rig) -> None:
    rig.inject({}, {"delaySeconds": 1.0})
    rig.door.close()
    with pytest.raises(Unavailable):
        await rig.line.list("ConfigMap")


async def test_an_answer_is_raised_after_its_delay(rig: Rig) -> None:
    rig.inject({"resources": ["configmaps"], "verbs": ["create"]}, {"status": {"code": 507}, "delaySeconds": 3.0})
    with pytest.raises(ApiError) as raised:
        await rig.put("a")
    assert (raised.value.code, rig.pauses) == (507, [3.0])
    assert (await rig.line.list("ConfigMap", HERE)).items == []


async def test_the_component_is_known_by_its_user_agent(rig: Rig) -> None:
    rig.inject({"component": "kubelet"}, {"status": {"code": 500}})
    await rig.put("a")
    rig.inject({"component": "kube-controller-manager"}, {"status": {"code": 500}})
    with pytest.raises(ApiError):
        await rig.put("b")


async def test_stale_reads_show_what_was(rig: Rig) -> None:
    await rig.put("a", x="1")
    await rig.put("gone")
    rig.inject({}, {"staleReads": True}, revision=await rig.revision())
    await rig.line.patch("ConfigMap", A, {"data": {"x": "2"}})
    await rig.line.delete("ConfigMap", GONE)
    await rig.put("new")
    assert (await rig.line.get("ConfigMap", A))["data"] == {"x": "1"}
    assert (await rig.line.get("ConfigMap", GONE))["metadata"]["name"] == "gone"
    with pytest.raises(NotFound):
        await rig.line.get("ConfigMap", Key("default", "new"))
    listed = await rig.line.list("ConfigMap", HERE)
    assert [item["metadata"]["name"] for item in listed.items] == ["a", "gone"]
    watch = await rig.line.watch("ConfigMap", HERE, listed.resource_version)
    assert [event.type.value for event in watch.take()] == ["MODIFIED", "DELETED", "ADDED"]


async def test_what_goes_on_may_have_expired(rig: Rig) -> None:
    rig.inject({}, {"expired": True})
    with pytest.raises(Expired):
        await rig.line.watch("ConfigMap", HERE, "1")


async def test_an_open_watch_is_cut_after_what_it_brought(rig: Rig) -> None:
    watch = await rig.line.watch("ConfigMap", HERE, str(await rig.revision()))
    await rig.put("a")
    rig.inject({"verbs": ["watch"]}, {"dropWatch": True})
    rig.line.cut_watches(["f"])
    assert len(watch.take()) == 1
    with pytest.raises(WatchEnded):
        watch.take()
    with pytest.raises(Unavailable, match="cut"):
        await rig.line.watch("ConfigMap", HERE, "")


async def test_events_are_held_until_the_fault_ends(rig: Rig) -> None:
    watch = await rig.line.watch("ConfigMap", HERE, str(await rig.revision()))
    rig.inject({"resources": ["configmaps"]}, {"holdEvents": True})
    rig.line.cut_watches(("f",))
    await rig.put("a")
    await rig.put("b")
    await rig.revision()  # the watch has the events
    assert watch.take() == []
    assert not watch.is_ready()
    rig.faults.replace_faults({})
    rig.line.cut_watches(("f",))
    assert watch.is_ready()
    assert [event.object["metadata"]["name"] for event in watch.take()] == ["a", "b"]


async def test_a_missed_event_is_replaced_by_the_next(rig: Rig) -> None:
    watch = await rig.line.watch("ConfigMap", HERE, str(await rig.revision()))
    spec = {"match": {"name": "a"}, "inject": {"missEvents": True}, "count": 1}
    rig.faults.replace_faults({"f": {"metadata": {"name": "f", "uid": "u"}, "spec": spec}})
    await rig.put("a", x="1")
    await rig.line.patch("ConfigMap", A, {"data": {"x": "2"}})
    await rig.revision()
    assert [(event.type, event.object["data"]) for event in watch.take()] == [("ADDED", {"x": "2"})]


async def test_a_write_can_take_effect_and_fail(rig: Rig) -> None:
    rig.inject({"verbs": ["create"]}, {"status": {"code": 504, "reason": "Timeout"}, "afterEffect": True})
    with pytest.raises(ApiError) as failed:
        await rig.put("a", x="1")
    assert failed.value.code == 504
    assert (await rig.line.get("ConfigMap", A))["data"] == {"x": "1"}
