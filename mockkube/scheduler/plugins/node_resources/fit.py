"""NodeResourcesFit plugin: filter nodes without free resources for the pod, and score by a scoring strategy.

upstream 1.36: pkg/scheduler/framework/plugins/noderesources/fit.go
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.resources import is_extended_resource
from mockkube.api.quantities.pod_requests import PodResourcesOptions, calculate_nonzero_requests, calculate_pod_requests
from mockkube.api.quantities.resources import Resources
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    is_update_of,
)
from mockkube.scheduler.framework.interface import (
    CacheScope,
    CycleState,
    FilterPlugin,
    PluginDependencies,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator, PodRequests
from mockkube.scheduler.framework.status import SUCCESS, Code, Status
from mockkube.scheduler.plugins.extended_resource_classes import ExtendedResourceClasses, extended_resources_of_class
from mockkube.scheduler.plugins.node_resources.allocation import ResourceAllocation, scorer_for

_ALL_NODES: Final = PreFilterResult()
# From this version on a request larger than the whole node is unresolvable: no eviction would help.
_UNRESOLVABLE_SINCE: Final = Version(1, 34)
_RESIZE_GATE: Final = "InPlacePodVerticalScaling"
# upstream 1.36: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go passes no gates to the scorer, so
# strategies count only the containers of the pod, although filters and the sums of nodes count pod-level requests.
_SCORING_RULES: Final = PodResourcesOptions(use_status=False, use_pod_level=False)


@dataclass(frozen=True, slots=True)
class _InsufficientResource:
    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def reason(self) -> str:
        return "Too many pods" if self.resource == "pods" else f"Insufficient {self.resource}"

    @property
    def is_unresolvable(self) -> bool:
        """True if the pod would not fit on the empty node; the number of pods does not count."""
        return self.resource != "pods" and self.requested > self.capacity

    @property
    def facts(self) -> Mapping[str, int | str]:
        return {
            "resource": self.resource,
            "requested": self.requested,
            "used": self.used,
            "capacity": self.capacity,
        }


class NodeResourcesFit(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Filters nodes without enough free resources; scores by its scoring strategy."""

    name = "NodeResourcesFit"
    filter_scope = CacheScope.LOAD
    score_scope = CacheScope.LOAD

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._reader, self._rules = (
            PodRequestCalculator(dependencies.caps),
            PodResourcesOptions.from_capabilities(dependencies.caps),
        )
        self._resource_classes = ExtendedResourceClasses.from_dependencies(dependencies)
        self._ignored = frozenset(args.get("ignoredResources") or ())
        self._ignored_groups = frozenset(args.get("ignoredResourceGroups") or ())
        self._reports_unresolvable = dependencies.caps.version >= _UNRESOLVABLE_SINCE
        self._supports_resize = dependencies.caps.enabled(_RESIZE_GATE)
        self._allocation = ResourceAllocation.from_resources(args["scoringStrategy"]["resources"], nonzero=True)
        self._score = scorer_for(args["scoringStrategy"])

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for deleted or shrunken pods, new or grown nodes, and classes that back extended resources."""
        scale_down = ActionType.POD_SCALE_DOWN if self._supports_resize else ActionType(0)
        events = [
            ClusterEventWithHint(
                EventResource.ASSIGNED_POD, ActionType.DELETE | scale_down, self._is_schedulable_after_pod_event
            ),
            ClusterEventWithHint(
                EventResource.NODE, ActionType.ADD | ActionType.NODE_ALLOCATABLE, self._is_schedulable_after_node_change
            ),
        ]
        if self._supports_resize:
            events.append(ClusterEventWithHint(EventResource.UNSCHEDULED_POD, scale_down, is_update_of))
        if self._resource_classes.is_enabled:
            events.append(
                ClusterEventWithHint(
                    EventResource.DEVICE_CLASS,
                    ActionType.ADD | ActionType.UPDATE,
                    self._is_schedulable_after_device_class_event,
                )
            )
        return events

    # Filtering

    def scope_for(self, pod: PodInfo) -> CacheScope:
        """Return CLUSTER where device classes may back the resources of the pod."""
        if self._resource_classes.is_enabled and self._reader.read(pod).total.scalars:
            return CacheScope.CLUSTER
        return CacheScope.LOAD

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Filter for every pod: even one without requests adds to the number of pods."""
        return _ALL_NODES

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:  # hot: per pod and changed node
        """Reject nodes without enough free resources, and report each insufficient resource."""
        # The common case is checked first, without a loop over resource names.
        wanted, free, used = self._reader.read(pod).total, node.allocatable, node.requested
        if (
            len(node.pods) < free.pods
            and wanted.cpu_milli <= max(free.cpu_milli - used.cpu_milli, 0)
            and wanted.memory <= max(free.memory - used.memory, 0)
            and wanted.ephemeral_storage <= max(free.ephemeral_storage - used.ephemeral_storage, 0)
            and not wanted.scalars
        ):
            return SUCCESS
        names = (
            name
            for name in _requested_names(wanted)
            if not self._ignores(name) and not self._is_backed_by_devices(name, node)
        )
        shortages = list(_insufficient_resources(wanted, node, names))
        return self._reject(shortages) if shortages else SUCCESS

    def _reject(self, shortages: Sequence[_InsufficientResource]) -> Status:
        reasons = [shortage.reason for shortage in shortages]
        facts = [shortage.facts for shortage in shortages]
        if self._reports_unresolvable and any(shortage.is_unresolvable for shortage in shortages):
            return Status.unresolvable(*reasons, shortages=facts)
        return Status.unschedulable(*reasons, shortages=facts)

    def _ignores(self, name: str) -> bool:
        if not self._ignored and not self._ignored_groups:
            return False
        return is_extended_resource(name) and (name in self._ignored or name.partition("/")[0] in self._ignored_groups)

    def _is_backed_by_devices(self, name: str, node: NodeInfo) -> bool:
        # A node that has some of the resource itself serves it by its device plugin; devices replace it elsewhere.
        return node.allocatable.get_amount(name) == 0 and self._resource_classes.has_class(name)

    # Scoring

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Score every pod."""
        return SUCCESS

    def find_pre_score_code(self, spec: ReadOnlyObject) -> Code | None:
        """Return SUCCESS: every pod is scored."""
        return Code.SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the strategy's score of the node with the pod added."""
        requests = pod.derive_from_spec(self, lambda spec: self._allocation.pod_requests(_scoring_requests(spec)))
        return self._score(self._allocation.shares_with_pod(requests, node))

    # Hints

    def _is_schedulable_after_pod_event(self, pod: PodInfo, event: ClusterEvent) -> bool:
        if event.old is None:
            return True
        if event.new is not None:
            return self._is_scaled_down(pod, event.old, event.new)
        deleted = PodInfo(event.old)
        return bool(deleted.node_name or deleted.nominated_node)

    def _is_scaled_down(self, pod: PodInfo, old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
        """Return whether another pod releases a resource that this one requests."""
        if not new["spec"].get("nodeName"):
            return False
        before, after = calculate_pod_requests(old, self._rules), calculate_pod_requests(new, self._rules)
        return any(
            before.get_amount(name) > after.get_amount(name) for name in _requested_names(self._reader.read(pod).total)
        )

    def _is_schedulable_after_node_change(self, pod: PodInfo, event: ClusterEvent) -> bool:
        """Return whether the node now has more of a requested resource, and the pod would fit if it were empty."""
        if event.new is None:
            return False
        wanted, node = self._reader.read(pod).total, _empty_node(event.new)
        backed_by_devices = frozenset(
            name for name in _requested_names(wanted) if self._is_backed_by_devices(name, node)
        )
        if any(
            _insufficient_resources(
                wanted, node, (name for name in _requested_names(wanted) if name not in backed_by_devices)
            )
        ):
            return False
        if event.old is None:
            return True
        now, before = node.allocatable, _empty_node(event.old).allocatable
        more = any(now.get_amount(name) > before.get_amount(name) for name in ("pods", *_requested_names(wanted)))
        return more or bool(backed_by_devices)

    def _is_schedulable_after_device_class_event(self, pod: PodInfo, event: ClusterEvent) -> bool:
        """Return whether a device class starts to back a resource that the pod requests."""
        if event.new is None:
            return False
        resources = extended_resources_of_class(event.new)
        if event.old is not None:
            resources = tuple(name for name in resources if name not in extended_resources_of_class(event.old))
        return any(name in self._reader.read(pod).total.scalars for name in resources)


def _scoring_requests(spec: ReadOnlyObject) -> PodRequests:
    pod = {"spec": spec}
    return PodRequests(calculate_pod_requests(pod, _SCORING_RULES), calculate_nonzero_requests(pod, _SCORING_RULES))


def _insufficient_resources(wanted: Resources, node: NodeInfo, names: Iterable[str]) -> Iterator[_InsufficientResource]:
    if len(node.pods) + 1 > node.allocatable.pods:
        yield _InsufficientResource("pods", 1, len(node.pods), node.allocatable.pods)
    for name in names:
        amount, used, capacity = (
            wanted.get_amount(name),
            node.requested.get_amount(name),
            node.allocatable.get_amount(name),
        )
        if amount > capacity - used:
            yield _InsufficientResource(name, amount, used, capacity)


def _requested_names(wanted: Resources) -> list[str]:
    """Return the names of requested resources, the number of pods aside."""
    return [name for name in ("cpu", "memory", "ephemeral-storage", *wanted.scalars) if wanted.get_amount(name) > 0]


def _empty_node(obj: ReadOnlyObject) -> NodeInfo:
    node = NodeInfo(obj["metadata"]["name"])
    node.set_object(obj, 0)
    return node
