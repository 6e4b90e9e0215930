"""Faults of the control API, matched against requests, independent of HTTP.

A transport describes each request (`FaultRequest`) and gets an injection or None. The first fault by name applies that
matches, has injections left, and whose share includes the request.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from mockkube.api.errors import ApiError
from mockkube.api.types import ReadOnlyObject
from mockkube.client.answers import error_from_status
from mockkube.runtime.chance import Random

READS: Final = ("get", "list")
# 409 is the code of AlreadyExists, too.
_CONFLICT: Final = 409  # which two reasons share: this is the one a client tries again after


@dataclass(frozen=True, slots=True)
class Asking:
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
    from_version: bool = False


@dataclass(frozen=True, slots=True)
class Injection:
    """Effect of a fault on one request: a delay, then at most one of the others."""

    delay_seconds: float = 0.0
    status: ReadOnlyObject | None = None
    cut: bool = False
    stale_revision: int = 0

    @classmethod
    def read(cls, obj: ReadOnlyObject) -> Self:
        """Build from a valid Fault object."""
        inject = obj["spec"]["inject"]
        return cls(
            inject.get("delaySeconds", 0.0),
            _status(obj["metadata"]["name"], inject),
            bool(inject.get("dropWatch")),
            obj.get("status", {}).get("revision", 0) if inject.get("staleReads") else 0,
        )

    def error(self) -> ApiError | None:
        """Return the error to answer with, of the class that components handle; None without one."""
        if self.status is None:
            return None
        error = error_from_status(self.status, self.status["code"])
        error.reason = error.reason or type(error).reason
        return error


def _status(name: str, inject: ReadOnlyObject) -> ReadOnlyObject | None:
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
class Fault:
    """One fault, and how often it was injected."""

    name: str
    uid: str
    match: Mapping[str, Any]
    injection: Injection
    expires: bool
    count: int | None
    share: float
    seed: int | None
    chance: Random
    injected: int

    @property
    def exhausted(self) -> bool:
        """True if the fault was injected as often as its count allows."""
        return self.count is not None and self.injected >= self.count

    def strikes(self, asking: Asking) -> bool:
        """Return whether the fault applies to a request, and count the injection."""
        if self.exhausted or not self._concerns(asking) or not _matches(self.match, asking):
            return False
        # No random number is drawn for a share of 1, so that such a fault does not shift the draws of others.
        if self.share < 1 and self.chance.generator.random() >= self.share:
            return False
        self.injected += 1
        return True

    def _concerns(self, asking: Asking) -> bool:
        """Return whether the injection is possible for this kind of request."""
        if self.injection.cut:
            return asking.verb == "watch"
        if self.injection.stale_revision:
            return asking.verb in READS and bool(asking.resource) and not asking.subresource
        return not self.expires or (asking.verb in ("list", "watch") and asking.from_version)


def _matches(match: Mapping[str, Any], asking: Asking) -> bool:
    """Return whether a request meets all conditions of a fault's match."""
    wanted = ("server", asking.server), ("namespace", asking.namespace), ("name", asking.name)
    if any(match.get(field, value) != value for field, value in wanted):
        return False
    if match.get("userAgent", "") not in asking.user_agent:
        return False
    if "component" in match and not _speaks_for(match["component"], asking.user_agent):
        return False
    verbs, resources = match.get("verbs"), match.get("resources")
    return (not verbs or "*" in verbs or asking.verb in verbs) and (not resources or _among(resources, asking))


def _speaks_for(component: str, user_agent: str) -> bool:
    """Return whether a user agent is that of a component, or of one of its replicas."""
    program = user_agent.partition(" ")[0].partition("/")[0]
    return program == component or program.startswith(f"{component}.")


def _among(resources: Iterable[str], asking: Asking) -> bool:
    """Return whether a request is for one of these resources, as RBAC names them."""
    below = f"/{asking.subresource}" if asking.subresource else ""
    named = {f"{asking.resource}{below}", f"{asking.resource}.{asking.group}{below}" if asking.group else ""}
    return bool(asking.resource) and any(one == "*" or one in named for one in resources)


@dataclass(slots=True)
class Faults:
    """The faults of one cluster; a changed fault keeps its count."""

    chance: Random
    # Called after each injection.
    told: Callable[[], None] = lambda: None
    _faults: dict[str, Fault] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether there is any fault."""
        return bool(self._faults)

    def learn(self, objects: Mapping[str, ReadOnlyObject]) -> None:
        """Replace the faults by these Fault objects."""
        known = {fault.uid: fault for fault in self._faults.values()}
        self._faults = {name: self._read(obj, known) for name, obj in sorted(objects.items())}

    def cuts(self, asking: Asking, names: Iterable[str]) -> bool:
        """Return whether one of these new faults cuts an open watch."""
        for name in names:
            fault = self._faults.get(name)
            if fault is not None and fault.injection.cut and fault.strikes(asking):
                self.told()
                return True
        return False

    def _read(self, obj: ReadOnlyObject, known: Mapping[str, Fault]) -> Fault:
        """Build a fault; the count and random source of the same object are kept."""
        metadata, spec = obj["metadata"], obj["spec"]
        before = known.get(metadata["uid"])
        seed = spec.get("seed")
        drawn = self.chance if seed is None else Random.from_seed(seed, f"fault/{metadata['name']}")
        return Fault(
            name=metadata["name"],
            uid=metadata["uid"],
            match=spec.get("match", {}),
            injection=Injection.read(obj),
            expires=bool(spec["inject"].get("expired")),
            count=spec.get("count"),
            share=spec.get("share", 1.0),
            chance=drawn if before is None or before.seed != seed else before.chance,
            seed=seed,
            injected=obj.get("status", {}).get("injected", 0) if before is None else before.injected,
        )

    def strike(self, asking: Asking) -> Injection | None:  # hot: per request
        """Return the injection for a request, or None."""
        for fault in self._faults.values():
            if fault.strikes(asking):
                self.told()
                return fault.injection
        return None

    def get(self, name: str) -> Fault | None:
        """Return a fault by name."""
        return self._faults.get(name)
