"""Catalogue of scheduler plugins, in default order with default weights; plugins of proposals follow."""

from typing import Final

from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.component_extensions import scheduler_plugins
from mockkube.proposals.proposal import SchedulerPlugin
from mockkube.scheduler.framework.interface import PluginFactory
from mockkube.scheduler.plugins.default_binder import DefaultBinder
from mockkube.scheduler.plugins.default_preemption import DefaultPreemption
from mockkube.scheduler.plugins.dynamic_resources.plugin import DynamicResources
from mockkube.scheduler.plugins.image_locality import ImageLocality
from mockkube.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity
from mockkube.scheduler.plugins.node_affinity import NodeAffinity
from mockkube.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from mockkube.scheduler.plugins.node_name import NodeName
from mockkube.scheduler.plugins.node_ports import NodePorts
from mockkube.scheduler.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from mockkube.scheduler.plugins.node_resources.fit import NodeResourcesFit
from mockkube.scheduler.plugins.node_unschedulable import NodeUnschedulable
from mockkube.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread
from mockkube.scheduler.plugins.priority_sort import PrioritySort
from mockkube.scheduler.plugins.scheduling_gates import SchedulingGates
from mockkube.scheduler.plugins.taint_toleration import TaintToleration
from mockkube.scheduler.plugins.volume_binding.plugin import VolumeBinding
from mockkube.scheduler.plugins.volumes.node_volume_limits import NodeVolumeLimits
from mockkube.scheduler.plugins.volumes.volume_restrictions import VolumeRestrictions
from mockkube.scheduler.plugins.volumes.volume_zone import VolumeZone


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """Plugin of the catalogue; one with a gate exists only where the gate is enabled."""

    name: str
    factory: PluginFactory
    weight: int = 0
    gate: str = ""


# upstream 1.36: pkg/scheduler/apis/config/v1/default_plugins.go
PLUGINS: Final = (
    PluginEntry("SchedulingGates", SchedulingGates),
    PluginEntry("PrioritySort", PrioritySort),
    PluginEntry("NodeUnschedulable", NodeUnschedulable),
    PluginEntry("NodeName", NodeName),
    PluginEntry("TaintToleration", TaintToleration, weight=3),
    PluginEntry("NodeAffinity", NodeAffinity, weight=2),
    PluginEntry("NodePorts", NodePorts),
    PluginEntry("NodeResourcesFit", NodeResourcesFit, weight=1),
    PluginEntry("VolumeRestrictions", VolumeRestrictions),
    PluginEntry("NodeVolumeLimits", NodeVolumeLimits),
    PluginEntry("VolumeBinding", VolumeBinding),
    PluginEntry("VolumeZone", VolumeZone),
    PluginEntry("PodTopologySpread", PodTopologySpread, weight=2),
    PluginEntry("InterPodAffinity", InterPodAffinity, weight=2),
    PluginEntry("DynamicResources", DynamicResources, weight=2, gate="DynamicResourceAllocation"),
    PluginEntry("DefaultPreemption", DefaultPreemption),
    PluginEntry("NodeResourcesBalancedAllocation", NodeResourcesBalancedAllocation, weight=1),
    PluginEntry("ImageLocality", ImageLocality, weight=1),
    PluginEntry("DefaultBinder", DefaultBinder),
    PluginEntry("NodeDeclaredFeatures", NodeDeclaredFeatures, gate="NodeDeclaredFeatures"),
)
_BY_NAME: Final = {entry.name: entry for entry in PLUGINS}
# From this version on NodeName runs before NodeUnschedulable.
_NAME_FIRST_SINCE: Final = Version(1, 37)


def find_plugin(name: str, caps: Capabilities) -> PluginEntry | None:
    """Return the plugin of a name, enabled by default or not."""
    proposed = {one.name: one for one, on in scheduler_plugins(caps) if on or one.name not in _BY_NAME}
    return _proposal_entry(proposed[name]) if name in proposed else _BY_NAME.get(name)


def _proposal_entry(plugin: SchedulerPlugin) -> PluginEntry:
    return PluginEntry(plugin.name, plugin.factory, plugin.weight)


def default_plugins(caps: Capabilities) -> list[PluginEntry]:
    """Return the plugins that are enabled by default, in order."""
    entries = [entry for entry in PLUGINS if not entry.gate or caps.enabled(entry.gate)]
    if caps.version >= _NAME_FIRST_SINCE:
        cordon, name = (
            next(i for i, one in enumerate(entries) if one.factory is f) for f in (NodeUnschedulable, NodeName)
        )
        entries[cordon], entries[name] = entries[name], entries[cordon]
    proposed = {one.name: _proposal_entry(one) for one, on in scheduler_plugins(caps) if on and one.default}
    # A proposal may replace a built-in plugin of the same name, which keeps its place in the order.
    entries = [proposed.pop(entry.name, entry) for entry in entries]
    return [*entries, *proposed.values()]
