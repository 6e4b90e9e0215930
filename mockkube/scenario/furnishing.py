"""From the cluster of a scenario, with the names of its matrix bound, to one that is started."""

from collections.abc import Mapping
from typing import Any

from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.configuration import resolve as resolve_configuration
from mockkube.cluster.errors import ConfigurationError
from mockkube.cluster.laboratory import Laboratory, Setup
from mockkube.cluster.passing import configuration_of as configuration_for_a_while
from mockkube.runtime.chance import random_for
from mockkube.runtime.steps import Chooser, InOrderChooser, SeededChooser
from mockkube.scenario.fields import Place, read
from mockkube.scenario.scenario import ClusterSetup, ComponentSetup, Scenario


def setup_of(scenario: Scenario, bindings: Mapping[str, Any]) -> ClusterSetup:
    """Return the cluster a scenario begins with, for one cell of its matrix."""
    at = scenario.cluster_place
    return read(ClusterSetup, scenario.cluster, Place(at.file, at.line, at.path, bindings))


def configuration_of(setup: ClusterSetup) -> ClusterConfiguration:
    """Return the configuration; ConfigurationError, in the words of `mockkube up`, for what cannot be meant."""
    return resolve_configuration(_told(setup), {})


def real_configuration_of(setup: ClusterSetup) -> ClusterConfiguration:
    """Return the configuration of such a cluster with an address; ConfigurationError for what only a laboratory has."""
    for name, one in setup.components.items():
        if one.flags or one.server or not one.running:
            raise ConfigurationError(
                f"components.{name}: flags, server and running need virtual time: leave out --real-time"
            )
    return configuration_for_a_while(_told(setup))


def _told(setup: ClusterSetup) -> dict[str, Any]:
    """Return what a cluster is told, by the names of settings."""
    given: dict[str, Any] = {
        "version": setup.version,
        "feature_gates": setup.feature_gates,
        "components": {name: _own(one) for name, one in setup.components.items()},
        "nodes": setup.nodes,
        "skew_policy": setup.skew_policy,
        "without": list(setup.without),
        "enable_admission_plugins": list(setup.enable_admission_plugins),
        "disable_admission_plugins": list(setup.disable_admission_plugins),
        **({"release_trains": list(setup.release_trains)} if setup.release_trains else {}),
    }
    return given


def _own(setup: ComponentSetup) -> dict[str, Any]:
    own: dict[str, Any] = {"featureGates": dict(setup.feature_gates)}
    return {**own, **({"version": setup.version} if setup.version else {})}


def laboratory_of(scenario: Scenario, setup: ClusterSetup, seed: int) -> Laboratory:
    """Return the laboratory of a run, not started."""
    flags = {name: one.flags for name, one in setup.components.items() if one.flags}
    chooser: Chooser = InOrderChooser()
    if scenario.order == "shuffled":
        chooser = SeededChooser(random_for(seed, "chooser"))
    return Laboratory(Setup(configuration_of(setup), flags, seed), chooser=chooser)


async def complete(laboratory: Laboratory, setup: ClusterSetup) -> None:
    """Tell components what can only be told once they are there."""
    for name, one in setup.components.items():
        if one.server or not one.running:
            await laboratory.set(name, running=one.running, server=one.server or None)
    await laboratory.settle()
