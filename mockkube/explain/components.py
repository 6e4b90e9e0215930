"""The components of a cluster as far as they decide about pods: what each can do, sees, and whether it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.explain.component_variants import Standing
from mockkube.explain.recorded_cluster import see, sight_of
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER, is_api_server


@dataclass(frozen=True, slots=True)
class Member:
    """A component, and the API server it sees the cluster through."""

    standing: Standing
    server: Capabilities
    idle: str = ""
    """Why it does nothing; empty if it works."""

    @property
    def name(self) -> str:
        """What the control API calls it."""
        return self.standing.component

    @property
    def caps(self) -> Capabilities:
        """What it can do."""
        return self.standing.caps

    def sees(self, obj: ReadOnlyObject) -> Object:
        """Return what it sees of an object."""
        return see(see(obj, sight_of(self.server)), sight_of(self.caps))

    def able(self, caps: Capabilities) -> "Member":
        """Return it with other abilities."""
        return replace(self, standing=replace(self.standing, caps=caps))

    def told(self) -> str:
        """Return its name and version."""
        return f"{self.name} {self.caps.version}"


@dataclass(frozen=True, slots=True)
class Team:
    """All of them, by name; there is always one each of API server, scheduler, controller manager and kubelets."""

    members: Mapping[str, Member]
    guessed: bool = False
    """Whether gates are as each version has them, for want of anybody who knows better."""

    @property
    def server(self) -> Member:
        """The API server that the controller manager writes to, or people do."""
        return self.members[API_SERVER]

    def newest_server(self) -> Member:
        """Return the API server that works and knows most fields; the first one if none works."""
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
        """Return the kubelet of a node: its own, or the fleet's."""
        return self.members.get(f"{KUBELET}.{node}") or self.members[KUBELET]
