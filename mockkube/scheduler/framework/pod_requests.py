"""What pods ask for, as this scheduler counts it: computed once per pod and revision."""

from typing import NamedTuple

from mockkube.api.requests import RequestRules, nonzero_requests, pod_requests
from mockkube.api.resources import Resources
from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.framework.pod_info import PodInfo


class PodRequests(NamedTuple):
    """What a pod asks for. Shared: never changed."""

    total: Resources
    nonzero: Resources
    """Cpu and memory alone, counting a little for containers that ask for none: what scores reckon with."""


class RequestReader:
    """Reads pods' requests by the rules of one scheduler."""

    def __init__(self, caps: Capabilities) -> None:
        self._rules = RequestRules.of(caps)

    def read(self, pod: PodInfo) -> PodRequests:
        """Return what a pod asks for."""
        return pod.part(RequestReader, self._read)

    def _read(self, pod: PodInfo) -> PodRequests:
        return PodRequests(pod_requests(pod.obj, self._rules), nonzero_requests(pod.obj, self._rules))
