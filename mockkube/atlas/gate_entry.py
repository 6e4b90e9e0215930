"""Entry of the atlas: what is known about one gate. It is data alone, and can be written as JSON and read back."""

from collections.abc import Mapping
from dataclasses import asdict, field
from enum import StrEnum
from typing import Any, Final, Self

from mockkube.atlas.gate_history import VersionStage
from mockkube.lazy_dataclasses import dataclass

# Components of Kubernetes itself; proposals also name others, such as CSI sidecars.
_REAL_COMPONENTS: Final = frozenset(
    {
        *("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"),
        *("kube-proxy", "cloud-controller-manager"),
    }
)


class GateStatus(StrEnum):
    """Status of a gate in the atlas: played, or the reason why it was not."""

    PLAYED = "played"
    # No component of a supported version starts with the gate off.
    LOCKED = "locked"
    # Simulated components read it, but no workload can show what it does.
    UNOBSERVABLE = "unobservable"
    # No simulated component reads it.
    NOT_SIMULATED = "not simulated"


class FlipVerdict(StrEnum):
    """Verdict on an order of flipping a gate."""

    SAFE = "safe"
    # Nothing broke, but what was written meanwhile is not as if the gate had been on from the start.
    DIFFERS = "differs"
    UNSAFE = "unsafe"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class GateReader:
    """Component that reads a gate."""

    component: str
    # Modules that name the gate.
    modules: tuple[str, ...]
    # Whether the workload showed an effect of the gate on this component.
    is_exercised: bool = False


@dataclass(frozen=True, slots=True)
class HalfWayState:
    """State in which only some components have the gate on, and its effects on new objects."""

    on: tuple[str, ...]
    # `on` or `off` if everything is as with the gate on, or off, everywhere; otherwise empty.
    like: str
    # Differences from a cluster with the gate on everywhere.
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateOrderResult:
    """Result of one order."""

    order: tuple[str, ...]
    verdict: FlipVerdict
    # Counts of harm by kind.
    harm: Mapping[str, int] = field(default_factory=dict)
    breaks: tuple[str, ...] = ()
    # Differences from a cluster that had the gate on from the start.
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rollback:
    """Effects of a rollback on objects that use the feature."""

    # Changes of existing objects, as components react.
    existing: tuple[str, ...] = ()
    # Changes and refusals when users update them in any other field.
    updated: tuple[str, ...] = ()
    # How new objects differ from those with the gate on.
    new: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KepClaim:
    """Facts that an enhancement proposal states about its gate."""

    number: int
    title: str
    components: tuple[str, ...] = ()
    # Whether it says that the feature can be disabled again; None if it does not say.
    can_disable: bool | None = None


@dataclass(frozen=True, slots=True)
class GateEntry:
    """Everything that the atlas says about a gate."""

    gate: str
    stages: tuple[VersionStage, ...]
    status: GateStatus
    feature: str = ""
    # Why the gate was not played.
    reason: str = ""
    version: str = ""
    # Settings of other gates throughout.
    base: Mapping[str, bool] = field(default_factory=dict)
    readers: tuple[GateReader, ...] = ()
    kep: KepClaim | None = None
    # Components whose real code reads the gate.
    upstream_readers: tuple[str, ...] = ()
    # Fields that the API server drops, and objects that it refuses, with the gate off only.
    dropped: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    states: tuple[HalfWayState, ...] = ()
    up: tuple[GateOrderResult, ...] = ()
    down: tuple[GateOrderResult, ...] = ()
    rollback: Rollback | None = None
    # Number of paths up and down that the verdicts stand for.
    paths: int = 0

    @property
    def is_tried(self) -> bool:
        """True if the gate made a difference to the workload on some component."""
        return any(reader.is_exercised for reader in self.readers)

    @property
    def blocks_updates(self) -> bool:
        """True if objects that use the feature can no longer be updated once the gate is off."""
        lines = self.rollback.updated if self.rollback is not None else ()
        refusals = (line for line in lines if "cannot be updated" in line)
        # What is gone, or is no longer served, cannot be updated either, but that is said by itself.
        return any(not line.endswith(" not found") and "could not find" not in line for line in refusals)

    @property
    def exercised(self) -> tuple[str, ...]:
        """Components on which the gate made a difference."""
        return tuple(reader.component for reader in self.readers if reader.is_exercised)

    @property
    def not_tried(self) -> tuple[str, ...]:
        """Components on which the gate has an effect that was not tried.

        Either this workload does not show it, or the real component reads the gate, or the proposal names it, and the
        simulated one does not read the gate.
        """
        unexercised = tuple(reader.component for reader in self.readers if not reader.is_exercised)
        known = {reader.component for reader in self.readers}
        named = self.kep.components if self.kep is not None else ()
        others = dict.fromkeys((*self.upstream_readers, *named))
        return (*unexercised, *(name for name in others if name in _REAL_COMPONENTS and name not in known))

    def to_json(self) -> dict[str, Any]:
        """Return the entry for JSON."""
        found: dict[str, Any] = asdict(self)
        return found

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the entry of a JSON document."""
        given = dict(document)
        kep, rollback = given.pop("kep"), given.pop("rollback")
        return cls(
            gate=given.pop("gate"),
            stages=tuple(VersionStage(**one) for one in given.pop("stages")),
            status=GateStatus(given.pop("status")),
            readers=tuple(_tuples(GateReader, one) for one in given.pop("readers")),
            kep=None if kep is None else _tuples(KepClaim, kep),
            states=tuple(_tuples(HalfWayState, one) for one in given.pop("states")),
            up=tuple(_read_order(one) for one in given.pop("up")),
            down=tuple(_read_order(one) for one in given.pop("down")),
            upstream_readers=tuple(given.pop("upstream_readers", ())),
            dropped=tuple(given.pop("dropped")),
            refused=tuple(given.pop("refused")),
            rollback=None if rollback is None else _tuples(Rollback, rollback),
            **given,
        )


def _read_order(document: Mapping[str, Any]) -> GateOrderResult:
    result: GateOrderResult = _tuples(GateOrderResult, {**document, "verdict": FlipVerdict(document["verdict"])})
    return result


def _tuples(kind: Any, document: Mapping[str, Any]) -> Any:
    """Return a dataclass of a document, whose lists become tuples."""
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in document.items()})
