"""The world that steps act on: a cluster as an operator sees it, its time, and the variables of the run."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.controllers.custom.custom_kind import CustomKind
from mockkube.features.components import API_SERVER
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.component_log import LogEntry
from mockkube.scenario.errors import StepNotSupported

DEFAULT_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Identity and options of the requests of a step."""

    # Empty: an administrator.
    user: str = ""
    groups: tuple[str, ...] = ()
    server: str = API_SERVER
    field_validation: str = "Warn"
    field_manager: str = "mockkube"
    dry_run: bool = False


ADMINISTRATOR: Final = RequestOptions()


@dataclass(slots=True)
class RunContext:
    """Variables, files and log of one run."""

    bindings: dict[str, Any]
    directory: Path
    namespace: str = DEFAULT_NAMESPACE
    # Default time for a check to become true, in the time of the cluster.
    timeout: float = 30.0
    deletion_timeout: float = 60.0
    log: list[str] = field(default_factory=list)
    # Path of the real kubectl; empty: the built-in commands.
    kubectl: str = ""

    def add_log(self, text: str) -> None:
        """Add a text to the log of the current step."""
        self.log.append(text)


class World(ABC):
    """A cluster and its time. An unsupported operation raises StepNotSupported, which skips the step."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        # Cleared before each step: a step shows only its own warnings of the API.
        self.warnings: list[str] = []
        """What the API warned of in the step at hand."""

    @property
    @abstractmethod
    def clock(self) -> Clock:
        """Clock of the cluster."""

    @abstractmethod
    def settings(self, component: str) -> ComponentSettings:
        """Return version and gates that a component was asked to have."""

    @property
    @abstractmethod
    def now(self) -> float:
        """Seconds since the run began, in the time of the cluster."""

    @abstractmethod
    def client(self, options: RequestOptions = ADMINISTRATOR) -> Client:
        """Return a client for requests with this identity and these options."""

    @abstractmethod
    async def settle(self) -> None:
        """Run steps until the cluster is at rest."""

    @abstractmethod
    async def advance(self, seconds: float) -> None:
        """Let time pass."""

    @abstractmethod
    async def wait_until(self, holds: Callable[[], Awaitable[bool]], seconds_max: float) -> bool:
        """Let time pass until a condition holds, at most so long; return whether it does."""

    @abstractmethod
    async def change_component(self, name: str, **wished: Any) -> Sequence[str]:
        """Change version, gates or other settings of a component; return warnings."""

    @abstractmethod
    async def restart_component(self, component: str) -> None:
        """Restart a component, so that it loses its memory."""

    @abstractmethod
    async def remove_component(self, component: str) -> None:
        """Remove an API server replica or the kubelet of one node."""

    async def start_custom_controller(self, name: str, kind: CustomKind) -> None:
        """Start the controller of a custom resource."""
        raise StepNotSupported("customController needs virtual time: in real time start a program of your own")

    @abstractmethod
    async def set_fault(self, name: str, spec: Object | None) -> None:
        """Create a fault in the control API; None deletes it."""

    @abstractmethod
    async def save_snapshot(self, name: str) -> None:
        """Save the state of the cluster."""

    @abstractmethod
    async def restore_snapshot(self, name: str) -> None:
        """Restore a saved state."""

    @abstractmethod
    async def explain_pod(self, pod: Key) -> ReadOnlyObject:
        """Return the explanation of a pod as JSON; NotFound if it never existed."""

    @abstractmethod
    def hot_loops(self) -> list[Mapping[str, Any]]:
        """Return the hot loops of controllers: controller, object, cause, per_minute."""

    @property
    def trace_length(self) -> int:
        """Number of steps in the trace so far; 0 without a trace."""
        return 0

    @abstractmethod
    def list_writes(self, since: float) -> list[tuple[str, str, str]]:
        """Return worker, verb and resource (`core/pods`) of every write since a time."""

    @abstractmethod
    async def read_metrics(self, component: str) -> str:
        """Return the metrics of a component in the text format."""

    @abstractmethod
    def read_log(self, component: str, since: float) -> Iterable[LogEntry]:
        """Return what a component has logged since a time."""

    async def follow_control_clock(self) -> None:
        """Let time pass to where a write to the control API's clock has set it."""
        return

    def failed_components(self) -> Mapping[str, str]:
        """Return the components that an error has stopped, with the error."""
        return {}

    @abstractmethod
    async def environment(self) -> Mapping[str, str]:
        """Return the environment variables with which a program reaches the cluster: `KUBECONFIG`."""
