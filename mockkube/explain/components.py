"""Components that decide about pods: capabilities, the objects each decodes, and whether it runs."""

from collections.abc import Mapping
from dataclasses import replace

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.explain.component_variants import ComponentFeatures
from mockkube.explain.recorded_cluster import decode_copy, decoder_for
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER, is_api_server
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecidingComponent:
    """A component, and the API server through which it reads the cluster."""

    features: ComponentFeatures
    server: Capabilities
    # Why it does nothing; empty if it runs.
    idle: str = ""

    @property
    def name(self) -> str:
        """Name in the control API."""
        return self.features.component

    @property
    def caps(self) -> Capabilities:
        """Version and enabled gates."""
        return self.features.caps

    def decode(self, obj: ReadOnlyObject) -> Object:
        """Return an object as the component decodes it."""
        # Decoded twice: fields that the API server does not know are dropped before the component could drop its own.
        return decode_copy(decode_copy(obj, decoder_for(self.server)), decoder_for(self.caps))

    def with_capabilities(self, caps: Capabilities) -> "DecidingComponent":
        """Return the component with other capabilities."""
        return replace(self, features=replace(self.features, caps=caps))

    def describe(self) -> str:
        """Return name and version."""
        return f"{self.name} {self.caps.version}"


@dataclass(frozen=True, slots=True)
class ClusterComponents:
    """Components of a cluster by name; API server, scheduler, controller manager and kubelet are always present."""

    members: Mapping[str, DecidingComponent]
    # True if the gates are defaults of each version, because the cluster does not report them.
    has_default_gates: bool = False

    @property
    def server(self) -> DecidingComponent:
        """API server that users and the controller manager write to."""
        return self.members[API_SERVER]

    def find_newest_server(self) -> DecidingComponent:
        """Return the running API server of the newest version; the first one if none runs."""
        servers = [one for name, one in self.members.items() if is_api_server(name) and not one.idle]
        return max(servers, key=lambda one: one.caps.version, default=self.server)

    @property
    def scheduler(self) -> DecidingComponent:
        """The scheduler."""
        return self.members[SCHEDULER]

    @property
    def manager(self) -> DecidingComponent:
        """The controller manager."""
        return self.members[CONTROLLER_MANAGER]

    def kubelet(self, node: str) -> DecidingComponent:
        """Return the kubelet of a node, or the one that all other nodes share."""
        return self.members.get(f"{KUBELET}.{node}") or self.members[KUBELET]
