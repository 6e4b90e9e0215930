"""The extension points: a plugin says on its class line which it has, and answers with a value, synchronously.

Only what writes to the API awaits: `pre_bind`, `bind`, and the cleaning up after them. A plugin is built once per
profile and start of the scheduler, with its capabilities settled; it may keep what it derives from the caches, never
anything about a pod beyond its cycle: that goes into the `CycleState`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Caches
from mockkube.client.protocol import Client
from mockkube.features.capabilities import Capabilities
from mockkube.matching.node_selectors import LabelOperator
from mockkube.matching.taints import TaintRules
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import LogLine
from mockkube.scheduler.framework.events import Interest
from mockkube.scheduler.framework.node_info import NodeInfo, Nodes
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Code, Status

T = TypeVar("T")
SCORE_MAX = 100


class Nominated(Protocol):
    """Which pods wait for room on which nodes."""

    @property
    def generation(self) -> int:
        """The generation of the latest change."""
        ...

    def changed_since(self, generation: int) -> Iterable[str]:
        """Return the nodes to which others, or none, are nominated after a generation."""
        ...

    def node_of(self, uid: str) -> str:
        """Return to which node a pod is nominated; empty if to none."""
        ...


class Handle(Protocol):
    """What the scheduler around a plugin does for it. To be asked during a cycle, not while plugins are built."""

    def filters(self, state: "CycleState") -> "Sequence[FilterPlugin]":
        """Return the filters that are asked in this cycle, in order."""
        ...

    def fits(
        self, state: "CycleState", pod: PodInfo, node: NodeInfo, filters: "Sequence[FilterPlugin] | None" = None
    ) -> Status:
        """Ask filters, or all, about a node, also with the pods that are nominated to it and matter as much."""
        ...

    def put(self, state: "CycleState", pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Suppose that another pod is on a node, a clone; raises ValueError when a plugin cannot."""
        ...

    def take(self, state: "CycleState", pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Suppose that another pod is not on a node, a clone; raises ValueError when a plugin cannot."""
        ...

    def alike(self, state: "CycleState", pod: PodInfo) -> object:
        """Return what this pod shares with all of which filters that judge each node by itself say the same."""
        ...

    def tell(self, pod: PodInfo, reason: str, note: str) -> None:
        """Record an event about a pod that is being scheduled: nothing is wrong with it."""
        ...

    def nominations(self) -> "Nominated":
        """Return which pods are nominated to which nodes."""
        ...

    def preempting(self, uid: str) -> bool:
        """Whether pods are being evicted for this one right now."""
        ...

    def has_victims(self, uid: str) -> bool:
        """Whether not all but one of the victims of a pod have been evicted; the queue is told when that changes."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """What every plugin of a profile is built with, besides its arguments."""

    caps: Capabilities
    clock: Clock
    client: Client
    caches: Caches
    nodes: Nodes
    """The live picture of all nodes."""
    taints: TaintRules
    """What this scheduler makes of tolerations, with its version and gates."""
    selector_operators: Mapping[str, LabelOperator]
    """The operators of node affinity beyond the released ones."""
    device_taints: TaintRules
    log: Callable[[str, int], None] | None = None
    """Logs a line from a verbosity on."""
    expressions: Any = None
    """The component's CEL programs (a bounded cache); whoever needs it knows its type."""
    handle: Handle | None = None
    """Set wherever plugins are used by a scheduler."""
    chance: Chance = field(default_factory=Chance)
    shared: dict[object, Any] = field(default_factory=dict)
    """What plugins of all profiles have in common, by its type: one profile must not give away what another has."""


class Slot(Generic[T]):
    """The name of something in a CycleState, with its type: `PORTS: Final = Slot[Ports]("NodePorts")`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class CycleState:
    """What plugins note about one pod during one cycle."""

    __slots__ = ("_notes", "skip_filter", "skip_score", "timed")

    def __init__(self) -> None:
        self._notes: dict[Slot[Any], Any] = {}
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        self.timed = False
        """Whether it is measured in this cycle how long each plugin takes."""

    def put(self, slot: Slot[T], value: T) -> None:
        """Note something."""
        self._notes[slot] = value

    def get(self, slot: Slot[T]) -> T | None:
        """Return what was noted; None if nothing was."""
        value: T | None = self._notes.get(slot)
        return value

    def clone(self) -> "CycleState":
        """Return a state to suppose things in: notes that have a `clone` of their own are cloned."""
        other = CycleState()
        other._notes = {k: v.clone() if hasattr(v, "clone") else v for k, v in self._notes.items()}
        other.skip_filter, other.skip_score = set(self.skip_filter), set(self.skip_score)
        return other


class Scope(StrEnum):
    """What a filter's verdict, or a score, follows from: it is kept, for pods with equal specs, until that changes.

    Labels and annotations of the pod are no part of it: who looks at them is of scope CLUSTER.
    """

    NODE = "node"
    """The node's object and the pod alone."""
    LOAD = "load"
    """Also the pods on that node."""
    CLUSTER = "cluster"
    """Also other nodes, or other objects: asked anew in each cycle."""


class Plugin(ABC):
    """A plugin. `interests` are the events after which a pod it refused is worth another try."""

    name: ClassVar[str]

    def interests(self) -> Sequence[Interest]:
        """Return the events to be told of; none: its refusals are reconsidered on any event."""
        return ()


class PreEnqueuePlugin(Plugin):
    """Keeps pods out of the queue. No condition or event tells of it."""

    @abstractmethod
    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Return SUCCESS to let the pod into the active queue."""

    def keeps_surely(self, pod: PodInfo) -> bool:
        """Whether a pod is kept out until the queue is told to ask again, whatever happens."""
        return False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pod in the queue, as far as its order goes."""

    pod: PodInfo
    queued_at: float


class QueueSortPlugin(Plugin):
    """Orders the active queue; a profile has exactly one."""

    @abstractmethod
    def sort_key(self, waiting: Waiting) -> tuple[Any, ...]:
        """Return what the queue is sorted by, ascending."""


@dataclass(frozen=True, slots=True)
class PreFiltered:
    """What a pre-filter found out: a status, and which nodes are worth a look (None: all)."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin):
    """Looks at the pod and all nodes once, before any is filtered."""

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        """Note what `filter` needs; SKIP leaves this plugin's filter out of the cycle."""

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """Correct the notes for a pod supposed to be on a node."""
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status:
        """Correct the notes for a pod supposed to be gone."""
        return SUCCESS


class FilterPlugin(Plugin):
    """Says whether a node can take the pod."""

    filter_scope: ClassVar[Scope] = Scope.CLUSTER
    logged: ClassVar[Mapping[Code, LogLine]] = MappingProxyType({})
    """The line that is logged for each node refused with a code."""

    def scope_of(self, pod: PodInfo) -> Scope:
        """Return what the verdicts for this pod follow from, when that is not the same for all pods."""
        return self.filter_scope

    @abstractmethod
    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Return SUCCESS, or why not."""

    def is_moved(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Whether the verdict on a node may be another if some pod came there or went; asked of scope CLUSTER alone."""
        return True

    def judge(self, state: CycleState, pod: PodInfo) -> Callable[[NodeInfo], Status]:
        """Return `filter` for the nodes of one cycle; what does not depend on the node may be looked up here, once."""
        return partial(self.filter, state, pod)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What filtering came to: per node that was refused, the status; and a status for all nodes not listed."""

    by_node: Mapping[str, Status]
    absent: Status = field(default_factory=lambda: Status.unresolvable())
    all_curable: bool = False
    """Whether evictions may help on every node listed, as far as known without looking at each."""
    counted: Mapping[tuple[str, ...], int] | None = field(default=None, compare=False)
    """How many of the nodes listed were refused for which reasons, where that is known without looking at each."""

    def get(self, node_name: str) -> Status:
        """Return the status of a node."""
        return self.by_node.get(node_name, self.absent)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What a post-filter came to: a node to nominate (empty: clear the nomination; None: leave it) and its victims."""

    status: Status
    node_name: str | None = None
    victims: tuple[PodInfo, ...] = ()


class PostFilterPlugin(Plugin):
    """Tries to make a pod schedulable that no node could take. Decides only; whoever asked evicts the victims."""

    @abstractmethod
    def post_filter(self, state: CycleState, pod: PodInfo, verdicts: Verdicts) -> Remedy:
        """Return SUCCESS with a nomination, UNSCHEDULABLE with why nothing helps, or an error."""

    async def carry_out(self, state: CycleState, pod: PodInfo) -> None:
        """Write at the API what `post_filter` decided besides victims; whatever others came to. Raises ApiError."""


class PreScorePlugin(Plugin):
    """Looks at the pod and the feasible nodes once, before they are scored."""

    @abstractmethod
    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Note what `score` needs; SKIP leaves this plugin's score out."""


class ScorePlugin(Plugin):
    """Ranks the feasible nodes."""

    score_scope: ClassVar[Scope] = Scope.CLUSTER

    @abstractmethod
    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return a raw score."""

    def score_all(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        """Return the raw scores of nodes, in their order."""
        return [self.score(state, pod, node) for node in nodes]

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> None:
        """Bring the raw scores of all nodes to 0..SCORE_MAX, in place; `nodes` and `scores` go together."""


class ReservePlugin(Plugin):
    """Takes and gives back, in the scheduler's memory, what the chosen node owes the pod."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Take it."""

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Give it back; also called when `reserve` failed, and must then do no harm."""

    async def clean_up(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Undo at the API what `pre_bind` wrote, after `unreserve`."""


class PermitPlugin(Plugin):
    """Lets a pod go on to binding, or makes it wait."""

    @abstractmethod
    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Return SUCCESS, a refusal, or WAIT: it is asked again when something has changed."""


class PreBindPlugin(Plugin):
    """Prepares the binding at the API."""

    def pre_bind_preview(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Return SKIP when there is nothing to do for this pod; otherwise it gets nominatedNodeName beforehand."""
        return SUCCESS

    @abstractmethod
    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Write what must be written; WAIT: asked again when something has changed, or a second later."""


class BindPlugin(Plugin):
    """Binds the pod."""

    @abstractmethod
    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Write the binding; SKIP leaves it to the next plugin."""


class PostBindPlugin(Plugin):
    """Is told that a pod has been bound."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Take note."""


Factory = Callable[[Context, ReadOnlyObject], Plugin]
"""Builds a plugin with its arguments, as KubeSchedulerConfiguration has them after defaulting."""
