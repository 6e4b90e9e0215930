"""Profiles: plugins built with their arguments, by extension point.

upstream 1.36: pkg/scheduler/framework/runtime/framework.go
"""

# mypy: disable-error-code="type-abstract"
# Plugins are distinguished by their abstract classes, which are not instantiated here.
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from mockkube.scheduler.catalogue import entry_of
from mockkube.scheduler.configuration.configuration import MULTI_POINT, ConfigurationError, PluginSet, ProfileSettings
from mockkube.scheduler.framework.interface import (
    BindPlugin,
    Context,
    FilterPlugin,
    PermitPlugin,
    Plugin,
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
    percentage: int | None
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
    def refusing(self) -> list[Plugin]:
        """Plugins that can reject pods."""
        return [plugin for plugin in self.plugins.values() if isinstance(plugin, _REJECTING_POINTS)]


def build(settings: ProfileSettings, context: Context) -> Profile:
    """Build a profile's plugins; raise SchedulerConfigurationError when a required one is missing."""
    plugins = {name: _build_plugin(name, settings, context) for name in _plugins_in_use(settings)}
    assembly = _ProfileBuilder(settings, plugins)
    sorts = assembly.at("queueSort", QueueSortPlugin)
    if len(sorts) != 1:
        assembly.refuse(
            "only one queue sort plugin required for profile with scheduler name", f", but got {len(sorts)}"
        )
    binds = assembly.at("bind", BindPlugin)
    if not binds:
        assembly.refuse("at least one bind plugin is needed for profile with scheduler name")
    return Profile(
        name=settings.name,
        percentage=settings.percentage,
        plugins=plugins,
        weights=_weights(settings),
        queue_sort=sorts[0],
        pre_enqueue=assembly.at("preEnqueue", PreEnqueuePlugin),
        pre_filters=assembly.at("preFilter", PreFilterPlugin),
        filters=assembly.at("filter", FilterPlugin),
        post_filters=assembly.at("postFilter", PostFilterPlugin),
        pre_scores=assembly.at("preScore", PreScorePlugin),
        scores=assembly.at("score", ScorePlugin),
        reserve=assembly.at("reserve", ReservePlugin),
        permit=assembly.at("permit", PermitPlugin),
        pre_bind=assembly.at("preBind", PreBindPlugin),
        bind=binds,
        post_bind=assembly.at("postBind", PostBindPlugin),
    )


def _plugins_in_use(settings: ProfileSettings) -> Iterable[str]:
    """Return the names of all plugins in use, each once.

    The order is that of the default plugins, which extension points share.
    """
    return dict.fromkeys(one.name for plugin_set in settings.plugins.values() for one in plugin_set.enabled)


def _build_plugin(name: str, settings: ProfileSettings, context: Context) -> Plugin:
    entry = entry_of(name, context.caps)
    assert entry is not None, "the configuration was validated"
    return entry.factory(context, settings.arguments.get(name, {}))


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

    def at(self, point: str, kind: type[PluginT]) -> tuple[PluginT, ...]:
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
            raise ConfigurationError([f'plugin "{name}" does not extend {extension} plugin'])
        return plugin

    def refuse(self, text: str, tail: str = "") -> None:
        """Raise an error that names the profile."""
        raise ConfigurationError([f'{text} "{self.settings.name}"{tail}'])
