"""Version and feature gates of each component: its own over those of the cluster.

A component's own gates are validated as its binary validates its flags. Gates of the whole cluster are validated at the
cluster's version; a component that does not support one of them ignores it.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.configuration.values import ComponentConfiguration
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.errors import FlagError
from mockkube.features.flags import FlagNotice, validate_gates
from mockkube.features.gates import GateState, enabled_gates, gate_registry, gate_states
from mockkube.features.skew import find_unsupported
from mockkube.features.stages import Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

REQUIRED_COMPONENTS: Final = (API_SERVER, SCHEDULER, CONTROLLER_MANAGER, KUBELET)

_WITHOUT_NAMES: Final = {SCHEDULER: "scheduler", CONTROLLER_MANAGER: "controllers", KUBELET: "kubelets"}
_NOTHING: Final = ComponentConfiguration()
_CACHE_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class ComponentSettings:
    """Version and gates that one component was asked to have."""

    component: str
    version: Version
    feature_gates: Mapping[str, bool]
    trains: tuple[ReleaseTrain, ...]

    def capabilities(self) -> Capabilities:
        """Return the version and the enabled gates."""
        return _capabilities(self._cache_key)

    def gate_states(self) -> list[GateState]:
        """Return every gate that the component reports."""
        return list(_states(self._cache_key))

    def validate(self) -> tuple[FlagNotice, ...]:
        """Return what the component would log when it starts; FlagError if it would not start."""
        return _validate(self._cache_key)

    @property
    def _cache_key(self) -> "_SettingsKey":
        # Replicas and the kubelets of single nodes, like `kubelet.NODE`, have the gates of all of their name.
        name = self.component.partition(".")[0]
        return name, self.version, tuple(sorted(self.feature_gates.items())), self.trains


# Hashable form of the settings, key of the caches below: every status report needs them.
_SettingsKey = tuple[str, Version, tuple[tuple[str, bool], ...], tuple[ReleaseTrain, ...]]


@lru_cache(maxsize=_CACHE_MAX)
def _capabilities(key: _SettingsKey) -> Capabilities:
    component, version, gates, trains = key
    return Capabilities(version, enabled_gates(version, dict(gates), trains, component=component), trains)


@lru_cache(maxsize=_CACHE_MAX)
def _states(key: _SettingsKey) -> tuple[GateState, ...]:
    component, version, gates, trains = key
    return tuple(gate_states(version, dict(gates), trains, component=component))


@lru_cache(maxsize=_CACHE_MAX)
def _validate(key: _SettingsKey) -> tuple[FlagNotice, ...]:
    component, version, gates, trains = key
    return validate_gates(dict(gates), component, version, trains=trains).warnings


def resolve_settings(configuration: ClusterConfiguration, component: str) -> ComponentSettings:
    """Return a component's settings: `kubelet.n1` before `kubelet` before the whole cluster."""
    own = find_own_configuration(configuration, component)
    version = own.version or configuration.version
    trains = configuration.release_trains
    common = _select_supported_gates(configuration.feature_gates, component, version, trains)
    return ComponentSettings(component, version, {**common, **own.feature_gates}, trains)


def find_own_configuration(configuration: ClusterConfiguration, component: str) -> ComponentConfiguration:
    """Return the configuration of a component itself, merged with that of all components of its name."""
    name, _, replica = component.partition(".")
    own = configuration.components.get(name, _NOTHING)
    return configuration.components.get(component, _NOTHING).merge_over(own) if replica else own


def validate_settings(configuration: ClusterConfiguration) -> dict[FlagNotice, list[str]]:
    """Return start-up notices with the components that log them; ConfigurationError for invalid gates.

    The error is in upstream's words.
    """
    cluster_settings = ComponentSettings(
        API_SERVER, configuration.version, configuration.feature_gates, configuration.release_trains
    )
    try:
        cluster_settings.validate()
    except FlagError as error:
        raise ConfigurationError(f"--feature-gates: {error}") from None
    notices: dict[FlagNotice, list[str]] = {}
    for component in list_components(configuration):
        try:
            for notice in resolve_settings(configuration, component).validate():
                notices.setdefault(notice, []).append(component)
        except FlagError as error:
            raise ConfigurationError(f"feature gates of {component}: {error}") from None
    return notices | _check_skew(configuration)


def _check_skew(configuration: ClusterConfiguration) -> dict[FlagNotice, list[str]]:
    """Return version skew outside the policy as notices; ConfigurationError if the policy is enforced."""
    running = [name for name in list_components(configuration) if not is_left_out(configuration, name)]
    reasons = find_skews({name: resolve_settings(configuration, name).version for name in running})
    if reasons and configuration.skew_policy == "enforce":
        raise ConfigurationError(f"--skew-policy=enforce: {reasons[0]}: choose versions that go together, or warn")
    if configuration.skew_policy == "ignore":
        return {}
    return {FlagNotice("warning", reason): ["version skew"] for reason in reasons}


def find_skews(versions: Mapping[str, Version], component: str | None = None) -> list[str]:
    """Return violations of the version skew policy, of all components or of one."""
    return [finding.reason for finding in find_unsupported(versions, component)]


def is_left_out(configuration: ClusterConfiguration, component: str) -> bool:
    """Return whether `--without` excludes the component."""
    return _WITHOUT_NAMES.get(component.partition(".")[0]) in configuration.without


def list_components(configuration: ClusterConfiguration) -> tuple[str, ...]:
    """Return the components that every cluster has, and those in the configuration."""
    return tuple(dict.fromkeys((*REQUIRED_COMPONENTS, *configuration.components)))


def _select_supported_gates(
    gates: Mapping[str, bool], component: str, version: Version, trains: tuple[ReleaseTrain, ...]
) -> Mapping[str, bool]:
    """Return the gates that the component can be given at its version without an error."""
    known, at = gate_registry(version, trains, component), EffectiveVersion.from_version(version)
    supported = {}
    for gate, value in known.resolve_aliases(gates).items():
        stage = known.stage(gate, at) if gate in known.histories else None
        # An older component does not know newer gates, and one whose gate is locked would refuse another value: a real
        # operator would leave the flag out there.
        if stage is None or stage.maturity is Maturity.PRE_ALPHA or (stage.locked and stage.default != value):
            continue
        supported[gate] = value
    return supported
