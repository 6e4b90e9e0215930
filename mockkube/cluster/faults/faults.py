"""Faults of the control API, matched against requests, independent of HTTP.

A transport describes each request (`FaultRequest`) and gets an injection or None. The first fault by name applies that
matches, has injections left, and whose share includes the request.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, Self

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.client.protocol import Key
from mockkube.client.status_errors import error_from_status
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.random import Random

READS: Final = ("get", "list")
WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
# 409 is the code of AlreadyExists, too.
_CONFLICT: Final = 409  # which two reasons share: this is the one a client tries again after


@dataclass(frozen=True, slots=True)
class FaultRequest:
    """A request as faults match it; a non-resource request has server, user agent and verb only."""

    server: str
    user_agent: str
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    # Whether it continues from a resourceVersion, which may have expired.
    from_resource_version: bool = False
    # Whether it allows an answer from a cache that lags behind: resourceVersion=0.
    from_cache: bool = False
    # User that it acts as; HTTP requests have it only while there is a fault that `matches_users`.
    user: str = ""
    # Name of the admission webhook that is called for the request; empty for the request itself.
    webhook: str = ""


class EventEffect(StrEnum):
    """Effect of a fault on the events of a watch, by its name in `spec.inject`."""

    HOLD = "holdEvents"
    MISS = "missEvents"
    REPEAT = "repeatEvents"


@dataclass(frozen=True, slots=True)
class FaultInjection:
    """Effect of a fault on one request: a delay, then at most one of the others."""

    delay_seconds: float = 0.0
    status: ReadOnlyObject | None = None
    cuts_watch: bool = False
    stale_revision: int = 0
    # Whether the request takes effect before the error is the answer.
    is_after_effect: bool = False
    # Effect on the events of watches; such a fault does not apply to requests.
    event_effect: EventEffect | None = None

    @classmethod
    def from_object(cls, obj: ReadOnlyObject) -> Self:
        """Build from a valid Fault object."""
        inject = obj["spec"]["inject"]
        return cls(
            inject.get("delaySeconds", 0.0),
            _make_status(obj["metadata"]["name"], inject),
            bool(inject.get("dropWatch")),
            obj.get("status", {}).get("revision", 0) if inject.get("staleReads") else 0,
            bool(inject.get("afterEffect")),
            next((effect for effect in EventEffect if inject.get(effect)), None),
        )

    def make_error(self, *, after_effect: bool = False) -> ApiError | None:
        """Return the error to answer with before the request takes effect, or after; None without one."""
        if self.status is None or self.is_after_effect != after_effect:
            return None
        error = error_from_status(self.status, self.status["code"])
        error.reason = error.reason or type(error).reason
        return error


def _make_status(name: str, inject: ReadOnlyObject) -> ReadOnlyObject | None:
    given = {"code": 410, "message": "too old resource version"} if inject.get("expired") else inject.get("status")
    if given is None:
        return None
    after, usual = given.get("retryAfterSeconds", 0), "Conflict" if given["code"] == _CONFLICT else ""
    return {
        "kind": "Status",
        "code": given["code"],
        "reason": given.get("reason", usual),
        "message": given.get("message", f"injected by fault {name!r}"),
        **({"details": {"retryAfterSeconds": after}} if after else {}),
    }


@dataclass(slots=True)
class ActiveFault:
    """One fault, and how often it was injected."""

    name: str
    uid: str
    match: Mapping[str, Any]
    injection: FaultInjection
    is_expired_error: bool
    count: int | None
    share: float
    seed: int | None
    random: Random
    injected: int
    # Number of matching requests, or events of each watch, that pass first.
    skip: int = 0
    # Number of matching requests that have passed so.
    skipped: int = 0

    @property
    def is_exhausted(self) -> bool:
        """True if the fault was injected as often as its count allows."""
        return self.count is not None and self.injected >= self.count

    def try_inject(self, request: FaultRequest) -> bool:
        """Return whether the fault applies to a request, and count the injection."""
        if self.is_exhausted or not self._is_applicable(request) or not matches_request(self.match, request):
            return False
        if self.skipped < self.skip:
            self.skipped += 1
            return False
        return self._try_draw()

    def try_inject_event(self, request: FaultRequest, seen: Counter[str]) -> bool:
        """Return whether the fault applies to an event, and count the injection.

        `request` is that of the watch with namespace and name of the object; `seen` counts the events of the watch that
        matched, by the uid of the fault.
        """
        if self.is_exhausted or not matches_request(self.match, request):
            return False
        seen[self.uid] += 1
        return seen[self.uid] > self.skip and self._try_draw()

    def _try_draw(self) -> bool:
        # No random number is drawn for a share of 1, so that such a fault does not shift the draws of others.
        if self.share < 1 and self.random.generator.random() >= self.share:
            return False
        self.injected += 1
        return True

    def _is_applicable(self, request: FaultRequest) -> bool:
        """Return whether the injection is possible for this kind of request."""
        if self.injection.event_effect is not None:
            return False
        if self.injection.cuts_watch:
            return request.verb == "watch"
        if self.injection.stale_revision:
            # A watch from a resourceVersion begins with no objects.
            is_read = request.verb in READS or (request.verb == "watch" and not request.from_resource_version)
            return is_read and bool(request.resource) and not request.subresource
        if self.injection.is_after_effect:
            return request.verb in WRITES
        return not self.is_expired_error or (request.verb in ("list", "watch") and request.from_resource_version)


def matches_request(match: Mapping[str, Any], request: FaultRequest) -> bool:
    """Return whether a request meets all conditions of a fault's match."""
    wanted = (
        ("server", request.server),
        ("namespace", request.namespace),
        ("name", request.name),
        ("user", request.user),
    )
    if any(match.get(field, value) != value for field, value in wanted):
        return False
    if not _matches_webhook(match.get("webhook", ""), request.webhook):
        return False
    if match.get("userAgent", "") not in request.user_agent:
        return False
    if match.get("fromCache") and not request.from_cache:
        return False
    if "component" in match and not _is_user_agent_of(match["component"], request.user_agent):
        return False
    verbs, resources = match.get("verbs"), match.get("resources")
    return (not verbs or "*" in verbs or request.verb in verbs) and (
        not resources or _matches_resource(resources, request)
    )


def _matches_webhook(wanted: str, called: str) -> bool:
    """Return whether the fault applies to calls of this webhook, or, without one, to the request itself."""
    return called == wanted or (wanted == "*" and bool(called))


def _is_user_agent_of(component: str, user_agent: str) -> bool:
    """Return whether a user agent is that of a component, or of one of its replicas."""
    program = user_agent.partition(" ")[0].partition("/")[0]
    return program == component or program.startswith(f"{component}.")


def _matches_resource(resources: Iterable[str], request: FaultRequest) -> bool:
    """Return whether a request is for one of these resources, as RBAC names them."""
    below = f"/{request.subresource}" if request.subresource else ""
    named = {f"{request.resource}{below}", f"{request.resource}.{request.group}{below}" if request.group else ""}
    return bool(request.resource) and any(one == "*" or one in named for one in resources)


@dataclass(slots=True)
class Faults:
    """The faults of one cluster; a changed fault keeps its count."""

    random: Random
    # Called after each injection.
    on_injected: Callable[[], None] = lambda: None
    # Called with each request before faults are injected into it; None: requests are not observed.
    on_request: Callable[[ObservedRequest], None] | None = None
    # Awaited with each request of a component before it is sent, in a few words; None: requests are sent at once.
    before_request: Callable[[str], Awaitable[None]] | None = None
    # Called with each observed request over HTTP when its answer is known, before the client gets it.
    on_response: Callable[[ObservedRequest], None] = lambda request: None
    # Called with a watch over HTTP, and the type, the object and its revision of each event that it delivers.
    on_event: Callable[[FaultRequest, str, Key, int], None] | None = None
    # Called with each call of an admission webhook.
    on_webhook: Callable[[FaultRequest], None] | None = None
    # Called when the faults have changed.
    listeners: dict[Callable[[], None], None] = field(default_factory=dict)
    has_event_faults: bool = False
    _faults: dict[str, ActiveFault] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether there is any fault."""
        return bool(self._faults)

    @property
    def matches_users(self) -> bool:
        """True if a fault applies to the requests of one user."""
        return any("user" in fault.match for fault in self._faults.values())

    def replace_faults(self, objects: Mapping[str, ReadOnlyObject]) -> None:
        """Replace the faults by these Fault objects."""
        known = {fault.uid: fault for fault in self._faults.values()}
        self._faults = {name: self._parse(obj, known) for name, obj in sorted(objects.items())}
        self.has_event_faults = any(fault.injection.event_effect is not None for fault in self._faults.values())
        for notify in tuple(self.listeners):
            notify()

    def find_event_faults(self, request: FaultRequest, seen: Counter[str]) -> Iterator[ActiveFault]:
        """Yield the faults that apply to an event of a watch, and count the injections; see `try_inject_event`."""
        for fault in self._faults.values():
            if fault.injection.event_effect is not None and fault.try_inject_event(request, seen):
                self.on_injected()
                yield fault

    def contains(self, fault: ActiveFault) -> bool:
        """Return whether a fault has not been deleted."""
        present = self._faults.get(fault.name)
        return present is not None and present.uid == fault.uid

    def cuts_watch(self, request: FaultRequest, names: Iterable[str]) -> bool:
        """Return whether one of these new faults cuts an open watch."""
        for name in names:
            fault = self._faults.get(name)
            if fault is not None and fault.injection.cuts_watch and fault.try_inject(request):
                self.on_injected()
                return True
        return False

    def _parse(self, obj: ReadOnlyObject, known: Mapping[str, ActiveFault]) -> ActiveFault:
        """Build a fault; the count and random source of the same object are kept."""
        metadata, spec = obj["metadata"], obj["spec"]
        before = known.get(metadata["uid"])
        seed = spec.get("seed")
        drawn = self.random if seed is None else Random.from_seed(seed, f"fault/{metadata['name']}")
        return ActiveFault(
            name=metadata["name"],
            uid=metadata["uid"],
            match=spec.get("match", {}),
            injection=FaultInjection.from_object(obj),
            is_expired_error=bool(spec["inject"].get("expired")),
            count=spec.get("count"),
            share=spec.get("share", 1.0),
            random=drawn if before is None or before.seed != seed else before.random,
            seed=seed,
            injected=obj.get("status", {}).get("injected", 0) if before is None else before.injected,
            skip=spec.get("skip", 0),
            skipped=0 if before is None else before.skipped,
        )

    def find_injection(self, request: FaultRequest) -> FaultInjection | None:  # hot: per request
        """Return the injection for a request, or None."""
        for fault in self._faults.values():
            if fault.try_inject(request):
                self.on_injected()
                return fault.injection
        return None

    def get(self, name: str) -> ActiveFault | None:
        """Return a fault by name."""
        return self._faults.get(name)
