"""Scheduler plugins of a proposal from outside: among the default ones, enabled by name, or in the place of another."""

from dataclasses import replace

import pytest

from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.proposals import loading
from mockkube.proposals.proposal import SchedulerPlugin
from mockkube.scheduler.catalogue import default_plugins, find_plugin
from mockkube.scheduler.configuration.kube_scheduler_configuration import (
    SchedulerConfigurationError,
    parse_configuration,
)
from mockkube.scheduler.framework.interface import FilterPlugin
from mockkube.scheduler.framework.status import SUCCESS, Status

GATE = "QuietNodes"
KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class Refusing(FilterPlugin):
    """Refuses every node but one."""

    name = "Refusing"

    def __init__(self, context, args):
        self._open = args.get("open", "")

    def filter(self, state, pod, node):
        return SUCCESS if node.name == self._open else Status.unresolvable("node(s) were refused")


@pytest.fixture
def caps(file):
    """A scheduler whose proposal brings these plugins: `caps(SchedulerPlugin(...), on=True)`."""

    def make(*plugins, on=True, version="1.36"):
        [proposal] = loading.load_file(file)
        own = replace(proposal, scheduler_plugins=plugins or proposal.scheduler_plugins, origin="")
        trains = loading.add_to_trains(loading.TRAINS, (own,))
        release = Version.parse(version)
        return Capabilities(release, enabled_gates(release, {GATE: on}, trains, component="kube-scheduler"), trains)

    return make


def test_with_the_gate_on_it_is_the_last_of_the_default_plugins(caps):
    assert (default_plugins(caps())[-1].name, default_plugins(caps())[-1].weight) == ("Quiet", 100)


@pytest.mark.parametrize(("version", "on"), [("1.36", False), ("1.35", True)])
def test_without_it_the_default_plugins_are_those_of_the_release(caps, version, on):
    assert "Quiet" not in [entry.name for entry in default_plugins(caps(on=on, version=version))]


def test_a_version_before_it_has_no_plugin_of_its_name(caps):
    with pytest.raises(SchedulerConfigurationError, match="no plugin has this name"):
        parse_configuration(_enabling("Quiet"), caps(version="1.35"))
    assert find_plugin("Quiet", caps(version="1.35")) is None


def test_one_that_is_no_default_is_enabled_by_name(caps):
    scheduler = caps(SchedulerPlugin("Refusing", Refusing, default=False))
    assert "Refusing" not in [entry.name for entry in default_plugins(scheduler)]
    [profile] = parse_configuration(_enabling("Refusing", open="n1"), scheduler).profiles
    assert [one.name for one in profile.plugins["filter"].enabled] == ["Refusing"]
    assert profile.arguments["Refusing"] == {"open": "n1"}


@pytest.mark.parametrize(("on", "factory"), [(True, True), (False, False)])
def test_one_with_the_name_of_a_plugin_takes_its_place_while_the_gate_is_on(caps, on, factory):
    scheduler = caps(SchedulerPlugin("NodeName", Refusing), on=on)
    names = [entry.name for entry in default_plugins(scheduler)]
    assert names == [entry.name for entry in default_plugins(Capabilities(scheduler.version, scheduler.gates))]
    entry = find_plugin("NodeName", scheduler)
    assert entry is not None
    assert (entry.factory is Refusing) is factory


def _enabling(name, **args):
    profile = {"plugins": {"filter": {"enabled": [{"name": name}]}}, "pluginConfig": [{"name": name, "args": args}]}
    return {**KIND, "profiles": [profile]}


async def test_a_scheduler_configuration_gives_it_arguments(file):
    told = {"proposals": [file], "nodes": 1, "feature_gates": {GATE: True}}
    config = _enabling("Quiet", label="busy")
    laboratory = SimulatedCluster(
        SimulatedClusterConfig(resolve_configuration(told, {}), flags={"kube-scheduler": {"config": config}})
    )
    async with laboratory:
        client = laboratory.client()
        node = (await client.list("Node")).items[0]
        await client.update("Node", {**node, "metadata": {**node["metadata"], "labels": {"busy": "true"}}})
        pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await client.create("Pod", {**pod, "spec": {**pod["spec"], "quiet": {"on": True}}})
        await laboratory.advance(10)
        [stored] = (await client.list("Pod")).items
    assert "nodeName" not in stored["spec"]
    assert "node(s) were loud" in stored["status"]["conditions"][0]["message"]
