"""Names of the components of a cluster."""

from typing import Final

API_SERVER: Final = "kube-apiserver"
SCHEDULER: Final = "kube-scheduler"
CONTROLLER_MANAGER: Final = "kube-controller-manager"
KUBELET: Final = "kubelet"


def is_api_server(component: str) -> bool:
    """Return whether a component is an API server; replicas have a suffix, like `kube-apiserver.1`."""
    return component.partition(".")[0] == API_SERVER
