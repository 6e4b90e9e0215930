"""One run of a container: its number, its start, and what its kubelet knows about other objects."""

from collections.abc import Callable, Iterable
from datetime import datetime

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_states import ContainerStates
from mockkube.shell.containers.pod_fields import Lookup
from mockkube.shell.containers.volumes import MakeToken

ListServices = Callable[[], Iterable[ReadOnlyObject]]
"""Returns the Services of all namespaces."""


@dataclass(frozen=True, slots=True)
class ContainerStart:
    """One run of a container: its number, its start time, and lookups for objects its pod refers to.

    Without a lookup, what depends on these objects is unknown.
    """

    run: int = 0
    began: datetime | None = None
    lookup: Lookup | None = None
    services: ListServices | None = None
    make_token: MakeToken | None = None
    states: ContainerStates | None = None
    """What commands of exec have changed."""
