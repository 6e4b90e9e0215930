"""Flags of the scheduler and the controller manager, under upstream's names: parse and validate them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockkube_cel.golang import gotime

from mockkube.api.names import check_dns_subdomain
from mockkube.cluster.components.component_runner import ComponentFlags
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.component_settings import resolve_settings
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.controllers.framework.options import Options
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import CONTROLLER_MANAGER, SCHEDULER
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.client.leader_election import LeaderElectionConfig

_NANOS: Final = 1_000_000_000
# The one kind of object that candidates compete for.
_LEASES: Final = "leases"


@dataclass(frozen=True, slots=True)
class _Flag:
    """Field of the options that a flag sets, and its parser."""

    field: str
    parse: Callable[[Any], Any]
    # Field of the options that has the field; empty for the options themselves.
    part: str = ""


def _parse_seconds(value: Any) -> float:
    """Parse a duration like 40s."""
    span = gotime.parse_duration(value) if isinstance(value, str) else None
    if span is None or span.nanos < 0:
        raise ValueError("give a duration like 40s")
    return float(span.nanos / _NANOS)


def _parse_period(value: Any) -> float:
    """Parse a duration longer than nothing."""
    if not (seconds := _parse_seconds(value)):
        raise ValueError("give a duration like 15s")
    return seconds


def _parse_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError("give a number that is not negative")
    return float(value)


def _parse_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("give a whole number that is not negative")
    return value


def _parse_name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("give a name")
    if errors := check_dns_subdomain(value):
        raise ValueError(errors[0])
    return value


def _parse_file(value: Any) -> str:
    if not isinstance(value, str) or not Path(value).is_file():
        raise ValueError("give a file that is there")
    return value


def _parse_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("give true or false")
    return value


def _parse_lock(value: Any) -> str:
    if value != _LEASES:
        raise ValueError(f"give {_LEASES}")
    return _LEASES


def _parse_controller_names(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError("give names of controllers, like '*,-daemonset-controller'")
    from mockkube.controllers.catalogue import find_unknown_names  # with it come the controllers themselves

    if unknown_names := find_unknown_names(names):
        raise ValueError(f"there is no controller {unknown_names[0]!r}")
    return tuple(names)


_CONTROLLER_MANAGER: Final[Mapping[str, _Flag]] = {
    "controllers": _Flag("controllers", _parse_controller_names),
    "node-monitor-period": _Flag("monitor_period_seconds", _parse_seconds, part="nodes"),
    "node-monitor-grace-period": _Flag("monitor_grace_seconds", _parse_seconds, part="nodes"),
    "node-startup-grace-period": _Flag("startup_grace_seconds", _parse_seconds, part="nodes"),
    "node-eviction-rate": _Flag("eviction_rate", _parse_number, part="nodes"),
    "secondary-node-eviction-rate": _Flag("secondary_eviction_rate", _parse_number, part="nodes"),
    "unhealthy-zone-threshold": _Flag("unhealthy_zone_threshold", _parse_number, part="nodes"),
    "large-cluster-size-threshold": _Flag("large_cluster_size", _parse_count, part="nodes"),
    **{
        f"horizontal-pod-autoscaler-{name}": _Flag(field, parse, part="autoscaling")
        for name, field, parse in (
            ("sync-period", "sync_seconds", _parse_period),
            ("downscale-stabilization", "downscale_stabilization_seconds", _parse_seconds),
            ("tolerance", "tolerance", _parse_number),
            ("cpu-initialization-period", "cpu_initialization_seconds", _parse_seconds),
            ("initial-readiness-delay", "initial_readiness_seconds", _parse_seconds),
        )
    },
    "kube-api-qps": _Flag("requests_per_second", _parse_number),
    "kube-api-burst": _Flag("requests_burst", _parse_count),
    "terminated-pod-gc-threshold": _Flag("terminated_pods_max", _parse_count),
    "pvclaimbinder-sync-period": _Flag("volume_sync_seconds", _parse_seconds),
    "resource-quota-sync-period": _Flag("quota_sync_seconds", _parse_seconds),
    "default-storage-class": _Flag("default_storage_class", _parse_name),  # differs: upstream has none
    "enable-garbage-collector": _Flag("garbage_collection", _parse_bool),
    "cluster-signing-cert-file": _Flag("signing_certificate", _parse_file),
    "cluster-signing-key-file": _Flag("signing_key", _parse_file),
    "cluster-signing-duration": _Flag("signing_seconds", _parse_seconds),
}
# Fields of LeaderElectionConfig by the flag that sets them, without `leader-elect-`.
_LEADER_ELECTION: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "lease-duration": ("lease_seconds", _parse_seconds),
    "renew-deadline": ("renew_deadline_seconds", _parse_seconds),
    "retry-period": ("retry_seconds", _parse_seconds),
    "resource-name": ("name", _parse_name),
    "resource-namespace": ("namespace", _parse_name),
    "resource-lock": ("", _parse_lock),
}
LEADER_ELECT_FLAG: Final = "leader-elect"
_CONFIG_FLAG: Final = "config"
_KNOWN_FLAGS: Final[Mapping[str, tuple[str, ...]]] = {
    CONTROLLER_MANAGER: (
        *_CONTROLLER_MANAGER,
        LEADER_ELECT_FLAG,
        *(f"{LEADER_ELECT_FLAG}-{name}" for name in _LEADER_ELECTION),
    ),
    SCHEDULER: (_CONFIG_FLAG,),
}


def resolve_component_flags(
    configuration: ClusterConfiguration, more: Mapping[str, ComponentFlags] | None = None
) -> Mapping[str, ComponentFlags]:
    """Return the flags of each component, `more` over the configuration; ConfigurationError if one is invalid."""
    flags: dict[str, dict[str, Any]] = {}
    if configuration.scheduler_config is not None:
        flags[SCHEDULER] = {_CONFIG_FLAG: configuration.scheduler_config}
    if configuration.controller_manager:
        flags[CONTROLLER_MANAGER] = dict(configuration.controller_manager)
    if configuration.controllers:
        flags.setdefault(CONTROLLER_MANAGER, {})["controllers"] = configuration.controllers
    for component, own in (more or {}).items():
        flags[component] = {**flags.get(component, {}), **own}
    validate_flags(flags, resolve_settings(configuration, SCHEDULER).capabilities() if SCHEDULER in flags else None)
    return flags


def validate_flags(flags: Mapping[str, ComponentFlags], scheduler: Capabilities | None = None) -> None:
    """Raise ConfigurationError for the first invalid flag; the text names a remedy.

    The scheduler's configuration is parsed as a scheduler with these capabilities parses it.
    """
    for component, own in flags.items():
        _validate_names(component, own)
    # Values do not depend on the version: any will do for parsing.
    make_controller_options(flags.get(CONTROLLER_MANAGER, {}), Version(1, 36))
    if any(name.startswith(LEADER_ELECT_FLAG) for name in flags.get(CONTROLLER_MANAGER, {})):
        make_controller_manager_election(flags[CONTROLLER_MANAGER])
    given = get_scheduler_configuration(flags.get(SCHEDULER, {}))
    if given is not None and scheduler is not None:
        _validate_scheduler_configuration(given, scheduler)


def _validate_names(component: str, component_flags: ComponentFlags) -> None:
    known = _KNOWN_FLAGS.get(component)
    if known is None:
        raise ConfigurationError(f"{component} takes no flags here: only {' and '.join(_KNOWN_FLAGS)} do")
    for name in component_flags:
        if name not in known:
            from difflib import get_close_matches  # only a mistake needs it

            close = get_close_matches(name, known, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
            raise ConfigurationError(f"{component}: unknown flag {name!r}: {remedy}")


def _validate_scheduler_configuration(scheduler_config: Mapping[str, Any], capabilities: Capabilities) -> None:
    from mockkube.scheduler.configuration import kube_scheduler_configuration as schedulers

    try:
        schedulers.parse_configuration(scheduler_config, capabilities)
    except schedulers.SchedulerConfigurationError as error:
        raise ConfigurationError(f"{SCHEDULER}: {schedulers.KIND}: {error}") from None


def make_controller_options(flags: ComponentFlags, version: Version) -> Options:
    """Return the options of a controller manager of a version."""
    options = Options.for_version(version)
    parts: dict[str, dict[str, Any]] = {"nodes": {}, "autoscaling": {}, "": {}}
    for name, value in flags.items():
        if (flag := _CONTROLLER_MANAGER.get(name)) is not None:
            parts[flag.part][flag.field] = _parse_flag(name, value, flag.parse)
    nodes, autoscaling = replace(options.nodes, **parts["nodes"]), replace(options.autoscaling, **parts["autoscaling"])
    return replace(options, nodes=nodes, autoscaling=autoscaling, **parts[""])


def _parse_flag(name: str, value: Any, parse: Callable[[Any], Any]) -> Any:
    try:
        return parse(value)
    except ValueError as error:
        shown = ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        raise ConfigurationError(f"{CONTROLLER_MANAGER}: --{name}={shown!r}: {error}") from None


def make_controller_manager_election(flags: ComponentFlags) -> "LeaderElectionConfig | None":
    """Return the leader election of a controller manager; None if its flags leave it out."""
    from mockkube.client.leader_election import LeaderElectionConfig  # a cluster without election needs none of it

    if not _parse_flag(LEADER_ELECT_FLAG, flags.get(LEADER_ELECT_FLAG, True), _parse_bool):
        return None
    given: dict[str, Any] = {}
    for name, (field, parse) in _LEADER_ELECTION.items():
        if (flag := f"{LEADER_ELECT_FLAG}-{name}") in flags:
            given[field] = _parse_flag(flag, flags[flag], parse)
    given.pop("", None)
    election = LeaderElectionConfig(**{"name": CONTROLLER_MANAGER, **given})
    for error in election.find_errors():
        raise ConfigurationError(f"{CONTROLLER_MANAGER}: {error}")
    return election


def make_scheduler_election(flags: ComponentFlags) -> "LeaderElectionConfig | None":
    """Return the leader election of a scheduler; None if its configuration leaves it out."""
    from mockkube.scheduler.configuration.leader_election import parse_leader_election

    return parse_leader_election(get_scheduler_configuration(flags) or {})


def get_scheduler_configuration(flags: ComponentFlags) -> Mapping[str, Any] | None:
    """Return the KubeSchedulerConfiguration of a scheduler; None for the default."""
    given = flags.get(_CONFIG_FLAG)
    if given is not None and not isinstance(given, Mapping):
        raise ConfigurationError(f"{SCHEDULER}: {_CONFIG_FLAG}: give a KubeSchedulerConfiguration, as a mapping")
    return given
