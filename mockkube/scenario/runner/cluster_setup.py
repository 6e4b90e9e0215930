"""Build the cluster that a scenario starts with, for one cell of its matrix."""

from collections.abc import Mapping
from typing import Any

from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.cluster_configuration import resolve_configuration as resolve_configuration
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.cluster.temporary_cluster import make_temporary_configuration
from mockkube.runtime.random import random_for
from mockkube.runtime.steps import Chooser, InOrderChooser, SeededChooser
from mockkube.scenario.fields import SourceLocation, read
from mockkube.scenario.scenario import ClusterSetup, ComponentSetup, Scenario


def read_setup(scenario: Scenario, bindings: Mapping[str, Any]) -> ClusterSetup:
    """Return the cluster setup of a scenario, with the variables of its matrix bound."""
    at = scenario.cluster_location
    return read(ClusterSetup, scenario.cluster, SourceLocation(at.file, at.line, at.path, bindings))


def make_configuration(setup: ClusterSetup) -> ClusterConfiguration:
    """Return the configuration of a simulated cluster; ConfigurationError as `mockkube up` words it."""
    return resolve_configuration(_setup_to_settings(setup), {})


def make_real_configuration(setup: ClusterSetup) -> ClusterConfiguration:
    """Return the configuration of a cluster with an address; ConfigurationError for what needs virtual time."""
    for name, one in setup.components.items():
        if one.flags or one.server or not one.running:
            raise ConfigurationError(
                f"components.{name}: flags, server and running need virtual time: leave out --real-time"
            )
    return make_temporary_configuration(_setup_to_settings(setup))


def _setup_to_settings(setup: ClusterSetup) -> dict[str, Any]:
    """Return the cluster setup as settings by name."""
    settings: dict[str, Any] = {
        "version": setup.version,
        "feature_gates": setup.feature_gates,
        "components": {name: _component_settings(one) for name, one in setup.components.items()},
        "nodes": setup.nodes,
        "skew_policy": setup.skew_policy,
        "without": list(setup.without),
        "enable_admission_plugins": list(setup.enable_admission_plugins),
        "disable_admission_plugins": list(setup.disable_admission_plugins),
        "runtime_config": dict(setup.runtime_config),
        **({"release_trains": list(setup.release_trains)} if setup.release_trains else {}),
    }
    return settings


def _component_settings(setup: ComponentSetup) -> dict[str, Any]:
    """Return the settings of one component."""
    settings: dict[str, Any] = {"featureGates": dict(setup.feature_gates)}
    return {**settings, **({"version": setup.version} if setup.version else {})}


def build_cluster(scenario: Scenario, setup: ClusterSetup, seed: int) -> SimulatedCluster:
    """Return the simulated cluster of a run, not started."""
    flags = {name: one.flags for name, one in setup.components.items() if one.flags}
    chooser: Chooser = InOrderChooser()
    # A stream of its own: shuffling the workers must not shift the uids and names that components draw.
    if scenario.order == "shuffled":
        chooser = SeededChooser(random_for(seed, "chooser"))
    return SimulatedCluster(SimulatedClusterConfig(make_configuration(setup), flags, seed), chooser=chooser)


async def apply_late_settings(cluster: SimulatedCluster, setup: ClusterSetup) -> None:
    """Apply the component settings that can only be changed after the start."""
    # The configuration file has no such settings: they belong to the control API, which exists only once the cluster
    # runs.
    for name, one in setup.components.items():
        if one.server or not one.running:
            await cluster.change_component(name, running=one.running, server=one.server or None)
    await cluster.settle()
