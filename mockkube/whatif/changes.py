"""Changes that a variant makes, and the texts that describe them: `nodes -20%`, `zone b gone`, `deployment web x3`."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from mockkube.client.protocol import Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.whatif.errors import WhatIfError

_AMOUNT: Final = re.compile(r"(?:(x|=)(\d+(?:\.\d+)?))|(?:([+-])(\d+(?:\.\d+)?)(%?))")
_WORKLOADS: Final = {
    "deployment": "Deployment",
    "deploy": "Deployment",
    "statefulset": "StatefulSet",
    "sts": "StatefulSet",
    "replicaset": "ReplicaSet",
    "rs": "ReplicaSet",
}
_FORMS: Final = (
    "nodes [KEY=VALUE...] -20%|-3|+2 [drained|gone|unreachable]",
    "node NAME drained|gone|unreachable",
    "zone NAME drained|gone|unreachable",
    "deployment|statefulset|replicaset [NAMESPACE/]NAME x3|=10|+2|-50%",
    "load [KIND] [NAMESPACE/]NAME x3",
    "nodegroup NAME|* FIELD=VALUE",
    "apply FILE",
    "reschedule",
)
_GROUP_FIELDS: Final = ("minSize", "maxSize", "provisionSeconds")
# Fields of the group's disruption, and the text that stands for one budget.
_DISRUPTION_FIELDS: Final = ("consolidationPolicy", "consolidateAfter", "budget")


class Loss(StrEnum):
    """Ways in which nodes disappear: drained and deleted; broken, and deleted by their cloud; or broken for good."""

    DRAINED = "drained"
    GONE = "gone"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Amount:
    """Change of a number: times, equals, or more or less by a number or a percentage."""

    operator: str
    number: float
    is_percent: bool = False

    def apply(self, value: int) -> int:
        """Return the changed number: rounded, at least zero, and different if a percentage is given."""
        match self.operator:
            case "x":
                return round(value * self.number)
            case "=":
                return round(self.number)
        sign = 1 if self.operator == "+" else -1
        step = max(round(value * self.number / 100), 1) if self.is_percent and value else round(self.number)
        return max(value + sign * (0 if self.is_percent and not value else step), 0)


@dataclass(frozen=True, slots=True)
class NodeCountChange:
    """Fewer or more nodes, of those with some labels."""

    amount: Amount
    labels: tuple[tuple[str, str], ...] = ()
    loss: Loss = Loss.DRAINED


@dataclass(frozen=True, slots=True)
class NodeLoss:
    """One node that goes."""

    name: str
    loss: Loss


@dataclass(frozen=True, slots=True)
class ZoneLoss:
    """All nodes of a zone go, and groups add none there."""

    zone: str
    loss: Loss


@dataclass(frozen=True, slots=True)
class WorkloadScaling:
    """Other replicas of a workload."""

    kind: str
    key: Key
    amount: Amount


@dataclass(frozen=True, slots=True)
class LoadScaling:
    """Other load of a workload, whose autoscaler may follow."""

    kind: str
    key: Key
    factor: float


@dataclass(frozen=True, slots=True)
class NodeGroupChange:
    """Other bounds of a node group, or of all groups (`*`)."""

    name: str
    field: str
    number: float


@dataclass(frozen=True, slots=True)
class ConsolidationChange:
    """Other consolidation of a node group, or of all groups (`*`)."""

    name: str
    field: str
    text: str


@dataclass(frozen=True, slots=True)
class ManifestChange:
    """Objects that are created or replaced."""

    path: str


@dataclass(frozen=True, slots=True)
class Rescheduling:
    """Deletes all pods that have a controller, except those of DaemonSets, so that they are scheduled again."""


Change = (
    NodeCountChange
    | NodeLoss
    | ZoneLoss
    | WorkloadScaling
    | LoadScaling
    | NodeGroupChange
    | ConsolidationChange
    | ManifestChange
    | Rescheduling
)


def parse_changes(text: str) -> tuple[Change, ...]:
    """Parse changes that are joined by ` and `; raise WhatIfError with the known forms."""
    parts = [part.strip() for part in re.split(r"\s+and\s+", text.strip())]
    return tuple(_parse_change(part, text) for part in parts)


def _parse_change(part: str, text: str) -> Change:
    words = part.split()
    try:
        return _parse_words(words)
    except (ValueError, IndexError) as error:
        reason = f": {error}" if isinstance(error, ValueError) and str(error) else ""
        forms = "".join(f"\n  {form}" for form in _FORMS)
        raise WhatIfError(f"--change {text!r}: {part!r} is no change{reason}; write one of{forms}") from None


def _parse_words(words: Sequence[str]) -> Change:
    subject, *rest = words
    match subject.lower():
        case "nodes":
            return _parse_node_count(rest)
        case "node":
            name, loss = _expect(rest, 2)
            return NodeLoss(name, Loss(loss))
        case "zone":
            zone, loss = _expect(rest, 2)
            return ZoneLoss(zone, Loss(loss))
        case "load":
            kind = _WORKLOADS[rest.pop(0).lower()] if rest[0].lower() in _WORKLOADS else "Deployment"
            name, amount = _expect(rest, 2)
            parsed = _parse_amount(amount)
            if parsed.operator != "x":
                raise ValueError("a load changes by a factor, like x3")
            return LoadScaling(kind, _parse_key(name), parsed.number)
        case "nodegroup":
            name, assignment = _expect(rest, 2)
            field, _, value = assignment.partition("=")
            if not value or field not in (*_GROUP_FIELDS, *_DISRUPTION_FIELDS):
                raise ValueError(f"give one of {', '.join((*_GROUP_FIELDS, *_DISRUPTION_FIELDS))}")
            if field in _DISRUPTION_FIELDS:
                return ConsolidationChange(name, field, value)
            return NodeGroupChange(name, field, float(value))
        case "apply":
            (path,) = _expect(rest, 1)
            return ManifestChange(path)
        case "reschedule":
            _expect(rest, 0)
            return Rescheduling()
        case known if known in _WORKLOADS:
            name, amount = _expect(rest, 2)
            return WorkloadScaling(_WORKLOADS[known], _parse_key(name), _parse_amount(amount))
    raise ValueError


def _parse_node_count(words: Sequence[str]) -> NodeCountChange:
    labels, rest = [word for word in words if _is_label(word)], [word for word in words if not _is_label(word)]
    amount = _parse_amount(rest[0])
    loss = Loss(rest[1]) if rest[1:] else Loss.DRAINED
    if rest[2:]:
        raise ValueError(f"{rest[2]} is too much")
    pairs = tuple((key, value) for key, _, value in (word.partition("=") for word in labels))
    return NodeCountChange(amount, pairs, loss)


def _is_label(word: str) -> bool:
    return "=" in word and not word.startswith("=")


def _parse_amount(text: str) -> Amount:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no amount like x3, =10, +2 or -20%")
    absolute, number, sign, step, percent = match.groups()
    return Amount(absolute, float(number)) if absolute else Amount(sign, float(step), bool(percent))


def _parse_key(text: str) -> Key:
    namespace, slash, name = text.rpartition("/")
    if not name or (slash and not namespace):
        raise ValueError(f"{text!r} is no NAMESPACE/NAME")
    return Key(namespace or "default", name)


def _expect(words: Sequence[str], count: int) -> Sequence[str]:
    if len(words) != count:
        raise ValueError("words are missing" if len(words) < count else f"{words[count]} is too much")
    return words
