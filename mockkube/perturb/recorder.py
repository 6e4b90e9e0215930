"""Record of a run: requests of the controller and of users, events it was shown, and what happened to its processes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.client.protocol import Key
from mockkube.cluster.faults.faults import WRITES, FaultRequest
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.differences import StateDifference
from mockkube.perturb.normalization import IgnoredPath, ObjectId, is_ignored_object
from mockkube.perturb.object_history import ObjectHistory, RecordedChange
from mockkube.perturb.perturbation import Perturbation, get_resource_name
from mockkube.runtime.clock import Clock
from mockkube.testing.recorded_request import RecordedRequest

USER: Final = "user"
# Text of the start of a process.
STARTS: Final = "starts"
_LEASES: Final = "leases.coordination.k8s.io"
_EVENTS: Final = ("events", "events.events.k8s.io")
_REPEATED_READS_MAX: Final = 5
_ERROR_MIN: Final = 400


@dataclass(frozen=True, slots=True)
class ControllerRequest:
    """One request of a process of the controller, or of the user."""

    at: float
    step: int
    # Name of the process, or `user`.
    process: str
    observed: ObservedRequest
    protobuf: ProtobufSerializer
    # Revision of the store when it came.
    revision: int

    @property
    def is_write(self) -> bool:
        """True if it changes objects."""
        return self.observed.verb in WRITES

    @property
    def resource(self) -> str:
        """Resource as RBAC names it, with the subresource."""
        return get_resource_name(self.observed)

    @property
    def is_noise(self) -> bool:
        """True if it says nothing about the work of a controller: leases, events, reviews."""
        return self.resource in (_LEASES, *_EVENTS) or self.observed.group in (
            "authorization.k8s.io",
            "authentication.k8s.io",
        )

    @property
    def recorded(self) -> RecordedRequest:
        """Request with its decoded body."""
        return RecordedRequest.from_observed(self.observed, self.protobuf)

    @property
    def name(self) -> str:
        """Name of the object, also of one that is created."""
        return self.recorded.name

    @property
    def identity(self) -> ObjectId:
        """Object that it is about; without a name for one that is created."""
        return ObjectId(self.resource.partition("/")[0], self.observed.namespace, self.observed.name)

    @property
    def is_conditional(self) -> bool:
        """True if it demands a resourceVersion, so that it can conflict."""
        body = self.recorded.body
        metadata = body.get("metadata") if isinstance(body, dict) else None
        return isinstance(metadata, dict) and bool(metadata.get("resourceVersion"))


@dataclass(frozen=True, slots=True)
class DeliveredEvent:
    """One event of a watch that a process was shown."""

    at: float
    step: int
    process: str
    type: str
    identity: ObjectId
    revision: int


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """Call of an admission webhook for a write of a process."""

    step: int
    process: str
    webhook: str


@dataclass(frozen=True, slots=True)
class ProcessEvent:
    """Start or end of a process, or the beginning or end of a perturbation."""

    at: float
    step: int
    process: str
    text: str


@dataclass(slots=True)
class StepRecord:
    """One step of the workload as it was played; 0 is the start of the processes."""

    index: int
    text: str
    began_at: float
    ended_at: float = 0.0
    # When the last activity was seen.
    last_activity_at: float = 0.0
    message: str = ""
    # Objects at its end.
    objects: Mapping[ObjectId, ReadOnlyObject] = field(default_factory=dict)
    revision: int = 0


@dataclass(slots=True)
class RunRecord:
    """Everything that happened in one run."""

    perturbation: Perturbation | None
    began_at: float
    requests: list[ControllerRequest] = field(default_factory=list)
    delivered: list[DeliveredEvent] = field(default_factory=list)
    process_events: list[ProcessEvent] = field(default_factory=list)
    steps: list[StepRecord] = field(default_factory=list)
    changes: Sequence[RecordedChange] = ()
    webhook_calls: list[WebhookCall] = field(default_factory=list)
    # Resources with an open watch of a process at the end of step 0.
    watched: frozenset[str] = frozenset()
    # Identifiers of the perturbations that have happened.
    reached: frozenset[str] = frozenset()
    differences: Sequence[StateDifference] = ()
    # Rates of writes that never end, like `patch widgets web: 12 a second`.
    endless_writes: Sequence[str] = ()
    failed_invariants: Sequence[str] = ()
    forbidden_states: Sequence[str] = ()
    # Why the run could not be played to its end; empty if it was.
    error: str = ""
    exits: int = 0
    log: str = ""
    seconds: float = 0.0

    @property
    def has_controller_writes(self) -> bool:
        """True if the controller has written anything but Events and Leases."""
        return any(one.is_write and one.process != USER and not one.is_noise for one in self.requests)


class RunRecorder:
    """Observer of the requests and objects of one cluster."""

    def __init__(
        self,
        clock: Clock,
        record: RunRecord,
        find_process: Callable[[str], str],
        protobuf: ProtobufSerializer,
        ignored: Sequence[IgnoredPath] = (),
    ) -> None:
        self.record = record
        self.step = 0
        self.history = ObjectHistory(clock, self._note_change)
        self.last_activity_at = clock.monotonic()
        self._clock, self._find_process, self._protobuf = clock, find_process, protobuf
        # Writes of objects that are ignored as a whole, like heartbeats, are no activity.
        self._ignored = ignored
        self._open: list[ControllerRequest] = []
        self._reads: dict[tuple[str, str], int] = {}
        # When each process has started last, and sent its last request.
        self._started_at: dict[str, float] = {}
        self._last_request_at: dict[str, float] = {}

    # Observations

    def note_request(self, observed: ObservedRequest) -> None:
        """Record a request that has just come."""
        process = self._find_process(observed.user)
        if not process and (observed.is_from_component or observed.verb not in WRITES or not observed.user_agent):
            return
        now = self._clock.monotonic()
        one = ControllerRequest(now, self.step, process or USER, observed, self._protobuf, self.history.revision)
        self.record.requests.append(one)
        self._last_request_at[one.process] = now
        if not process or one.is_noise or (one.is_write and is_ignored_object(one.identity, self._ignored)):
            return
        self._open.append(one)
        if observed.verb not in WRITES:
            count = self._reads[process, observed.path] = self._reads.get((process, observed.path), 0) + 1
            # A controller that polls reads the same again and again without ever being done.
            if count > _REPEATED_READS_MAX:
                return
        self._note_activity()

    def note_response(self, observed: ObservedRequest) -> None:
        """Note that a request is answered; a failed write is work that is still to be done."""
        is_work = any(one.observed is observed for one in self._open)
        if is_work and observed.verb in WRITES and observed.status >= _ERROR_MIN:
            self._note_activity()
        self._open = [one for one in self._open if one.observed is not observed]

    def note_event(self, request: FaultRequest, event_type: str, key: Key, revision: int) -> None:
        """Record an event that a watch of the controller delivers."""
        process = self._find_process(request.user)
        if process:
            resource = f"{request.resource}.{request.group}" if request.group else request.resource
            identity = ObjectId(resource, key.namespace, key.name)
            now = self._clock.monotonic()
            self.record.delivered.append(DeliveredEvent(now, self.step, process, event_type, identity, revision))

    def note_webhook(self, request: FaultRequest) -> None:
        """Record the call of an admission webhook for a write of the controller."""
        if process := self._find_process(request.user):
            self.record.webhook_calls.append(WebhookCall(self.step, process, request.webhook))

    def note_process(self, process: str, text: str, *, started: bool = False) -> None:
        """Record what happens to a process."""
        now = self._clock.monotonic()
        self.record.process_events.append(ProcessEvent(now, self.step, process, text))
        if started:
            self._started_at[process] = now
            self._reads = {place: count for place, count in self._reads.items() if place[0] != process}
            # What it had open ended with the last one.
            self._open = [one for one in self._open if one.process != process]
        self._note_activity()

    def _note_change(self, change: RecordedChange) -> None:
        if not change.has_new_content or change.identity.resource in (_LEASES, *_EVENTS):
            return
        if not is_ignored_object(change.identity, self._ignored):
            self._note_activity()

    def _note_activity(self) -> None:
        self.last_activity_at = self._clock.monotonic()

    # Questions

    def begin_step(self, step: StepRecord) -> None:
        """Count what follows to a step."""
        self.step = step.index
        self.record.steps.append(step)
        self._note_activity()

    @property
    def watched(self) -> frozenset[str]:
        """Resources that processes watch at present."""
        return frozenset(one.resource for one in self._open if one.observed.verb == "watch")

    def is_quiet(self, seconds: float, expected_watches: frozenset[str]) -> bool:
        """Return whether nothing has happened for so long, and every process has started to work."""
        if any(one.is_write for one in self._open):
            return False
        if not expected_watches <= self.watched or not self.has_started:
            return False
        return self._clock.monotonic() - self.last_activity_at >= seconds

    @property
    def has_started(self) -> bool:
        """True if every process has sent a request since its last start."""
        return all(self._last_request_at.get(process, 0.0) >= at for process, at in self._started_at.items())
