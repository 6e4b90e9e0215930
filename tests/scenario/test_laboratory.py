"""A whole cluster in this process, whose every step somebody takes."""

import hashlib
import os
import subprocess
import sys
from typing import Any

import pytest
from mockkube_storage.watch import QUEUED_EVENTS_MAX

from mockkube.api.errors import Forbidden, Invalid, NotFound
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.identity import AUTHENTICATED, ClientIdentity
from mockkube.client.protocol import Key, Selection
from mockkube.cluster import simulated_cluster
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.runtime.random import random_for
from mockkube.runtime.steps import LivelockError, SeededChooser

BARE = ClusterConfiguration(without=("scheduler", "controllers", "kubelets"))


def pod(name: str, **spec: Any) -> Any:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": [{"name": "c"}], **spec}}


def image(obj: Any) -> Any:
    return {**obj, "spec": {**obj["spec"], "containers": [{"name": "c", "image": "i"}]}}


async def ran(seed: int) -> str:
    """The trace of a rollout with a change of gates, pods and a taint."""
    chooser = SeededChooser(random_for(seed, "chooser"))
    async with SimulatedCluster(
        SimulatedClusterConfig(ClusterConfiguration(nodes=2), seed=seed), chooser=chooser
    ) as lab:
        client = lab.client()
        for number in range(4):
            await client.create("Pod", image(pod(f"p{number}")))
        await lab.settle()
        await lab.change_component("kube-scheduler", gates={"TaintTolerationComparisonOperators": True})
        taint = {"spec": {"taints": [{"key": "broken", "effect": "NoExecute"}]}}
        await client.patch("Node", Key("", "node-1"), taint, patch_type=PatchType.MERGE)
        await lab.advance(30)
        return lab.trace.render()


async def test_the_same_seed_does_the_same_and_another_something_else() -> None:
    one, two, other = await ran(3), await ran(3), await ran(4)
    assert one == two
    assert one != other


def test_the_same_seed_does_the_same_in_another_process() -> None:
    program = (
        "import asyncio, hashlib, importlib.util as u, sys\n"
        "spec = u.spec_from_file_location('t', sys.argv[1]); t = u.module_from_spec(spec); spec.loader.exec_module(t)\n"
        "print(hashlib.sha256(asyncio.run(t.ran(3)).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program, __file__],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len(next(iter(digests)).strip()) == hashlib.sha256().digest_size * 2


async def test_a_pod_is_bound_and_runs_without_time_passing() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=1))) as lab:
        await lab.client().create("Pod", image(pod("p")))
        await lab.settle()
        seen = await lab.client().get("Pod", Key("default", "p"))
        assert (seen["spec"]["nodeName"], seen["status"]["phase"]) == ("node-1", "Running")
        assert lab.clock.monotonic() == 0


async def test_time_stops_at_the_moment_something_holds() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(BARE)) as lab:

        async def late() -> bool:
            return lab.clock.monotonic() >= 7

        assert await lab.advance_until(late, 20) is True
        assert lab.clock.monotonic() in (7, 10, 20)
        assert await lab.advance_until(late, 0) is True


async def test_components_are_judged_as_the_control_api_judges_them() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(BARE)) as lab:
        with pytest.raises(Invalid, match="feature is locked to true"):
            await lab.change_component("kube-apiserver", gates={"SidecarContainers": False})
        warnings = await lab.change_component("kube-scheduler", version="1.33", running=True)
        assert "1.33" in warnings[0]
        await lab.change_component("kube-scheduler", gates={"TaintTolerationCEL": True}, version="1.36")
        assert lab.get_component_specs()["kube-scheduler"].settings.feature_gates == {"TaintTolerationCEL": True}
        await lab.change_component("kube-scheduler", gates={"TaintTolerationCEL": None})
        assert lab.get_component_specs()["kube-scheduler"].settings.feature_gates == {}


async def test_a_server_of_another_version_shows_what_it_knows() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(BARE)) as lab:
        await lab.change_component("kube-apiserver.1", version="1.34")
        await lab.client().create("ConfigMap", {"metadata": {"name": "a", "namespace": "default"}})
        seen = await lab.client(server="kube-apiserver.1").get("ConfigMap", Key("default", "a"))
        assert seen["metadata"]["name"] == "a"
        await lab.remove_component("kube-apiserver.1")
        assert "kube-apiserver.1" not in lab.get_component_specs()


async def test_users_may_do_what_they_may() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(BARE)) as lab:
        nobody = lab.client(ClientIdentity("jane", (AUTHENTICATED,), "test"))
        with pytest.raises(Forbidden, match='User "jane" cannot get resource "pods"'):
            await nobody.get("Pod", Key("default", "p"))


async def test_a_restart_brings_the_same_back() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=1))) as lab:
        await lab.client().create("Pod", image(pod("p")))
        await lab.settle()
        before = await lab.client().get("Pod", Key("default", "p"))
        for component in ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet"):
            await lab.restart_component(component)
            await lab.settle()
        assert await lab.client().get("Pod", Key("default", "p")) == before
        with pytest.raises(NotFound):
            await lab.restart_component("kubelet.none")


async def test_a_restored_snapshot_is_what_was() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(BARE)) as lab:
        await lab.client().create("ConfigMap", {"metadata": {"name": "a", "namespace": "default"}, "data": {"k": "1"}})
        await lab.save_snapshot("then")
        await lab.client().delete("ConfigMap", Key("default", "a"))
        await lab.restore_snapshot("then")
        seen = await lab.client().get("ConfigMap", Key("default", "a"))
        assert seen["data"] == {"k": "1"}


async def test_the_trace_tells_who_wrote_what() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=1))) as lab:
        await lab.client().create("Pod", image(pod("p")))
        await lab.settle()
        told = [
            (step.worker, write.verb, write.compute_difference().get("spec"))
            for step in lab.trace
            for write in step.writes
            if (write.resource, write.name) == ("core/pods", "default/p")
        ]
        assert [worker for worker, _, _ in told[:2]] == ["operator", "kube-scheduler/binding"]
        assert told[1][1:] == ("update", {"nodeName": "node-1"})


async def test_nobody_changes_in_place_what_all_share() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=2))) as lab:
        for number in range(3):
            await lab.client().create("Pod", image(pod(f"p{number}")))
        await lab.advance(60)
        assert lab.find_mutated_objects() == []


async def test_flags_of_components_count_and_are_judged() -> None:
    flags = {"kube-controller-manager": {"node-monitor-grace-period": "20s", "controllers": "*,-daemonset-controller"}}
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=1), flags)) as lab:
        await lab.change_component("kubelet", running=False)
        await lab.advance(30)
        node = await lab.client().get("Node", Key("", "node-1"))
        assert [one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready"] == ["Unknown"]
    with pytest.raises(ConfigurationError, match="unknown flag 'node-monitor-grace': did you mean"):
        SimulatedCluster(SimulatedClusterConfig(flags={"kube-controller-manager": {"node-monitor-grace": "20s"}}))


async def test_workers_that_undo_each_other_are_found_out() -> None:
    with pytest.raises(LivelockError, match="no rest after"):
        async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=1), steps_max=10)):
            pass


async def test_a_bounded_trace_has_the_same_digest() -> None:
    digests, kept, numbers = [], [], []
    for steps_max in (0, 7):
        config = SimulatedClusterConfig(ClusterConfiguration(nodes=2), trace_steps_max=steps_max)
        async with SimulatedCluster(config) as lab:
            await lab.client().create("Pod", image(pod("p")))
            await lab.advance(60)
            digests.append(lab.trace.compute_digest())
            kept.append(len(lab.trace.steps))
            numbers.append(lab.trace.steps[-1].number)
    assert digests[0] == digests[1]
    assert numbers[0] == numbers[1] == kept[0]
    assert 7 <= kept[1] < 14


async def test_more_objects_may_take_more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    config = SimulatedClusterConfig(ClusterConfiguration(nodes=1), steps_max=300)
    for objects, steps in ((5_000, 300), (20, None)):
        monkeypatch.setattr(simulated_cluster, "_OBJECTS_MANY", objects)
        async with SimulatedCluster(config) as lab:
            for number in range(60):
                await lab.client().create("Pod", image(pod(f"p{number}")))
            if steps is None:
                assert await lab.settle() > config.steps_max
            else:
                with pytest.raises(LivelockError, match=f"no rest after {steps} steps"):
                    await lab.settle()


async def test_a_client_may_create_many_objects_between_two_steps() -> None:
    count = QUEUED_EVENTS_MAX + 1
    async with SimulatedCluster(SimulatedClusterConfig(BARE, trace_steps_max=10)) as lab:
        objects = [{"metadata": {"name": f"c{number}", "namespace": "default"}} for number in range(count)]
        assert not any(await lab.client().create_all("ConfigMap", objects))
        await lab.advance(1)
        listed = await lab.client().list("ConfigMap", Selection(namespace="default"))
        assert len(listed.items) > count  # and that of the root CA
