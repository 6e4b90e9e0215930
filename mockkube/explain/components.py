"""Components that decide about pods: capabilities, the objects each decodes, and whether it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.explain.component_variants import Standing
from mockkube.explain.recorded_cluster import see, sight_of
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER, is_api_server


@dataclass(frozen=True, slots=True)
class Member:
    """A component, and the API server through which it reads the cluster."""

    standing: Standing
    server: Capabilities
    # Why it does nothing; empty if it runs.
    idle: str = ""

    @property
    def name(self) -> str:
        """Name in the control API."""
        return self.standing.component

    @property
    def caps(self) -> Capabilities:
        """Version and enabled gates."""
        return self.standing.caps

    def sees(self, obj: ReadOnlyObject) -> Object:
        """Return an object as the component decodes it."""
        # Decoded twice: fields that the API server does not know are dropped before the component could drop its own.
        return see(see(obj, sight_of(self.server)), sight_of(self.caps))

    def able(self, caps: Capabilities) -> "Member":
        """Return the component with other capabilities."""
        return replace(self, standing=replace(self.standing, caps=caps))

    def told(self) -> str:
        """Return name and version."""
        return f"{self.name} {self.caps.version}"


@dataclass(frozen=True, slots=True)
class Team:
    """Components of a cluster by name; API server, scheduler, controller manager and kubelet are always present."""

    members: Mapping[str, Member]
    # True if the gates are defaults of each version, because the cluster does not report them.
    guessed: bool = False

    @property
    def server(self) -> Member:
        """API server that users and the controller manager write to."""
        return self.members[API_SERVER]

    def newest_server(self) -> Member:
        """Return the running API server of the newest version; the first one if none runs."""
        servers = [one for name, one in self.members.items() if is_api_server(name) and not one.idle]
        return max(servers, key=lambda one: one.caps.version, default=self.server)

    @property
    def scheduler(self) -> Member:
        """The scheduler."""
        return self.members[SCHEDULER]

    @property
    def manager(self) -> Member:
        """The controller manager."""
        return self.members[CONTROLLER_MANAGER]

    def kubelet(self, node: str) -> Member:
        """Return the kubelet of a node, or the one that all other nodes share."""
        return self.members.get(f"{KUBELET}.{node}") or self.members[KUBELET]
