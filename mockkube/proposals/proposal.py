"""Proposal: what a module of this package, or a user's file, declares as PROPOSAL."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, Final

from mockkube.api.object_rules import GatedCheck, GatedField, Transition
from mockkube.api.validation.extensions import FieldRule, ItemValidator, OperatorRule
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gates import gate_registry
from mockkube.features.stages import Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching import taints
from mockkube.matching.node_selectors import LabelOperator, ValuesOperator
from mockkube.matching.taints import Outcome

# Stages in the order in which a feature passes them.
_STAGE_ORDER: Final = (Maturity.PRE_ALPHA, Maturity.ALPHA, Maturity.BETA, Maturity.GA, Maturity.DEPRECATED)


def by_pair(matches: Callable[[str, str], Outcome]) -> taints.ValueOperator:
    """Return the test of an operator of one value: `matches` gets that value, and the taint's or the label's.

    It raises ValueError if the latter does not parse: the component logs that, and it does not match.
    """

    def test(value: str, other: str) -> Outcome:
        try:
            return matches(value, other)
        except ValueError as error:
            return taints.UnreadableValue("taint", other, str(error), "value")

    return lambda value: partial(test, value)


def by_values(matches: Callable[[Sequence[str], str | None], Outcome]) -> ValuesOperator:
    """Return the test of a node selector operator with any number of values, which need not be label values.

    `matches` gets them, and the label's value, which is None if the node does not have the label. It raises ValueError
    if one of them does not parse: the component logs that, and it does not match.
    """

    def test(values: Sequence[str], label: str | None) -> Outcome:
        try:
            return matches(values, label)
        except ValueError as error:
            return taints.UnreadableValue("label", label or "", str(error), "value")

    return ValuesOperator(test)


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: validation of an item that uses it, its test, and the error while the gate is off.

    Without a `refuse` it is rejected as an unknown operator.
    """

    check: ItemValidator
    test: LabelOperator
    refuse: ItemValidator | None = None

    def to_operator_rule(self, gate: str, unknown: ItemValidator) -> OperatorRule:
        """Return the rule for validation; `unknown` rejects it as an unknown operator."""
        return OperatorRule(gate, self.check, self.refuse or unknown, isinstance(self.test, ValuesOperator))

    @property
    def to_value_operator(self) -> taints.ValueOperator:
        """Test of a single value, the only form that tolerations have."""
        test = self.test
        if isinstance(test, ValuesOperator):
            return lambda value: partial(test.matches, (value,))
        return test


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its JSON schema, and the validation of a value of the type that has the field.

    With the gate off it is dropped from new objects or, with a `refuse`, rejected; stored objects that use it
    keep it. `check` and `refuse` get the value that has the field, and its path.
    """

    schema: Mapping[str, Any]
    check: ItemValidator | None = None
    refuse: ItemValidator | None = None

    def to_field_rule(self, gate: str) -> FieldRule:
        """Return the rule for the validation of tolerations."""
        assert self.check is not None, "a field of tolerations has a check: it replaces that of the toleration"
        assert self.refuse is not None, "a field of tolerations is refused: a toleration without it may tolerate all"
        return FieldRule(gate, self.check, self.refuse)

    def to_gated_field(self, definition: str, name: str, gate: str) -> GatedField:
        """Return the rule for strategies."""
        return GatedField(definition, name, gate, self.check, self.refuse)


@dataclass(frozen=True, slots=True)
class ObjectCheck:
    """Validation of a type or kind while the gate is on.

    `check` gets the value and its path, for new and updated objects; errors that the stored object already has
    are tolerated, unless `ratchets` is false. `transition` gets the new and the stored object of an update.
    """

    check: ItemValidator | None = None
    transition: Transition | None = None
    ratchets: bool = True

    def to_gated_check(self, target: str, gate: str) -> GatedCheck:
        """Return the rule for strategies."""
        kind, _, group = target.partition(".")
        place = target if is_type_name(target) else (group, kind)
        return GatedCheck(place, gate, self.check, self.transition, self.ratchets)


def is_type_name(target: str) -> bool:
    """Return whether a text is the full name of a type, like `io.k8s.api.core.v1.PodSpec`, and no kind."""
    return target.startswith("io.k8s.")


@dataclass(frozen=True, slots=True)
class SchedulerPlugin:
    """A plugin of the scheduler.

    With the gate on it is one of the default plugins, unless `default` is false: then profiles of a
    KubeSchedulerConfiguration enable it by name, as an out-of-tree plugin. A plugin that has the name of one of the
    scheduler's own replaces that one.
    """

    name: str
    # A class from `mockkube.scheduler.framework.interface`, or a function that builds a plugin of context and
    # arguments.
    factory: Callable[[Any, Any], Any]
    # Weight of its score.
    weight: int = 0
    default: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A proposal. Components know it from the version in which its gate reaches the stage `since`.

    Proposals are compared by identity, so that caches can use them as keys.
    """

    kep: int
    gate: str
    # Stages of its gate, if `features` does not know them: neither released nor among the published proposals.
    train: ReleaseTrain | None = None
    since: Maturity = Maturity.ALPHA
    tolerations: Mapping[str, Operator] = field(default_factory=dict)
    toleration_fields: Mapping[str, Field] = field(default_factory=dict)
    node_selectors: Mapping[str, Operator] = field(default_factory=dict)
    device_tolerations: Mapping[str, Operator] = field(default_factory=dict)
    # Stage from which components know the operators of devices; None: that of the rest of the proposal.
    devices_since: Maturity | None = None
    # Fields by the full name of the type that gets them, like `io.k8s.api.core.v1.PodSpec`, and by their own.
    fields: Mapping[str, Mapping[str, Field]] = field(default_factory=dict)
    # Checks by the full name of a type, wherever it occurs, or by a kind: `Pod`, `Deployment.apps`.
    checks: Mapping[str, ObjectCheck] = field(default_factory=dict)
    scheduler_plugins: Sequence[SchedulerPlugin] = ()
    # File or entry point that a user's proposal was loaded from.
    origin: str = ""

    def is_known_to(self, version: Version, trains: tuple[ReleaseTrain, ...], since: Maturity | None = None) -> bool:
        """Return whether a component of that version knows it, or its part of a later stage, gate on or off."""
        known = gate_registry(version, trains)
        if self.gate not in known.histories:
            # A gate that was removed after GA is gone from the registry, but its feature stays.
            return self.gate in known.graduated
        stage = known.stage(self.gate, EffectiveVersion.from_version(version))
        return _STAGE_ORDER.index(stage.maturity) >= _STAGE_ORDER.index(since or self.since)
