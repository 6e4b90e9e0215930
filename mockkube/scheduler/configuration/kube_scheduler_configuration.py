"""KubeSchedulerConfiguration: parsing, defaults, validation.

upstream 1.36: pkg/scheduler/apis/config/v1/default_plugins.go, pkg/scheduler/apis/config/validation/validation.go
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from mockkube.api.fields import duplicate, forbidden, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.catalogue import default_plugins, find_plugin
from mockkube.scheduler.configuration import arguments, type_check
from mockkube.scheduler.queue.queued_pod_info import Backoff

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
MULTI_POINT: Final = "multiPoint"
EXTENSION_POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
# Limits of the client where the configuration has one of them only, or none.
REQUESTS_PER_SECOND: Final = 50.0
REQUESTS_BURST: Final = 100
_REMOVED_PLUGINS: Final = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
_REMOVED_TEXT: Final = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'


class SchedulerConfigurationError(ValueError):
    """Invalid configuration; `errors` holds all errors."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__("; ".join(errors))
        self.errors = tuple(errors)


@dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """Plugin enabled at an extension point; a weight of 0 means the default."""

    name: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class PluginSet:
    """Plugins of one extension point: those enabled, and those disabled although multiPoint enables them."""

    enabled: tuple[EnabledPlugin, ...] = ()
    disabled: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """One profile of the configuration, with defaults."""

    name: str
    plugins: Mapping[str, PluginSet]
    """Plugins by extension point, `multiPoint` included, with the default plugins."""
    arguments: Mapping[str, ReadOnlyObject]
    percentage_of_nodes_to_score: int | None = None


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """Requests that the client of a scheduler sends."""

    per_second: float = REQUESTS_PER_SECOND
    """Sustained rate; negative for no limit."""
    burst: int = REQUESTS_BURST


@dataclass(frozen=True, slots=True)
class Configuration:
    """Configuration of a scheduler, with defaults."""

    profiles: tuple[ProfileSettings, ...]
    percentage_of_nodes_to_score: int = 0
    """Percentage of nodes to score; 0 depends on the size of the cluster."""
    backoff: Backoff = field(default_factory=Backoff)
    client_limits: ClientLimits | None = None
    """Limits of the client; None if the configuration has none."""


def parse_configuration(document: ReadOnlyObject, caps: Capabilities) -> Configuration:
    """Parse a configuration; raise SchedulerConfigurationError with all its errors."""
    # Go decodes null like an absent field.
    document = {name: value for name, value in document.items() if value is not None}
    errors = [*_check_group_version_kind(document), *type_check.check_types(document, (MULTI_POINT, *EXTENSION_POINTS))]
    # Values of the wrong type cannot be validated further.
    if errors:
        raise SchedulerConfigurationError(errors)
    profiles = [_parse_profile(one, caps) for one in _profiles_with_default(document)]
    initial, longest = document.get("podInitialBackoffSeconds", 1), document.get("podMaxBackoffSeconds", 10)
    if (parallelism := document.get("parallelism", 1)) <= 0:
        errors.append(str(invalid("parallelism", parallelism, "should be an integer value greater than zero")))
    if document.get("leaderElection"):
        # Without the field there is nothing to validate, and a cluster without election needs none of this.
        from mockkube.scheduler.configuration.leader_election import validate_leader_election

        errors += validate_leader_election(document)
    errors += _check_profiles(profiles, document, caps)
    errors += _check_percentage(document.get("percentageOfNodesToScore"), "percentageOfNodesToScore")
    if initial <= 0:
        errors.append(str(invalid("podInitialBackoffSeconds", initial, "must be greater than 0")))
    if longest < initial:
        text = "must be greater than or equal to PodInitialBackoffSeconds"
        errors.append(str(invalid("podMaxBackoffSeconds", longest, text)))
    if errors:
        raise SchedulerConfigurationError(errors)
    aligned = caps.enabled("SchedulerPopFromBackoffQ")
    backoff = Backoff(float(initial), float(longest), aligned=aligned)
    limits = _parse_client_limits(document.get("clientConnection") or {})
    return Configuration(tuple(profiles), document.get("percentageOfNodesToScore") or 0, backoff, limits)


def _parse_client_limits(document: ReadOnlyObject) -> ClientLimits | None:
    per_second, burst = document.get("qps"), document.get("burst")
    if not per_second and not burst:
        return None
    return ClientLimits(per_second or REQUESTS_PER_SECOND, burst or REQUESTS_BURST)


def _check_group_version_kind(document: ReadOnlyObject) -> Iterator[str]:
    group_version, kind = document.get("apiVersion", ""), document.get("kind", "")
    if (group_version, kind) != (API_VERSION, KIND):
        yield f'no kind "{kind}" is registered for version "{group_version}": expected {KIND} of {API_VERSION}'
    if document.get("extenders"):
        yield str(forbidden("extenders", "are not supported"))


def _profiles_with_default(document: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    profiles: Sequence[ReadOnlyObject] = document.get("profiles") or ({},)
    # upstream: only a single profile may omit its name.
    if len(profiles) == 1:
        return ({"schedulerName": DEFAULT_SCHEDULER_NAME, **profiles[0]},)
    return tuple(profiles)


def _parse_profile(document: ReadOnlyObject, caps: Capabilities) -> ProfileSettings:
    plugins = {
        point: _parse_plugin_set((document.get("plugins") or {}).get(point) or {})
        for point in (MULTI_POINT, *EXTENSION_POINTS)
    }
    usual = tuple(EnabledPlugin(entry.name, entry.weight) for entry in default_plugins(caps))
    plugins[MULTI_POINT] = _merge_plugin_sets(usual, plugins[MULTI_POINT])
    named = {one["name"]: one.get("args") or {} for one in document.get("pluginConfig") or ()}
    enabled = {one.name for plugin_set in plugins.values() for one in plugin_set.enabled}
    args = {name: arguments.set_defaults(name, named.get(name, {}), caps) for name in sorted(enabled | named.keys())}
    return ProfileSettings(document.get("schedulerName", ""), plugins, args, document.get("percentageOfNodesToScore"))


def _parse_plugin_set(document: ReadOnlyObject) -> PluginSet:
    enabled = tuple(EnabledPlugin(one["name"], one.get("weight") or 0) for one in document.get("enabled") or ())
    return PluginSet(enabled, frozenset(one["name"] for one in document.get("disabled") or ()))


def _merge_plugin_sets(usual: tuple[EnabledPlugin, ...], custom: PluginSet) -> PluginSet:
    """Put the default plugins before custom ones; a plugin in both keeps its place and takes the new weight."""
    requested = {one.name: one for one in custom.enabled}
    defaults = () if "*" in custom.disabled else tuple(one for one in usual if one.name not in custom.disabled)
    names = {one.name for one in defaults}
    merged = tuple(requested.get(one.name, one) for one in defaults)
    return PluginSet(merged + tuple(one for one in custom.enabled if one.name not in names), custom.disabled)


def _check_profiles(profiles: Sequence[ProfileSettings], document: ReadOnlyObject, caps: Capabilities) -> Iterator[str]:
    first: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        at = f"profiles[{index}]"
        if not profile.name:
            yield str(required(f"{at}.schedulerName"))
        yield from _check_percentage(profile.percentage_of_nodes_to_score, f"{at}.percentageOfNodesToScore")
        yield from _check_plugins(profile, at, caps)
        yield from _check_plugin_config(_profiles_with_default(document)[index], profile, at, caps)
        if profile.name in first:
            yield str(duplicate(f"{at}.schedulerName", f"profiles[{first[profile.name]}].schedulerName"))
        first.setdefault(profile.name, index)
        # All profiles share one queue.
        if profile.plugins["queueSort"] != profiles[0].plugins["queueSort"]:
            shown = [one.name for one in profile.plugins["queueSort"].enabled]
            yield str(invalid(f"{at}.plugins.queueSort", shown, "must be the same for all profiles"))


def _check_plugins(profile: ProfileSettings, at: str, caps: Capabilities) -> Iterator[str]:
    for point, plugin_set in profile.plugins.items():
        seen: set[str] = set()
        for index, one in enumerate(plugin_set.enabled):
            here = f"{at}.plugins.{point}.enabled[{index}]"
            if one.name in _REMOVED_PLUGINS:
                yield str(invalid(here, one.name, _REMOVED_TEXT))
            elif find_plugin(one.name, caps) is None:
                yield str(invalid(here, one.name, "no plugin has this name"))
            elif one.name in seen:
                yield str(duplicate(here, one.name))
            elif one.weight < 0:
                yield f"{here}: score plugins: total score of Score plugins could overflow"
            seen.add(one.name)


def _check_plugin_config(
    document: ReadOnlyObject, profile: ProfileSettings, at: str, caps: Capabilities
) -> Iterator[str]:
    seen: set[str] = set()
    for index, one in enumerate(document.get("pluginConfig") or ()):
        here, name = f"{at}.pluginConfig[{index}]", one["name"]
        if name in seen:
            yield str(duplicate(here, name))
        seen.add(name)
        if name in _REMOVED_PLUGINS:
            yield str(invalid(here, name, _REMOVED_TEXT))
        else:
            yield from arguments.validate_arguments(name, profile.arguments[name], f"{here}.args", caps)


def _check_percentage(value: Any, at: str) -> Iterator[str]:
    if value is not None and not 0 <= value <= 100:
        yield str(invalid(at, value, "not in valid range [0-100]"))
