"""What each component of a cluster is told, and what it can do: its own version and gates over those of the cluster.

A component's own gates are judged as its binary judges its flags. Those of the whole cluster are judged at the version
of the whole cluster; a component that cannot follow one of them goes without it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.errors import ConfigurationError
from mockkube.cluster.readings import ComponentConfiguration
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.errors import FlagError
from mockkube.features.flags import Notice, validate_gates
from mockkube.features.gates import State, effective, registry, states
from mockkube.features.skew import unsupported
from mockkube.features.stages import Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version

SINGLE: Final = (API_SERVER, SCHEDULER, CONTROLLER_MANAGER, KUBELET)

_PARTS: Final = {SCHEDULER: "scheduler", CONTROLLER_MANAGER: "controllers", KUBELET: "kubelets"}
_NOTHING: Final = ComponentConfiguration()
_REMEMBERED_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class Settings:
    """What one component is told, and what follows from it."""

    component: str
    version: Version
    feature_gates: Mapping[str, bool]
    trains: tuple[ReleaseTrain, ...]

    def capabilities(self) -> Capabilities:
        """Return the version and the gates that are on."""
        return _capabilities(self._told)

    def states(self) -> list[State]:
        """Return every gate the component reports."""
        return list(_states(self._told))

    def judge(self) -> tuple[Notice, ...]:
        """Return what the component logs when it starts; FlagError if it does not."""
        return _judged(self._told)

    @property
    def _told(self) -> "_Told":
        return self.component, self.version, tuple(sorted(self.feature_gates.items())), self.trains


_Told = tuple[str, Version, tuple[tuple[str, bool], ...], tuple[ReleaseTrain, ...]]
"""What a component is told, as what follows from it is remembered by: it is asked for again and again."""


@lru_cache(maxsize=_REMEMBERED_MAX)
def _capabilities(told: _Told) -> Capabilities:
    component, version, gates, trains = told
    return Capabilities(version, effective(version, dict(gates), trains, component=component), trains)


@lru_cache(maxsize=_REMEMBERED_MAX)
def _states(told: _Told) -> tuple[State, ...]:
    component, version, gates, trains = told
    return tuple(states(version, dict(gates), trains, component=component))


@lru_cache(maxsize=_REMEMBERED_MAX)
def _judged(told: _Told) -> tuple[Notice, ...]:
    component, version, gates, trains = told
    return validate_gates(dict(gates), component, version, trains=trains).warnings


def settings_of(configuration: ClusterConfiguration, component: str) -> Settings:
    """Return what a component is told: `kubelet.n1` before `kubelet` before the whole cluster."""
    own = own_of(configuration, component)
    version = own.version or configuration.version
    trains = configuration.release_trains
    common = _followed(configuration.feature_gates, component, version, trains)
    return Settings(component, version, {**common, **own.feature_gates}, trains)


def own_of(configuration: ClusterConfiguration, component: str) -> ComponentConfiguration:
    """Return what was said of a component, or of the fleet it is one of."""
    name, _, replica = component.partition(".")
    own = configuration.components.get(name, _NOTHING)
    return configuration.components.get(component, _NOTHING).over(own) if replica else own


def judge(configuration: ClusterConfiguration) -> dict[Notice, list[str]]:
    """Return what would be logged at the start, and by whom; ConfigurationError, in upstream's words, for a refusal."""
    whole = Settings(API_SERVER, configuration.version, configuration.feature_gates, configuration.release_trains)
    try:
        whole.judge()
    except FlagError as error:
        raise ConfigurationError(f"--feature-gates: {error}") from None
    heard: dict[Notice, list[str]] = {}
    for component in components_of(configuration):
        try:
            for notice in settings_of(configuration, component).judge():
                heard.setdefault(notice, []).append(component)
        except FlagError as error:
            raise ConfigurationError(f"feature gates of {component}: {error}") from None
    return heard | _judge_skew(configuration)


def _judge_skew(configuration: ClusterConfiguration) -> dict[Notice, list[str]]:
    running = [name for name in components_of(configuration) if not left_out(configuration, name)]
    reasons = skews({name: settings_of(configuration, name).version for name in running})
    if reasons and configuration.skew_policy == "enforce":
        raise ConfigurationError(f"--skew-policy=enforce: {reasons[0]}: choose versions that go together, or warn")
    if configuration.skew_policy == "ignore":
        return {}
    return {Notice("warning", reason): ["version skew"] for reason in reasons}


def skews(versions: Mapping[str, Version], component: str | None = None) -> list[str]:
    """Return what is outside the version skew policy, of all components or of one."""
    return [finding.reason for finding in unsupported(versions, component)]


def left_out(configuration: ClusterConfiguration, component: str) -> bool:
    """Whether the cluster is to do without this component."""
    return _PARTS.get(component.partition(".")[0]) in configuration.without


def components_of(configuration: ClusterConfiguration) -> tuple[str, ...]:
    """Return the components there always are, and those that were named."""
    return tuple(dict.fromkeys((*SINGLE, *configuration.components)))


def _followed(
    gates: Mapping[str, bool], component: str, version: Version, trains: tuple[ReleaseTrain, ...]
) -> Mapping[str, bool]:
    """Return the gates that the component, at its version, can be given without a refusal."""
    known, at = registry(version, trains, component), EffectiveVersion.of(version)
    followed = {}
    for gate, value in known.canonical(gates).items():
        stage = known.stage(gate, at) if gate in known.histories else None
        if stage is None or stage.maturity is Maturity.PRE_ALPHA or (stage.locked and stage.default != value):
            continue
        followed[gate] = value
    return followed
