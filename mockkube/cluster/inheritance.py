"""What a component begins with: what was kept of it from the last time, and over that what this start says.

A flag, variable or file counts for what it names and nothing else: a version over the kept version, single gates over
the kept gates, `--without` over what was kept about running.
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
    """Return what a component is told by this start alone."""
    settings = settings_of(configuration, component)
    return {
        "version": str(settings.version),
        "featureGates": dict(settings.feature_gates),
        "running": not left_out(configuration, component),
    }


def inherited(configuration: ClusterConfiguration, component: str, kept: ReadOnlyObject) -> Object:
    """Return a kept spec with what this start says over it."""
    fresh = spec_of(configuration, component)
    spec: Object = {**kept, "featureGates": {**kept.get("featureGates", {}), **fresh["featureGates"]}}
    if "version" in configuration.given or own_of(configuration, component).version is not None:
        spec["version"] = fresh["version"]
    if "without" in configuration.given:
        spec["running"] = fresh["running"]
    return spec


async def settle_in(configuration: ClusterConfiguration, control: ControlPlane) -> None:
    """Make the clock and every component what it is at this start."""
    if CLOCK not in control.objects("clocks"):
        await control.create("clocks", CLOCK, {})
    await control.tell("clocks", CLOCK, {"mode": configuration.clock})
    kept = control.objects("components")
    for name in dict.fromkeys((*components_of(configuration), *kept)):
        if name not in kept:
            await control.create("components", name, spec_of(configuration, name))
            continue
        try:
            await control.tell("components", name, inherited(configuration, name, kept[name]["spec"]))
        except Invalid as error:
            _LOG.warning("%s: what was kept of it does not go with this start, and is dropped: %s", name, error)
            await control.tell("components", name, spec_of(configuration, name))
