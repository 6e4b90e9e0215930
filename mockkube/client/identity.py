"""Identities of components: user, groups and user agent of their requests."""

# upstream 1.36: client-go/rest/config.go (DefaultKubernetesUserAgent), cmd/kubeadm/app/constants/constants.go
from typing import Final

from mockkube.features.versions import Version, binary_version
from mockkube.lazy_dataclasses import dataclass

AUTHENTICATED: Final = "system:authenticated"
MASTERS: Final = "system:masters"
NODES: Final = "system:nodes"
SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
_SYSTEM: Final = "kube-system"


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """User, groups and user agent of one component."""

    user: str
    groups: tuple[str, ...]
    user_agent: str


def user_agent(program: str, version: Version) -> str:
    """Return the user agent that a binary of a version sends."""
    return f"{program}/v{binary_version(version)} (linux/amd64) kubernetes/mockkube"


def scheduler(version: Version) -> ClientIdentity:
    """Return the identity of the scheduler."""
    # The user name is what RBAC's bootstrap role bindings of upstream refer to.
    return ClientIdentity("system:kube-scheduler", (AUTHENTICATED,), user_agent("kube-scheduler", version))


def controller_manager(version: Version) -> ClientIdentity:
    """Return the identity of all controllers.

    differs: upstream's controllers each use a service account of their own; here they share one user with the
    permissions of all of them.
    """
    agent = user_agent("kube-controller-manager", version)
    return ClientIdentity("system:kube-controller-manager", (MASTERS, AUTHENTICATED), agent)


def controller(name: str, version: Version) -> ClientIdentity:
    """Return the identity of one controller that acts under its own service account."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{_SYSTEM}", AUTHENTICATED)
    agent = f"{user_agent('kube-controller-manager', version)}/{name}"
    return ClientIdentity(f"system:serviceaccount:{_SYSTEM}:{name}", groups, agent)


def cluster_autoscaler(version: Version) -> ClientIdentity:
    """Return the identity of the autoscaler of node groups.

    differs: upstream's has a ClusterRole of its own, as installed; here it may do everything.
    """
    user = f"system:serviceaccount:{_SYSTEM}:cluster-autoscaler"
    return ClientIdentity(user, (MASTERS, AUTHENTICATED), user_agent("cluster-autoscaler", version))


def kubelet(node: str, version: Version) -> ClientIdentity:
    """Return the identity of the kubelet of a node."""
    return ClientIdentity(f"system:node:{node}", (NODES, AUTHENTICATED), user_agent("kubelet", version))


def kubelets(version: Version) -> ClientIdentity:
    """Return the identity of one program that acts as the kubelet of every node.

    differs: upstream has none; the node authorizer cannot limit it to the objects of one node.
    """
    return ClientIdentity("system:kubelets", (MASTERS, AUTHENTICATED), user_agent("kubelet", version))
