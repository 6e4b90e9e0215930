"""Profiles: plugins built with their arguments, by extension point.

upstream 1.36: pkg/scheduler/framework/runtime/framework.go
"""

# mypy: disable-error-code="type-abstract"
# Plugins are distinguished by their abstract classes, which are not instantiated here.
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.catalogue import find_plugin
from mockkube.scheduler.configuration.kube_scheduler_configuration import (
    MULTI_POINT,
    PluginSet,
    ProfileSettings,
    SchedulerConfigurationError,
)
from mockkube.scheduler.framework.interface import (
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PluginDependencies,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)

PluginT = TypeVar("PluginT", bound=Plugin)
# Extension points at which a plugin can reject a pod, so that its registered events count.
_REJECTING_POINTS: Final = (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin)


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Plugins of one scheduler name, in order, at each extension point."""

    name: str
    percentage_of_nodes_to_score: int | None
    plugins: Mapping[str, Plugin]
    weights: Mapping[str, int]
    queue_sort: QueueSortPlugin
    pre_enqueue: tuple[PreEnqueuePlugin, ...]
    pre_filters: tuple[PreFilterPlugin, ...]
    filters: tuple[FilterPlugin, ...]
    post_filters: tuple[PostFilterPlugin, ...]
    pre_scores: tuple[PreScorePlugin, ...]
    scores: tuple[ScorePlugin, ...]
    reserve: tuple[ReservePlugin, ...]
    permit: tuple[PermitPlugin, ...]
    pre_bind: tuple[PreBindPlugin, ...]
    bind: tuple[BindPlugin, ...]
    post_bind: tuple[PostBindPlugin, ...]

    @property
    def rejecting_plugins(self) -> list[Plugin]:
        """Plugins that can reject pods."""
        return [plugin for plugin in self.plugins.values() if isinstance(plugin, _REJECTING_POINTS)]


def build_profile(settings: ProfileSettings, dependencies: PluginDependencies) -> Profile:
    """Build a profile's plugins; raise SchedulerConfigurationError when a required one is missing."""
    plugins = {name: _build_plugin(name, settings, dependencies) for name in _plugins_in_use(settings)}
    assembly = _ProfileBuilder(settings, plugins)
    sorts = assembly.plugins_at("queueSort", QueueSortPlugin)
    if len(sorts) != 1:
        assembly.fail("only one queue sort plugin required for profile with scheduler name", f", but got {len(sorts)}")
    binds = assembly.plugins_at("bind", BindPlugin)
    if not binds:
        assembly.fail("at least one bind plugin is needed for profile with scheduler name")
    return Profile(
        name=settings.name,
        percentage_of_nodes_to_score=settings.percentage_of_nodes_to_score,
        plugins=plugins,
        weights=_weights(settings),
        queue_sort=sorts[0],
        pre_enqueue=assembly.plugins_at("preEnqueue", PreEnqueuePlugin),
        pre_filters=assembly.plugins_at("preFilter", PreFilterPlugin),
        filters=assembly.plugins_at("filter", FilterPlugin),
        post_filters=assembly.plugins_at("postFilter", PostFilterPlugin),
        pre_scores=assembly.plugins_at("preScore", PreScorePlugin),
        scores=assembly.plugins_at("score", ScorePlugin),
        reserve=assembly.plugins_at("reserve", ReservePlugin),
        permit=assembly.plugins_at("permit", PermitPlugin),
        pre_bind=assembly.plugins_at("preBind", PreBindPlugin),
        bind=binds,
        post_bind=assembly.plugins_at("postBind", PostBindPlugin),
    )


def _plugins_in_use(settings: ProfileSettings) -> Iterable[str]:
    """Return the names of all plugins in use, each once.

    The order is that of the default plugins, which extension points share.
    """
    return dict.fromkeys(one.name for plugin_set in settings.plugins.values() for one in plugin_set.enabled)


def _build_plugin(name: str, settings: ProfileSettings, dependencies: PluginDependencies) -> Plugin:
    entry = find_plugin(name, dependencies.caps)
    assert entry is not None, "the configuration was validated"
    return entry.factory(dependencies, settings.arguments.get(name, {}))


def _weights(settings: ProfileSettings) -> dict[str, int]:
    """Return the score weight of each plugin; a weight at `score` overrides one at `multiPoint`."""
    weights: dict[str, int] = {}
    for point in ("score", MULTI_POINT):
        for one in settings.plugins[point].enabled:
            weights.setdefault(one.name, one.weight or 1)
    return weights


@dataclass(frozen=True, slots=True)
class _ProfileBuilder:
    settings: ProfileSettings
    plugins: Mapping[str, Plugin]

    def plugins_at(self, point: str, kind: type[PluginT]) -> tuple[PluginT, ...]:
        """Return the plugins of an extension point.

        upstream's order: plugins of multiPoint that the point overrides, other plugins of multiPoint, the rest.
        """
        own = self.settings.plugins[point]
        everywhere = self._multi_point_plugins(own, kind)
        requested = [one.name for one in own.enabled]
        overridden = [name for name in requested if name in everywhere]
        inherited = [name for name in everywhere if name not in requested]
        rest = [name for name in requested if name not in everywhere]
        return tuple(self._require_extension(kind, name, point) for name in (*overridden, *inherited, *rest))

    def _multi_point_plugins(self, own: PluginSet, kind: type[PluginT]) -> Sequence[str]:
        if "*" in own.disabled:
            return ()
        # multiPoint enables a plugin at the points that it implements, and skips the others silently.
        names = (one.name for one in self.settings.plugins[MULTI_POINT].enabled)
        return [name for name in names if isinstance(self.plugins[name], kind) and name not in own.disabled]

    def _require_extension(self, kind: type[PluginT], name: str, point: str) -> PluginT:
        plugin = self.plugins[name]
        if not isinstance(plugin, kind):
            extension = f"{point[0].upper()}{point[1:]}Plugin"
            raise SchedulerConfigurationError([f'plugin "{name}" does not extend {extension} plugin'])
        return plugin

    def fail(self, text: str, tail: str = "") -> None:
        """Raise an error that names the profile."""
        raise SchedulerConfigurationError([f'{text} "{self.settings.name}"{tail}'])
