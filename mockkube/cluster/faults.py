"""Which requests go wrong, and how: the faults of the control API, applied. It knows no HTTP.

Whoever carries requests describes each (`Asking`) and is told what to do to it (`Injection`), or nothing. The first
fault by name that matches, has some of its count left and draws the request is the one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from mockkube.api.errors import ApiError
from mockkube.api.types import ReadOnlyObject
from mockkube.client.answers import error_of
from mockkube.runtime.chance import Chance

READS: Final = ("get", "list")
_CONFLICT: Final = 409  # which two reasons share: this is the one a client tries again after


@dataclass(frozen=True, slots=True)
class Asking:
    """A request, as far as a fault looks at it. One that is about no resource has a path alone."""

    server: str
    user_agent: str
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    from_version: bool = False
    """Whether it goes on from a resourceVersion: what may have expired."""


@dataclass(frozen=True, slots=True)
class Injection:
    """What is done to a request: it is delayed, then at most one of the others."""

    delay_seconds: float = 0.0
    status: ReadOnlyObject | None = None
    cut: bool = False
    stale_revision: int = 0

    @classmethod
    def read(cls, obj: ReadOnlyObject) -> Self:
        """Return what a valid fault injects."""
        inject = obj["spec"]["inject"]
        return cls(
            inject.get("delaySeconds", 0.0),
            _status(obj["metadata"]["name"], inject),
            bool(inject.get("dropWatch")),
            obj.get("status", {}).get("revision", 0) if inject.get("staleReads") else 0,
        )

    def error(self) -> ApiError | None:
        """Return the answer in place of the real one, of the class that says what a client can do about it."""
        if self.status is None:
            return None
        error = error_of(self.status, self.status["code"])
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
    """One fault, and how often it has struck."""

    name: str
    uid: str
    match: Mapping[str, Any]
    injection: Injection
    expires: bool
    count: int | None
    share: float
    seed: int | None
    chance: Chance
    injected: int

    @property
    def exhausted(self) -> bool:
        """Whether its count is reached."""
        return self.count is not None and self.injected >= self.count

    def strikes(self, asking: Asking) -> bool:
        """Whether it applies to this request; counts it if it does."""
        if self.exhausted or not self._concerns(asking) or not _matches(self.match, asking):
            return False
        if self.share < 1 and self.chance.random.random() >= self.share:
            return False
        self.injected += 1
        return True

    def _concerns(self, asking: Asking) -> bool:
        """Whether what it injects can be done to such a request at all."""
        if self.injection.cut:
            return asking.verb == "watch"
        if self.injection.stale_revision:
            return asking.verb in READS and bool(asking.resource) and not asking.subresource
        return not self.expires or (asking.verb in ("list", "watch") and asking.from_version)


def _matches(match: Mapping[str, Any], asking: Asking) -> bool:
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
    """Whether a user agent begins with the name of a component, or of one that it is the fleet of."""
    program = user_agent.partition(" ")[0].partition("/")[0]
    return program == component or program.startswith(f"{component}.")


def _among(resources: Iterable[str], asking: Asking) -> bool:
    below = f"/{asking.subresource}" if asking.subresource else ""
    named = {f"{asking.resource}{below}", f"{asking.resource}.{asking.group}{below}" if asking.group else ""}
    return bool(asking.resource) and any(one == "*" or one in named for one in resources)


@dataclass(slots=True)
class Faults:
    """The faults of one cluster, and what watches hear of them. One that is changed goes on counting."""

    chance: Chance
    told: Callable[[], None] = lambda: None
    """Called when one has struck."""
    _faults: dict[str, Fault] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._faults)

    def learn(self, objects: Mapping[str, ReadOnlyObject]) -> None:
        """Follow these fault objects from now on, by name."""
        known = {fault.uid: fault for fault in self._faults.values()}
        self._faults = {name: self._read(obj, known) for name, obj in sorted(objects.items())}

    def cuts(self, asking: Asking, names: Iterable[str]) -> bool:
        """Whether one of these faults, which are new, cuts a watch that is open."""
        for name in names:
            fault = self._faults.get(name)
            if fault is not None and fault.injection.cut and fault.strikes(asking):
                self.told()
                return True
        return False

    def _read(self, obj: ReadOnlyObject, known: Mapping[str, Fault]) -> Fault:
        metadata, spec = obj["metadata"], obj["spec"]
        before = known.get(metadata["uid"])
        seed = spec.get("seed")
        drawn = self.chance if seed is None else Chance.seeded(seed, f"fault/{metadata['name']}")
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
        """Return what is to be done to a request; None for all but a few."""
        for fault in self._faults.values():
            if fault.strikes(asking):
                self.told()
                return fault.injection
        return None

    def get(self, name: str) -> Fault | None:
        """Return the fault of a name."""
        return self._faults.get(name)
