"""Apply the configuration of this start over the component settings that the cluster persisted.

A flag, variable or file changes only what it names: a version replaces the persisted version, single gates replace the
persisted ones, `--without` decides which components run.
"""

import logging
from typing import Final

from mockkube.api.errors import Invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.component_settings import (
    find_own_configuration,
    is_left_out,
    list_components,
    resolve_settings,
)
from mockkube.cluster.control.clock import CLOCK_NAME
from mockkube.cluster.control.control_api import ControlApi

_LOG: Final = logging.getLogger("mockkube.cluster")


def make_spec(configuration: ClusterConfiguration, component: str) -> Object:
    """Return the spec of a component by this start's configuration alone."""
    settings = resolve_settings(configuration, component)
    return {
        "version": str(settings.version),
        "featureGates": dict(settings.feature_gates),
        "running": not is_left_out(configuration, component),
    }


def merge_spec(configuration: ClusterConfiguration, component: str, persisted: ReadOnlyObject) -> Object:
    """Return a persisted spec with this start's configuration over it."""
    fresh = make_spec(configuration, component)
    spec: Object = {**persisted, "featureGates": {**persisted.get("featureGates", {}), **fresh["featureGates"]}}
    if (
        "version" in configuration.given_settings
        or find_own_configuration(configuration, component).version is not None
    ):
        spec["version"] = fresh["version"]
    if "without" in configuration.given_settings:
        spec["running"] = fresh["running"]
    return spec


async def apply_configuration(configuration: ClusterConfiguration, control_api: ControlApi) -> None:
    """Create or update the clock and every component for this start."""
    if CLOCK_NAME not in control_api.load_objects("clocks"):
        await control_api.create_object("clocks", CLOCK_NAME, {})
    await control_api.update_spec("clocks", CLOCK_NAME, {"mode": configuration.clock})
    persisted = control_api.load_objects("components")
    for name in dict.fromkeys((*list_components(configuration), *persisted)):
        if name not in persisted:
            await control_api.create_object("components", name, make_spec(configuration, name))
            continue
        try:
            await control_api.update_spec("components", name, merge_spec(configuration, name, persisted[name]["spec"]))
        # For example gates that the new version does not have: the cluster must start all the same.
        except Invalid as error:
            _LOG.warning("%s: what was kept of it does not go with this start, and is dropped: %s", name, error)
            await control_api.update_spec("components", name, make_spec(configuration, name))
