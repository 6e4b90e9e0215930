"""Effective flags of components, as `/flagz` shows them."""

from collections.abc import Iterable, Mapping
from typing import Any

from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.features.components import CONTROLLER_MANAGER, KUBELET, is_api_server


def make_effective_flags(configuration: ClusterConfiguration, settings: ComponentSettings) -> Mapping[str, str]:
    """Return the flags that correspond to a component's settings, values as upstream prints them."""
    if is_api_server(settings.component):
        return {
            "bind-address": configuration.bind,
            "disable-admission-plugins": _format_list(configuration.disable_admission_plugins),
            "disable-http2-serving": _format_bool(configuration.disable_http2_serving),
            "enable-admission-plugins": _format_list(configuration.enable_admission_plugins),
            "runtime-config": ",".join(f"{key}={on}" for key, on in sorted(configuration.runtime_config.items())),
            **_make_emulation_flags(settings),
        }
    name, _, node = settings.component.partition(".")
    if name == KUBELET:
        gates = ",".join(f"{gate}={_format_bool(on)}" for gate, on in sorted(settings.feature_gates.items()))
        return {"feature-gates": gates, "hostname-override": node}
    flags = _controller_manager_flags(configuration) if name == CONTROLLER_MANAGER else {}
    return {**flags, **_make_emulation_flags(settings)}


def _controller_manager_flags(configuration: ClusterConfiguration) -> Mapping[str, str]:
    flags = dict(configuration.controller_manager)
    if configuration.controllers:
        flags["controllers"] = configuration.controllers
    return {name: _format_value(value) for name, value in flags.items()}


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return _format_bool(value)
    return _format_list(value) if isinstance(value, list | tuple) else str(value)


def _make_emulation_flags(settings: ComponentSettings) -> Mapping[str, str]:
    """Return flags of binaries with emulated versions, whose gates have a component prefix (`:Gate=true`)."""
    gates = ",".join(f":{gate}={_format_bool(on)}" for gate, on in sorted(settings.feature_gates.items()))
    return {"emulated-version": "[]", "feature-gates": gates}


def _format_list(values: Iterable[str]) -> str:
    return f"[{','.join(values)}]"


def _format_bool(on: bool) -> str:
    return "true" if on else "false"
