"""`kube.spy`: the requests that clients and components have sent to the cluster."""

import threading
from collections import deque
from typing import Final, Unpack

from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.runtime.clock import RealClock
from mockkube.testing.recorded_request import RecordedRequest, RequestFilter

# Requests that are kept; the oldest are dropped first.
REQUESTS_MAX: Final = 10_000
# Total size of the bodies that are kept; those of the oldest requests are dropped first.
BODY_BYTES_MAX: Final = 16 << 20
_SHOWN_MAX: Final = 20


class Spy:
    """Recorded requests of a cluster: those over HTTP, and those of its components, since it has started.

    It keeps the last 10,000 requests, and 16 MiB of their bodies. What `kube` itself does is not recorded.
    """

    def __init__(
        self, protobuf: ProtobufSerializer, *, requests_max: int = REQUESTS_MAX, body_bytes_max: int = BODY_BYTES_MAX
    ) -> None:
        self._protobuf = protobuf
        self._requests_max, self._body_bytes_max = requests_max, body_bytes_max
        # The thread of the cluster records, that of the test reads.
        self._lock = threading.Lock()
        self._requests: deque[ObservedRequest] = deque()
        self._dropped_count = 0
        self._body_bytes = 0
        self._with_body: deque[ObservedRequest] = deque()
        self._unanswered: list[ObservedRequest] = []
        self._client_watches: list[ObservedRequest] = []
        self._last_client_request_at = 0.0

    @property
    def dropped_count(self) -> int:
        """Number of requests that were dropped because there were too many."""
        return self._dropped_count

    def requests(self, **conditions: Unpack[RequestFilter]) -> list[RecordedRequest]:
        """Return the requests that meet all conditions, oldest first: `spy.requests(verb="update", kind="Lease")`."""
        with self._lock:
            observed = tuple(self._requests)
        recorded = (RecordedRequest.from_observed(one, self._protobuf) for one in observed)
        return [one for one in recorded if one.matches(conditions)]

    def assert_requested(self, count: int | None = None, **conditions: Unpack[RequestFilter]) -> list[RecordedRequest]:
        """Return the requests that meet the conditions; AssertionError if there is none, or not `count` of them."""
        found = self.requests(**conditions)
        if len(found) == count or (count is None and found):
            return found
        wanted = "at least one request" if count is None else f"{count} requests"
        raise AssertionError(f"expected {wanted}{self._describe(conditions)}, got {len(found)}{self._show(found)}")

    def assert_not_requested(self, **conditions: Unpack[RequestFilter]) -> None:
        """Raise AssertionError if a request meets the conditions."""
        if found := self.requests(**conditions):
            raise AssertionError(f"expected no request{self._describe(conditions)}, got {len(found)}{_list(found)}")

    def clear(self) -> None:
        """Forget all requests that have come so far."""
        with self._lock:
            self._requests.clear()
            self._with_body.clear()
            self._unanswered.clear()
            self._body_bytes = self._dropped_count = 0

    @staticmethod
    def _describe(conditions: RequestFilter) -> str:
        texts = [f"{name}={value!r}" for name, value in conditions.items()]
        return f" with {', '.join(texts)}" if texts else ""

    def _show(self, found: list[RecordedRequest]) -> str:
        """Return the matching requests, else those of clients, else a hint."""
        dropped = f"\n({self._dropped_count} older requests were dropped)" if self._dropped_count else ""
        if found:
            return _list(found) + dropped
        others = self.requests(from_component=False)
        return (f"; clients sent{_list(others)}" if others else "; clients sent no request at all") + dropped

    def record(self, observed: ObservedRequest) -> None:
        """Record a request that has just come; the cluster calls it."""
        with self._lock:
            self._requests.append(observed)
            if len(self._requests) > self._requests_max:
                self._requests.popleft()
                self._dropped_count += 1
            self._drop_bodies()
            self._unanswered.append(observed)
            if not observed.is_from_component:
                self._last_client_request_at = RealClock().monotonic()
                if observed.verb == "watch":
                    self._client_watches = [*(one for one in self._client_watches if not one.status), observed]

    def _drop_bodies(self) -> None:
        """Drop the oldest bodies beyond the bound. A body over HTTP is complete when its request is answered."""
        for one in self._unanswered:
            if one.status and one.body:
                self._with_body.append(one)
                self._body_bytes += len(one.body)
        self._unanswered = [one for one in self._unanswered if not one.status]
        while self._body_bytes > self._body_bytes_max:
            oldest = self._with_body.popleft()
            self._body_bytes -= len(oldest.body)
            oldest.body = b""

    def find_quiet_moment(self, seconds: float) -> float:
        """Return in how many seconds clients will have been silent for `seconds`; 0 if none of them watches.

        Clients that watch react to changes, in real time.
        """
        with self._lock:
            if all(one.status for one in self._client_watches):
                return 0.0
            return max(0.0, self._last_client_request_at + seconds - RealClock().monotonic())


def _list(found: list[RecordedRequest]) -> str:
    lines = [f"\n  {one}" for one in found[-_SHOWN_MAX:]]
    earlier = len(found) - len(lines)
    return ":" + (f"\n  ... {earlier} earlier" if earlier else "") + "".join(lines)
