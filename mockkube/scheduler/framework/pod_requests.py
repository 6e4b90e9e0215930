"""Resource requests of pods by the rules of one scheduler, computed once per pod revision."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.pod_requests import PodResourcesOptions, calculate_nonzero_requests, calculate_pod_requests
from mockkube.api.quantities.resources import Resources
from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.framework.pod_info import PodInfo

T = TypeVar("T")
# Parts of the status that requests may depend on: a pod without any of them requests what its spec says.
_STATUS_FIELDS: Final = frozenset((
    "allocatedResources",
    "containerStatuses",
    "initContainerStatuses",
    "nodeAllocatableResourceClaimStatuses",
    "resources",
))  # fmt: skip


class PodRequests(NamedTuple):
    """Requests of a pod; shared, so never changed."""

    total: Resources
    nonzero: Resources
    """Cpu and memory only, with upstream's defaults for containers without requests; used for scoring."""


class PodRequestCalculator:
    """Computes pod requests by the version and gates of one scheduler."""

    def __init__(self, caps: Capabilities) -> None:
        self._rules = PodResourcesOptions.from_capabilities(caps)

    def read(self, pod: PodInfo) -> PodRequests:
        """Return the requests of a pod."""
        return self.derive(pod, PodRequestCalculator, _return_requests)

    def derive(self, pod: PodInfo, owner: object, read: Callable[[PodRequests], T]) -> T:
        """Return the value that `owner` derives from the requests of a pod."""
        if _STATUS_FIELDS.isdisjoint(pod.status):
            return pod.derive_from_spec(owner, lambda spec: read(self._compute({"spec": spec})))
        return pod.derive(owner, lambda info: read(self._compute(info.obj)))

    def _compute(self, pod: ReadOnlyObject) -> PodRequests:
        return PodRequests(calculate_pod_requests(pod, self._rules), calculate_nonzero_requests(pod, self._rules))


def _return_requests(requests: PodRequests) -> PodRequests:
    return requests
