"""Effective flags of components, as `/flagz` shows them."""

from collections.abc import Iterable, Mapping
from typing import Any

from mockkube.cluster.components import Settings
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.features.components import CONTROLLER_MANAGER, KUBELET, is_api_server


def flags_of(configuration: ClusterConfiguration, settings: Settings) -> Mapping[str, str]:
    """Return the flags that correspond to a component's settings, values as upstream prints them."""
    if is_api_server(settings.component):
        return {
            "bind-address": configuration.bind,
            "disable-admission-plugins": _listed(configuration.disable_admission_plugins),
            "enable-admission-plugins": _listed(configuration.enable_admission_plugins),
            **_emulating(settings),
        }
    name, _, node = settings.component.partition(".")
    if name == KUBELET:
        gates = ",".join(f"{gate}={_shown(on)}" for gate, on in sorted(settings.feature_gates.items()))
        return {"feature-gates": gates, "hostname-override": node}
    flags = _told(configuration) if name == CONTROLLER_MANAGER else {}
    return {**flags, **_emulating(settings)}


def _told(configuration: ClusterConfiguration) -> Mapping[str, str]:
    flags = dict(configuration.controller_manager)
    if configuration.controllers:
        flags["controllers"] = configuration.controllers
    return {name: _printed(value) for name, value in flags.items()}


def _printed(value: Any) -> str:
    if isinstance(value, bool):
        return _shown(value)
    return _listed(value) if isinstance(value, list | tuple) else str(value)


def _emulating(settings: Settings) -> Mapping[str, str]:
    """Return flags of binaries with emulated versions, whose gates have a component prefix (`:Gate=true`)."""
    gates = ",".join(f":{gate}={_shown(on)}" for gate, on in sorted(settings.feature_gates.items()))
    return {"emulated-version": "[]", "feature-gates": gates}


def _listed(values: Iterable[str]) -> str:
    return f"[{','.join(values)}]"


def _shown(on: bool) -> str:
    return "true" if on else "false"
