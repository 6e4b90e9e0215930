"""The shape of a proposal: what a module declares as PROPOSAL, in this package or in a file of one's own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from mockkube.api.object_rules import GatedCheck, GatedField, Transition
from mockkube.api.validation.extensions import Check, FieldRule, OperatorRule
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gates import registry
from mockkube.features.stages import Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.matching import taints
from mockkube.matching.node_selectors import LabelOperator, OfValues
from mockkube.matching.taints import Outcome

_REACHED: Final = (Maturity.PRE_ALPHA, Maturity.ALPHA, Maturity.BETA, Maturity.GA, Maturity.DEPRECATED)
"""Stages in the order in which a feature passes them."""


def by_pair(matches: Callable[[str, str], Outcome]) -> taints.Operator:
    """Return the test of an operator of one value: `matches` gets that value, and the taint's or the label's.

    A ValueError says that the latter cannot be read: the component logs it, and it does not match.
    """

    def test(value: str, other: str) -> Outcome:
        try:
            return matches(value, other)
        except ValueError as error:
            return taints.Unreadable("taint", other, str(error), "value")

    return lambda value: partial(test, value)


def by_values(matches: Callable[[Sequence[str], str | None], bool]) -> OfValues:
    """Return the test of an operator of node selectors with any number of values, which need not be those of labels.

    `matches` gets them, and the label's value: None where a node does not have the label.
    """
    return OfValues(matches)


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: how an item that uses it is checked, when it matches, and how it is refused with the gate off.

    Without a `refuse` it is refused as an operator that nobody knows.
    """

    check: Check
    test: LabelOperator
    refuse: Check | None = None

    def rule(self, gate: str, unknown: Check) -> OperatorRule:
        """Return what validation asks for; `unknown` refuses an operator that nobody knows."""
        return OperatorRule(gate, self.check, self.refuse or unknown, isinstance(self.test, OfValues))

    @property
    def value_test(self) -> taints.Operator:
        """The test of one value, which is all that tolerations have."""
        test = self.test
        if isinstance(test, OfValues):
            return lambda value: partial(test.matches, (value,))
        return test


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its JSON schema, and how a value of the type that has the field is checked.

    With the gate off it is dropped from new objects or, where there is a `refuse`, refused; stored objects that use it
    keep it. `check` and `refuse` get the value that has the field, and its path.
    """

    schema: Mapping[str, Any]
    check: Check | None = None
    refuse: Check | None = None

    def rule(self, gate: str) -> FieldRule:
        """Return what validation of tolerations asks for."""
        assert self.check is not None, "a field of tolerations has a check: it replaces that of the toleration"
        assert self.refuse is not None, "a field of tolerations is refused: a toleration without it may tolerate all"
        return FieldRule(gate, self.check, self.refuse)

    def rule_of(self, definition: str, name: str, gate: str) -> GatedField:
        """Return what strategies ask for."""
        return GatedField(definition, name, gate, self.check, self.refuse)


@dataclass(frozen=True, slots=True)
class ObjectCheck:
    """Validation of a type or kind, while the gate is on.

    `check` gets the value and its path, and judges new objects and changed ones; what is wrong in the stored object
    already may stay, unless `ratchets` is false. `transition` gets the new and the stored object of an update.
    """

    check: Check | None = None
    transition: Transition | None = None
    ratchets: bool = True

    def rule(self, target: str, gate: str) -> GatedCheck:
        """Return what strategies ask for."""
        kind, _, group = target.partition(".")
        place = target if is_type_name(target) else (group, kind)
        return GatedCheck(place, gate, self.check, self.transition, self.ratchets)


def is_type_name(target: str) -> bool:
    """Return whether a text is the full name of a type, like `io.k8s.api.core.v1.PodSpec`, and not that of a kind."""
    return target.startswith("io.k8s.")


@dataclass(frozen=True, slots=True)
class SchedulerPlugin:
    """A plugin of the scheduler.

    With the gate on it is one of the default plugins, unless `default` is false: then profiles of a
    KubeSchedulerConfiguration enable it by name, as an out-of-tree plugin. One that has the name of a plugin of the
    scheduler takes its place.
    """

    name: str
    factory: Callable[[Any, Any], Any]
    """A class from `mockkube.scheduler.framework.interface`, or what else builds a plugin of context and arguments."""
    weight: int = 0
    """The weight of its score."""
    default: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A proposal, whole. Components have it from the version in which its gate reaches the stage `since`.

    Proposals are compared by identity, so caches can be keyed by them.
    """

    kep: int
    gate: str
    train: ReleaseTrain | None = None
    """Its stages, where `features` does not know them: neither released nor among the published proposals."""
    since: Maturity = Maturity.ALPHA
    tolerations: Mapping[str, Operator] = field(default_factory=dict)
    toleration_fields: Mapping[str, Field] = field(default_factory=dict)
    node_selectors: Mapping[str, Operator] = field(default_factory=dict)
    device_tolerations: Mapping[str, Operator] = field(default_factory=dict)
    devices_since: Maturity | None = None
    """The stage from which on components have the operators of devices; None: that of all the rest."""
    fields: Mapping[str, Mapping[str, Field]] = field(default_factory=dict)
    """Fields by the full name of the type that gets them, like `io.k8s.api.core.v1.PodSpec`, and their own."""
    checks: Mapping[str, ObjectCheck] = field(default_factory=dict)
    """Checks by the full name of a type, wherever it occurs, or by a kind: `Pod`, `Deployment.apps`."""
    scheduler_plugins: Sequence[SchedulerPlugin] = ()
    origin: str = ""
    """The file, or the entry point, that an outside proposal was loaded from."""

    def aboard(self, version: Version, trains: tuple[ReleaseTrain, ...], since: Maturity | None = None) -> bool:
        """Whether a component of that version has it, or what comes with a later stage, its gate on or off."""
        known = registry(version, trains)
        if self.gate not in known.histories:
            return self.gate in known.graduated
        stage = known.stage(self.gate, EffectiveVersion.of(version))
        return _REACHED.index(stage.maturity) >= _REACHED.index(since or self.since)
