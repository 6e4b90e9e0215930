"""Apply the configuration of this start over the component settings that the cluster persisted.

A flag, variable or file changes only what it names: a version replaces the persisted version, single gates replace the
persisted ones, `--without` decides which components run.
"""

import logging
from typing import Final

from mockkube.api.errors import Invalid
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.cluster.components import components_of, left_out, own_of, settings_of
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.control.clock import CLOCK
from mockkube.cluster.control.plane import ControlPlane

_LOG: Final = logging.getLogger("mockkube.cluster")


def spec_of(configuration: ClusterConfiguration, component: str) -> Object:
    """Return the spec of a component by this start's configuration alone."""
    settings = settings_of(configuration, component)
    return {
        "version": str(settings.version),
        "featureGates": dict(settings.feature_gates),
        "running": not left_out(configuration, component),
    }


def inherited(configuration: ClusterConfiguration, component: str, kept: ReadOnlyObject) -> Object:
    """Return a persisted spec with this start's configuration over it."""
    fresh = spec_of(configuration, component)
    spec: Object = {**kept, "featureGates": {**kept.get("featureGates", {}), **fresh["featureGates"]}}
    if "version" in configuration.given or own_of(configuration, component).version is not None:
        spec["version"] = fresh["version"]
    if "without" in configuration.given:
        spec["running"] = fresh["running"]
    return spec


async def settle_in(configuration: ClusterConfiguration, control: ControlPlane) -> None:
    """Create or update the clock and every component for this start."""
    if CLOCK not in control.objects("clocks"):
        await control.create("clocks", CLOCK, {})
    await control.tell("clocks", CLOCK, {"mode": configuration.clock})
    persisted = control.objects("components")
    for name in dict.fromkeys((*components_of(configuration), *persisted)):
        if name not in persisted:
            await control.create("components", name, spec_of(configuration, name))
            continue
        try:
            await control.tell("components", name, inherited(configuration, name, persisted[name]["spec"]))
        # For example gates that the new version does not have: the cluster must start all the same.
        except Invalid as error:
            _LOG.warning("%s: what was kept of it does not go with this start, and is dropped: %s", name, error)
            await control.tell("components", name, spec_of(configuration, name))
