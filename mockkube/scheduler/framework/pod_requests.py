"""Resource requests of pods by the rules of one scheduler, computed once per pod revision."""

from typing import NamedTuple

from mockkube.api.quantities.pod_requests import PodResourcesOptions, calculate_nonzero_requests, calculate_pod_requests
from mockkube.api.quantities.resources import Resources
from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.framework.pod_info import PodInfo


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
        return pod.derive(PodRequestCalculator, self._compute)

    def _compute(self, pod: PodInfo) -> PodRequests:
        return PodRequests(
            calculate_pod_requests(pod.obj, self._rules), calculate_nonzero_requests(pod.obj, self._rules)
        )
