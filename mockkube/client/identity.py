"""Who a component says it is: the user a server knows it by, and the user agent its writes are remembered under."""

# upstream 1.36: client-go/rest/config.go (DefaultKubernetesUserAgent), cmd/kubeadm/app/constants/constants.go
from dataclasses import dataclass
from typing import Final

from mockkube.features.versions import Version, binary_text

AUTHENTICATED: Final = "system:authenticated"
MASTERS: Final = "system:masters"
NODES: Final = "system:nodes"
SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
_SYSTEM: Final = "kube-system"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user, its groups, and the program that speaks for it."""

    user: str
    groups: tuple[str, ...]
    user_agent: str


def user_agent(program: str, version: Version) -> str:
    """Return what a binary of that version sends."""
    return f"{program}/v{binary_text(version)} (linux/amd64) kubernetes/mockkube"


def scheduler(version: Version) -> Identity:
    """Return the scheduler's identity."""
    return Identity("system:kube-scheduler", (AUTHENTICATED,), user_agent("kube-scheduler", version))


def controller_manager(version: Version) -> Identity:
    """Return the identity of all controllers.

    differs: upstream's controllers each act under a service account of their own; here they share a user, which
    therefore may do whatever any of them may.
    """
    agent = user_agent("kube-controller-manager", version)
    return Identity("system:kube-controller-manager", (MASTERS, AUTHENTICATED), agent)


def controller(name: str, version: Version) -> Identity:
    """Return the identity of one controller that acts under its own service account."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{_SYSTEM}", AUTHENTICATED)
    agent = f"{user_agent('kube-controller-manager', version)}/{name}"
    return Identity(f"system:serviceaccount:{_SYSTEM}:{name}", groups, agent)


def kubelet(node: str, version: Version) -> Identity:
    """Return the identity of the kubelet of a node."""
    return Identity(f"system:node:{node}", (NODES, AUTHENTICATED), user_agent("kubelet", version))


def kubelets(version: Version) -> Identity:
    """Return the identity of one program that speaks for every node.

    differs: upstream has none; what it may do is not limited to the objects of one node.
    """
    return Identity("system:kubelets", (MASTERS, AUTHENTICATED), user_agent("kubelet", version))
