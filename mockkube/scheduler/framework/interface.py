"""Plugin interfaces, one class per extension point, and the values that plugins exchange with the scheduler.

A plugin inherits from the class of each of its extension points. Methods are synchronous; only what writes to the API
awaits: `pre_bind`, `bind`, and the cleanup after them. A plugin is built once per profile and start of the scheduler,
with fixed capabilities. It may keep what it derives from informers, but nothing about a pod beyond its cycle: that
goes into the `CycleState`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import InformerFactory
from mockkube.client.protocol import Client
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.node_selectors import LabelOperator
from mockkube.matching.taints import TaintRules
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import LogLine
from mockkube.runtime.random import Random
from mockkube.scheduler.framework.events import ClusterEventWithHint
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Code, Status

T = TypeVar("T")
# upstream: MaxNodeScore
SCORE_MAX = 100


class PodNominator(Protocol):
    """Pods that are nominated to nodes."""

    @property
    def generation(self) -> int:
        """Generation of the latest change."""
        ...

    def changed_since(self, generation: int) -> Iterable[str]:
        """Return the nodes whose nominated pods changed after a generation."""
        ...

    def nominated_node_of(self, uid: str) -> str:
        """Return the node that a pod is nominated to; empty if there is none."""
        ...


class Handle(Protocol):
    """Services of the scheduler for a plugin; usable during a cycle, not while plugins are built."""

    def filters(self, state: "CycleState") -> "Sequence[FilterPlugin]":
        """Return the filters that run in this cycle, in order."""
        ...

    def run_filters_with_nominated_pods(
        self, state: "CycleState", pod: PodInfo, node: NodeInfo, filters: "Sequence[FilterPlugin] | None" = None
    ) -> Status:
        """Run filters, or all, for a node, with and without the pods nominated to it.

        Nominated pods of lower priority than the pod are ignored.
        """
        ...

    def run_add_pod(self, state: "CycleState", pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Add another pod to a cloned node; raise ValueError when a plugin fails."""
        ...

    def run_remove_pod(self, state: "CycleState", pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Remove another pod from a cloned node; raise ValueError when a plugin fails."""
        ...

    def equivalence_key(self, state: "CycleState", pod: PodInfo) -> object:
        """Return a key that is equal for pods to which filters of scope NODE and LOAD respond alike."""
        ...

    def record_event(self, pod: PodInfo, reason: str, note: str) -> None:
        """Record a normal event about a pod that is being scheduled."""
        ...

    def nominator(self) -> "PodNominator":
        """Return the pods that are nominated to nodes."""
        ...

    def is_running_preemption(self, uid: str) -> bool:
        """Return whether pods are being evicted for this one now."""
        ...

    def has_pending_victims(self, uid: str) -> bool:
        """Return whether more than one victim of the pod is still to be evicted.

        The queue rechecks the gate of the pod when that changes.
        """
        ...


@dataclass(frozen=True, slots=True)
class PluginDependencies:
    """Everything that a plugin is built with, besides its arguments."""

    caps: Capabilities
    clock: Clock
    client: Client
    informers: InformerFactory
    nodes: NodeInfoLister
    """All nodes, as the scheduler's cache has them now."""
    taints: TaintRules
    """Toleration rules of this scheduler's version and gates."""
    selector_operators: Mapping[str, LabelOperator]
    """Operators of node affinity that proposals add."""
    device_taints: TaintRules
    log: Callable[[str, int], None] | None = None
    """Logs a line at a verbosity."""
    expressions: Any = None
    """Cache of compiled CEL programs of the component; untyped, because most plugins do not use it."""
    handle: Handle | None = None
    """Set whenever plugins run inside a scheduler."""
    random: Random = field(default_factory=Random)
    shared: dict[object, Any] = field(default_factory=dict)
    """State shared by the plugins of all profiles, by its type.

    One profile must not allocate what another has allocated already.
    """


class StateKey(Generic[T]):
    """Typed key of a value in a CycleState: `PORTS: Final = StateKey[Ports]("NodePorts")`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class CycleState:
    """Values that plugins store for one pod during one scheduling cycle."""

    __slots__ = ("_values", "record_plugin_metrics", "skip_filter", "skip_score")

    def __init__(self) -> None:
        self._values: dict[StateKey[Any], Any] = {}
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        # As upstream, plugins are timed in a sample of the cycles only, to save the time of measuring.
        self.record_plugin_metrics = False

    def put(self, key: StateKey[T], value: T) -> None:
        """Store a value."""
        self._values[key] = value

    def get(self, key: StateKey[T]) -> T | None:
        """Return a stored value; None if there is none."""
        value: T | None = self._values.get(key)
        return value

    def clone(self) -> "CycleState":
        """Return a copy for dry runs."""
        other = CycleState()
        # Only values that plugins change when pods are added or removed have a `clone`; the others are shared.
        other._values = {k: v.clone() if hasattr(v, "clone") else v for k, v in self._values.items()}
        other.skip_filter, other.skip_score = set(self.skip_filter), set(self.skip_score)
        return other


class CacheScope(StrEnum):
    """Inputs that a verdict or score depends on.

    It is cached, for pods with equal signatures, until one of them changes. Labels and annotations of the pod are not
    part of its signature: plugins that read them have scope CLUSTER.
    """

    # The node object and the pod.
    NODE = "node"
    # Also the other pods on the node, except for their labels and annotations.
    LOAD = "load"
    # Also other nodes or objects: not cached, computed in each cycle.
    CLUSTER = "cluster"


class Plugin(ABC):
    """Base of all plugins."""

    name: ClassVar[str]

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Return the events that may make a pod rejected by this plugin schedulable; none: any event may."""
        return ()


class PreEnqueuePlugin(Plugin):
    """Keeps pods out of the active queue, without a condition or event."""

    @abstractmethod
    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Return SUCCESS to admit the pod to the active queue."""

    def is_certain_to_reject(self, pod: PodInfo) -> bool:
        """Return whether the pod stays rejected, regardless of events, until its gate is rechecked."""
        return False


@dataclass(frozen=True, slots=True)
class SortablePod:
    """Pod in the queue, as far as sorting needs it."""

    pod: PodInfo
    queued_at: float


class QueueSortPlugin(Plugin):
    """Sorts the active queue; a profile has exactly one."""

    @abstractmethod
    def sort_key(self, queued: SortablePod) -> tuple[Any, ...]:
        """Return the key by which the queue is sorted, ascending."""


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """Status of a PreFilter plugin, and the nodes that remain (None: all)."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin):
    """Examines the pod and all nodes once, before nodes are filtered."""

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Store what `filter` needs; SKIP skips this plugin's filter in the cycle."""

    def skips_pre_filter(self, spec: ReadOnlyObject) -> bool:
        """Return whether `pre_filter` skips every pod with this spec, in any cluster; it is not called for these pods.

        Called once for equal specs.
        """
        return False

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """Update the stored values for a pod that is added to a node in a dry run."""
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status:
        """Update the stored values for a pod that is removed from a node in a dry run."""
        return SUCCESS


class FilterPlugin(Plugin):
    """Filters nodes that cannot run the pod."""

    filter_scope: ClassVar[CacheScope] = CacheScope.CLUSTER
    # Log line, by status code, for each node rejected with that code.
    log_lines: ClassVar[Mapping[Code, LogLine]] = MappingProxyType({})

    def scope_for(self, pod: PodInfo) -> CacheScope:
        """Return the scope of verdicts about this pod, where it differs between pods."""
        return self.filter_scope

    @abstractmethod
    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Return SUCCESS, or the status with which the node is rejected."""

    def is_affected_by(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether the verdict may change when some pod is added or removed; called for scope CLUSTER only."""
        return True

    def has_affecting_pods(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> bool:
        """Return whether `is_affected_by` may be true for a pod on the node; cheaper than asking for each."""
        return True

    def prepare_filter(self, state: CycleState, pod: PodInfo) -> Callable[[NodeInfo], Status]:
        """Return `filter` for the nodes of one cycle; lookups that do not depend on the node can be done here, once."""
        return partial(self.filter, state, pod)


@dataclass(frozen=True, slots=True)
class NodeToStatus:
    """Status of each rejected node, and one status for all nodes that are not listed."""

    by_node: Mapping[str, Status]
    absent_nodes_status: Status = field(default_factory=lambda: Status.unresolvable())
    all_resolvable: bool = False
    """True if no listed node is rejected as unresolvable, so that preemption may help on all of them."""
    reason_counts: Mapping[tuple[str, ...], int] | None = field(default=None, compare=False)
    """Number of nodes per tuple of reasons, where it is known without counting."""

    def get(self, node_name: str) -> Status:
        """Return the status of a node."""
        return self.by_node.get(node_name, self.absent_nodes_status)


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """Status of a PostFilter plugin, the node to nominate, and the victims to evict there.

    An empty node name clears the nomination, None keeps it.
    """

    status: Status
    node_name: str | None = None
    victims: tuple[PodInfo, ...] = ()


class PostFilterPlugin(Plugin):
    """Tries to make a pod schedulable that fits no node. It only decides: the caller evicts the victims."""

    @abstractmethod
    def post_filter(self, state: CycleState, pod: PodInfo, node_to_status: NodeToStatus) -> PostFilterResult:
        """Return SUCCESS with a nomination, UNSCHEDULABLE with the reasons why nothing helps, or an error."""

    async def apply_result(self, state: CycleState, pod: PodInfo) -> None:
        """Write to the API what `post_filter` decided besides victims. Raises ApiError.

        It is called whatever the other plugins decided.
        """


class PreScorePlugin(Plugin):
    """Examines the pod and the feasible nodes once, before they are scored."""

    @abstractmethod
    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Store what `score` needs; SKIP skips this plugin's score."""

    def find_pre_score_code(self, spec: ReadOnlyObject) -> Code | None:
        """Return the code of `pre_score` for every pod with this spec, in any cluster; None if it depends on more.

        Called once for equal specs. If the code is known, `pre_score` is not called: it must not store anything.
        """
        return None


class ScorePlugin(Plugin):
    """Scores the feasible nodes."""

    score_scope: ClassVar[CacheScope] = CacheScope.CLUSTER

    @abstractmethod
    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the raw score of a node."""

    def score_all(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """Return the raw scores of nodes, in their order."""
        return [self.score(state, pod, node) for node in nodes]

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> None:
        """Scale the raw scores of all nodes to 0..SCORE_MAX, in place; `scores[i]` belongs to `nodes[i]`."""


class ReservePlugin(Plugin):
    """Reserves and releases resources of the chosen node in the scheduler's memory."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Reserve resources for the pod."""

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Release them; also called after a failed `reserve`, and must then do no harm."""

    # Upstream's Unreserve may write to the API itself; here it is synchronous and this is its asynchronous half.
    async def clean_up(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Undo in the API what `pre_bind` wrote, after `unreserve`."""


class PermitPlugin(Plugin):
    """Allows, rejects or delays the binding of a pod."""

    # Upstream's plugins look up a waiting pod and allow it themselves; calling them again needs no such registry.
    @abstractmethod
    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Return SUCCESS, a rejection, or WAIT: it is called again when something has changed."""


class PreBindPlugin(Plugin):
    """Prepares the binding in the API."""

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Return SKIP if there is nothing to prepare for this pod.

        Otherwise the pod may be nominated to the node before it is bound.
        """
        return SUCCESS

    @abstractmethod
    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Write what the binding needs; on WAIT it is called again when something has changed, or after a second."""


class BindPlugin(Plugin):
    """Binds pods."""

    @abstractmethod
    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Write the binding; SKIP leaves it to the next plugin."""


class PostBindPlugin(Plugin):
    """Receives notice of bound pods."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Handle a pod that was bound."""


PluginFactory = Callable[[PluginDependencies, ReadOnlyObject], Plugin]
"""Builds a plugin with its arguments, as in KubeSchedulerConfiguration after defaulting."""
