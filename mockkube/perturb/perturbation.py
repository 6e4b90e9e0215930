"""Perturbation: one disturbance of a run, with its place in the workload; or several, each in steps of its own."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.normalization import ObjectId

# Between the identifiers of perturbations of one run.
SEPARATOR: Final = "+"
_ORDINALS: Final[Mapping[int, str]] = {1: "first", 2: "second", 3: "third"}


@dataclass(frozen=True, slots=True)
class WriteMatch:
    """Selects one write of a process: the n-th of its kind in a step."""

    process: str
    user: str
    verb: str
    # As RBAC names it: `deployments.apps/status`.
    resource: str
    namespace: str = ""
    # Empty: any name.
    name: str = ""
    number: int = 1

    def matches(self, observed: ObservedRequest) -> bool:
        """Return whether a request is such a write, whatever its number."""
        return (
            observed.user == self.user
            and observed.verb == self.verb
            and get_resource_name(observed) == self.resource
            and (not self.namespace or observed.namespace == self.namespace)
            and (not self.name or observed.name == self.name)
        )

    def to_fault_match(self) -> Mapping[str, Any]:
        """Return the match of a Fault."""
        match: dict[str, Any] = {"user": self.user, "verbs": [self.verb], "resources": [self.resource]}
        return match | {key: value for key in ("namespace", "name") if (value := getattr(self, key))}

    def __str__(self) -> str:
        ordinal = _ORDINALS.get(self.number) or f"{self.number}th"
        place = f" {'/'.join(filter(None, (self.namespace, self.name)))}" if self.name else ""
        where = f" in {self.namespace}" if self.namespace and not self.name else ""
        return f"{ordinal} {self.verb} of {self.resource}{place}{where}"


@dataclass(frozen=True, slots=True)
class StalePoint:
    """Moment of the past whose state a cache still shows: the end of a step, or the deletion of an object."""

    # The end of this step, unless `terminating` is given.
    step: int
    # The moment at which the deletion of this object began.
    terminating: ObjectId | None = None

    def __str__(self) -> str:
        return f"the end of step {self.step}" if self.terminating is None else f"the deletion of {self.terminating}"


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One disturbance: what happens from the beginning of a step, and what once the controller rests in it."""

    id: str
    kind: str
    # 0: the start of the processes.
    step: int
    text: str
    # Specs of faults in force from the beginning of the step until the controller rests.
    faults: tuple[Mapping[str, Any], ...] = ()
    # The process is killed when this write has taken effect.
    kill_after: WriteMatch | None = None
    # Another client changes the object of this write just before it arrives, and changes it back.
    touch_before: WriteMatch | None = None
    # Processes that are killed once the controller rests.
    kill_at_rest: tuple[str, ...] = ()
    # With a kill at rest: the restarted processes read this state from caches, until they rest.
    stale_point: StalePoint | None = None
    # Lease that another holder takes once the controller rests.
    stolen_lease: ObjectId | None = None
    # Step at whose end the faults end; None: the step in which they begin.
    last_step: int | None = None
    # Several perturbations in one run, instead of all of the above but the texts.
    parts: tuple["Perturbation", ...] = ()

    @property
    def ends_after(self) -> int:
        """Step at whose end the perturbation ends."""
        return self.step if self.last_step is None else self.last_step

    @property
    def steps(self) -> range:
        """Steps in which it is in force."""
        return range(self.step, self.ends_after + 1)

    def list_parts(self) -> tuple["Perturbation", ...]:
        """Return the perturbations that it consists of: itself, if it is a single one."""
        return self.parts or (self,)


def combine(parts: Sequence[Perturbation]) -> Perturbation:
    """Return one perturbation of several, in the order of their steps."""
    if len(parts) == 1:
        return parts[0]
    ordered = tuple(sorted(parts, key=lambda one: one.step))
    return Perturbation(
        id=SEPARATOR.join(one.id for one in ordered),
        kind=SEPARATOR.join(dict.fromkeys(one.kind for one in ordered)),
        step=ordered[0].step,
        text="; ".join(one.text for one in ordered),
        last_step=max(one.ends_after for one in ordered),
        parts=ordered,
    )


def get_resource_name(observed: ObservedRequest) -> str:
    """Return the resource of a request as RBAC names it."""
    group = f".{observed.group}" if observed.group else ""
    subresource = f"/{observed.subresource}" if observed.subresource else ""
    return f"{observed.resource}{group}{subresource}"


def make_fault(inject: Mapping[str, Any], match: Mapping[str, Any], **limits: Any) -> Mapping[str, Any]:
    """Return the spec of a Fault."""
    return {"match": dict(match), "inject": dict(inject), **limits}
