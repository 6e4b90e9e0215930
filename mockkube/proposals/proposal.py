"""The shape of a proposal: what one module of this room declares under the name PROPOSAL."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from mockkube.api.validation.extensions import Check, FieldRule, OperatorRule
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gates import registry
from mockkube.features.stages import Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.matching import taints
from mockkube.matching.taints import Outcome

_REACHED: Final = (Maturity.PRE_ALPHA, Maturity.ALPHA, Maturity.BETA, Maturity.GA, Maturity.DEPRECATED)
"""Stages in the order in which a feature passes them."""


def by_pair(matches: Callable[[str, str], Outcome]) -> taints.Operator:
    """Make an operator of a function that is told both values, the asking one first."""
    return lambda value: partial(matches, value)


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: how an item that uses it is judged, how its value becomes a test, and how it is refused."""

    check: Check
    test: taints.Operator
    refuse: Check

    def rule(self, gate: str) -> OperatorRule:
        """Return what validation asks for."""
        return OperatorRule(gate, self.check, self.refuse)


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its JSON schema, how an item that has it is judged, and how it is refused."""

    schema: Mapping[str, Any]
    check: Check
    refuse: Check

    def rule(self, gate: str) -> FieldRule:
        """Return what validation asks for."""
        return FieldRule(gate, self.check, self.refuse)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal, whole. Components have it from the version in which its gate reaches the stage `since`."""

    kep: int
    gate: str
    train: ReleaseTrain | None = None
    """Its stages, where `features` does not know them: neither released nor among the published proposals."""
    since: Maturity = Maturity.ALPHA
    tolerations: Mapping[str, Operator] = field(default_factory=dict)
    toleration_fields: Mapping[str, Field] = field(default_factory=dict)
    node_selectors: Mapping[str, Operator] = field(default_factory=dict)
    device_tolerations: Mapping[str, Operator] = field(default_factory=dict)

    def aboard(self, version: Version, trains: tuple[ReleaseTrain, ...]) -> bool:
        """Whether a component of that version has it, its gate on or off."""
        known = registry(version, trains)
        if self.gate not in known.histories:
            return self.gate in known.graduated
        stage = known.stage(self.gate, EffectiveVersion.of(version))
        return _REACHED.index(stage.maturity) >= _REACHED.index(self.since)
