"""Scheduler and controller manager work only while they hold their Leases."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.leader_election import JITTER_FACTOR, LEASE_SECONDS, RETRY_SECONDS
from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig

POD = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
COMPONENTS = ("kube-scheduler", "kube-controller-manager")


@pytest.fixture
async def cluster() -> AsyncIterator[SimulatedCluster]:
    config = SimulatedClusterConfig(ClusterConfiguration(nodes=1, leader_elect=True), seed=1)
    async with SimulatedCluster(config) as cluster:
        yield cluster


async def get_lease(cluster: SimulatedCluster, name: str) -> Any:
    return (await cluster.client().get("Lease", Key("kube-system", name)))["spec"]


async def take_lease(cluster: SimulatedCluster, name: str, *, renewed_at: str = "2030-01-01T12:00:00.000000Z") -> None:
    """Let another process hold a Lease from now on, and not renew it."""
    patch = {"spec": {"holderIdentity": "another", "renewTime": renewed_at}}
    await cluster.client().patch("Lease", Key("kube-system", name), patch, patch_type=PatchType.MERGE)


def get_state(cluster: SimulatedCluster, name: str) -> tuple[str, str]:
    status: Object = cluster._control_plane.control_api.load_objects("components")[name]["status"]
    [running] = [one for one in status["conditions"] if one["type"] == "Running"]
    return status["phase"], running["message"]


async def get_node_name(cluster: SimulatedCluster) -> str:
    name: str = (await cluster.client().get("Pod", Key("default", "p")))["spec"].get("nodeName", "")
    return name


@pytest.mark.parametrize("component", COMPONENTS)
async def test_a_component_holds_its_lease_while_it_works(cluster: SimulatedCluster, component: str) -> None:
    lease = await get_lease(cluster, component)
    assert lease["holderIdentity"].startswith("mockkube_")
    assert (lease["leaseDurationSeconds"], lease["leaseTransitions"]) == (15, 0)
    assert get_state(cluster, component) == ("Running", "works with kube-apiserver")
    metrics = cluster.render_metrics(component).decode()
    assert f'leader_election_master_status{{name="{component}"}} 1' in metrics


async def test_events_name_the_leader(cluster: SimulatedCluster) -> None:
    events = (await cluster.client().list("Event")).items
    found = [event for event in events if event["reason"] == "LeaderElection"]
    assert sorted((one["source"]["component"], one["involvedObject"]["name"]) for one in found) == [
        ("default-scheduler", "kube-scheduler"),
        ("kube-controller-manager", "kube-controller-manager"),
    ]
    assert all(one["message"].endswith(" became leader") for one in found)


async def test_a_scheduler_that_loses_its_lease_stops_and_takes_over_when_the_other_is_gone(
    cluster: SimulatedCluster,
) -> None:
    await take_lease(cluster, "kube-scheduler")
    await cluster.settle()
    assert get_state(cluster, "kube-scheduler") == (
        "Standby",
        "the lease kube-system/kube-scheduler is held by another",
    )
    assert cluster.get_component("kube-scheduler") is None
    assert 'leader_election_master_status{name="kube-scheduler"} 0' in cluster.render_metrics("kube-scheduler").decode()
    await cluster.client().create("Pod", POD)
    await cluster.advance(LEASE_SECONDS - 0.001)
    assert await get_node_name(cluster) == ""
    await cluster.advance(0.001)
    assert await get_node_name(cluster) == "node-1"
    assert get_state(cluster, "kube-scheduler") == ("Running", "works with kube-apiserver")
    assert (await get_lease(cluster, "kube-scheduler"))["leaseTransitions"] == 1


async def test_a_stopped_scheduler_releases_its_lease(cluster: SimulatedCluster) -> None:
    await cluster.change_component("kube-scheduler", running=False)
    lease = await get_lease(cluster, "kube-scheduler")
    assert (lease["holderIdentity"], lease["leaseDurationSeconds"]) == ("", 1)


async def test_a_restarted_scheduler_leads_again_at_once(cluster: SimulatedCluster) -> None:
    before = (await get_lease(cluster, "kube-scheduler"))["holderIdentity"]
    await cluster.restart_component("kube-scheduler")
    await cluster.client().create("Pod", POD)
    await cluster.settle()
    assert await get_node_name(cluster) == "node-1"
    # As upstream, each start of the process is another candidate.
    assert (await get_lease(cluster, "kube-scheduler"))["holderIdentity"] != before


@pytest.mark.parametrize(
    "inject",
    [pytest.param({"status": {"code": 503}}, id="errors"), pytest.param({"delaySeconds": 600}, id="no answers")],
)
async def test_a_scheduler_without_an_api_server_stops_at_the_deadline(
    cluster: SimulatedCluster, inject: Object
) -> None:
    await cluster.set_fault("outage", {"match": {"component": "kube-scheduler"}, "inject": inject})
    await cluster.advance(9)
    assert get_state(cluster, "kube-scheduler")[0] == "Running"
    await cluster.advance(2)
    assert get_state(cluster, "kube-scheduler")[0] == "Standby"
    await cluster.remove_fault("outage")
    # An answer that a delay holds back comes after ten minutes all the same.
    await cluster.advance(610 if "delaySeconds" in inject else 5)
    assert get_state(cluster, "kube-scheduler")[0] == "Running"


@pytest.mark.parametrize("component", COMPONENTS)
async def test_the_role_of_a_component_allows_it_to_watch_its_lease(cluster: SimulatedCluster, component: str) -> None:
    attributes = {
        "namespace": "kube-system",
        "group": "coordination.k8s.io",
        "resource": "leases",
        "name": component,
    }
    for verb in ("get", "list", "watch", "create", "update"):
        review = {"spec": {"user": f"system:{component}", "resourceAttributes": {**attributes, "verb": verb}}}
        answer = await cluster.client().create("SubjectAccessReview", {"metadata": {}, **review})
        assert answer["status"]["allowed"], verb


@pytest.mark.parametrize(
    ("inject", "seconds_max"),
    [
        pytest.param({"dropWatch": True}, LEASE_SECONDS, id="dropped, and opened again"),
        pytest.param({"holdEvents": True}, LEASE_SECONDS + RETRY_SECONDS * (1 + JITTER_FACTOR), id="hanging"),
    ],
)
async def test_a_standby_outlives_its_watch(cluster: SimulatedCluster, inject: Object, seconds_max: float) -> None:
    await take_lease(cluster, "kube-scheduler")
    await cluster.settle()
    await cluster.set_fault("watches", {"match": {"component": "kube-scheduler", "verbs": ["watch"]}, "inject": inject})
    await cluster.advance(5)
    if "dropWatch" in inject:
        await cluster.remove_fault("watches")
        await cluster.advance(8)
    await take_lease(cluster, "kube-scheduler", renewed_at="2030-01-01T13:00:00.000000Z")
    await cluster.advance(LEASE_SECONDS - 0.001)
    assert get_state(cluster, "kube-scheduler")[0] == "Standby"
    await cluster.advance(seconds_max - LEASE_SECONDS + 0.001)
    assert get_state(cluster, "kube-scheduler")[0] == "Running"


async def test_a_cluster_without_election_has_no_leases() -> None:
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=1), seed=1)) as cluster:
        names = {lease["metadata"]["name"] for lease in (await cluster.client().list("Lease")).items}
        assert not names & set(COMPONENTS)


@pytest.mark.parametrize(
    ("component", "flags"),
    [
        pytest.param("kube-controller-manager", {"leader-elect": False}, id="flag of the controller manager"),
        pytest.param(
            "kube-scheduler",
            {
                "config": {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "leaderElection": {"leaderElect": False},
                }
            },
            id="configuration of the scheduler",
        ),
    ],
)
async def test_a_component_may_leave_the_election_out(component: str, flags: dict[str, Any]) -> None:
    configuration = ClusterConfiguration(nodes=1, leader_elect=True)
    async with SimulatedCluster(SimulatedClusterConfig(configuration, {component: flags}, seed=1)) as cluster:
        names = {lease["metadata"]["name"] for lease in (await cluster.client().list("Lease")).items}
        assert component not in names
        assert get_state(cluster, component)[0] == "Running"
