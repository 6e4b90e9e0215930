"""What steps act upon: a cluster seen as an operator sees it, its time, and what names stand for."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mockkube.api.types import Object
from mockkube.client.protocol import Client
from mockkube.cluster.components import Settings
from mockkube.features.components import API_SERVER
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import LogEntry

DEFAULT_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody who asks, where, and how strictly what is sent is read."""

    user: str = ""
    """Empty: an administrator."""
    groups: tuple[str, ...] = ()
    server: str = API_SERVER
    field_validation: str = "Warn"
    field_manager: str = "mockkube"
    dry_run: bool = False


ADMINISTRATOR: Final = Who()


@dataclass(slots=True)
class Scene:
    """Where a run stands: what it has bound, which files it refers to, what it has said."""

    bindings: dict[str, Any]
    directory: Path
    namespace: str = DEFAULT_NAMESPACE
    timeout: float = 30.0
    """How long a claim has to come true, in the time of the cluster, unless it says otherwise."""
    deletion_timeout: float = 60.0
    log: list[str] = field(default_factory=list)
    kubectl: str = ""
    """The real kubectl; empty: what is built in."""

    def say(self, text: str) -> None:
        """Keep something for whoever reads how the run went."""
        self.log.append(text)


class World(ABC):
    """A cluster with its time. What it cannot do it refuses with Impossible, and the step is skipped."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.warnings: list[str] = []
        """What the API warned of in the step at hand."""

    @property
    @abstractmethod
    def clock(self) -> Clock:
        """The time of the cluster."""

    @abstractmethod
    def settings(self, component: str) -> Settings:
        """Return what a component is told."""

    @property
    @abstractmethod
    def now(self) -> float:
        """Seconds since the run began, in the time of the cluster."""

    @abstractmethod
    def client(self, who: Who = ADMINISTRATOR) -> Client:
        """Return the client of somebody."""

    @abstractmethod
    async def settle(self) -> None:
        """Let all that can happen now happen."""

    @abstractmethod
    async def advance(self, seconds: float) -> None:
        """Let time pass."""

    @abstractmethod
    async def until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Let time pass until something holds, at most so long; return whether it does."""

    @abstractmethod
    async def component(self, name: str, **wished: Any) -> Sequence[str]:
        """Ask something else of a component; return warnings."""

    @abstractmethod
    async def restart(self, component: str) -> None:
        """Let a component lose all that it had in memory."""

    @abstractmethod
    async def remove(self, component: str) -> None:
        """Take a replica or a node's own kubelet away."""

    @abstractmethod
    async def fault(self, name: str, spec: Object | None) -> None:
        """Let requests go wrong; None: no longer."""

    @abstractmethod
    async def snapshot(self, name: str) -> None:
        """Keep the state of the cluster."""

    @abstractmethod
    async def restore(self, name: str) -> None:
        """Bring back what was kept."""

    @abstractmethod
    def loops(self) -> list[Mapping[str, Any]]:
        """Return what controllers do again and again without end: controller, object, cause, per_minute."""

    @property
    def moments(self) -> int:
        """Return how many moments of the run's story there are so far; 0 where nobody keeps one."""
        return 0

    @abstractmethod
    def writes(self, since: float) -> list[tuple[str, str, str]]:
        """Return worker, verb and resource (`core/pods`) of every write since a moment."""

    @abstractmethod
    async def metrics(self, component: str) -> str:
        """Return the metrics of a component."""

    @abstractmethod
    def log(self, component: str, since: float) -> Iterable[LogEntry]:
        """Return what a component has logged since a moment."""

    async def catch_up(self) -> None:
        """Do what somebody outside of the cluster has been asked for through its API."""
        return

    def failed(self) -> Mapping[str, str]:
        """Return the components that a bug of theirs has stopped, with what it says of itself."""
        return {}

    @abstractmethod
    async def environment(self) -> Mapping[str, str]:
        """Return what a program needs to reach the cluster: `KUBECONFIG`."""
