"""Taints and tolerations: tolerations are compiled once, with the operators of a component.

upstream 1.36: api/core/v1/toleration.go, component-helpers/scheduling/corev1/helpers.go
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from operator import itemgetter
from typing import Any, Final

from mockkube.api.fields import quote
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

# More tolerations are looked up by their keys; fewer are faster compared one by one.
_MANY: Final = 100


@dataclass(frozen=True, slots=True)
class UnreadableValue:
    """A value of a taint or toleration that cannot be parsed, with the reason; it never matches."""

    owner: str
    value: str
    reason: str
    # Type name in logs; empty for an expression.
    type: str = ""


Outcome = bool | UnreadableValue
# Returns whether a taint's value matches.
ValueTest = Callable[[str], Outcome]
# Compiles a toleration's value to a test.
ValueOperator = Callable[[str], ValueTest]
# Evaluates a compiled expression on a taint; a failed evaluation returns an `UnreadableValue`.
TaintCheck = Callable[[ReadOnlyObject], Outcome]
# Called with each value that could not be parsed while matching, and with the taint.
Report = Callable[[UnreadableValue, ReadOnlyObject], None]


def make_comparison(
    read: Callable[[str], Any], compare: Callable[[Any, Any], bool], type_name: str = "value"
) -> ValueOperator:
    """Return an operator that parses both values and matches if `compare(taint's, toleration's)` is true.

    `type_name` names the type in logs.
    """

    def compile_value(value: str) -> ValueTest:
        try:
            bound = read(value)
        except ValueError as error:
            # Parsed once, but reported for every taint it is compared with: the real components log each comparison.
            unreadable = UnreadableValue("toleration", value, str(error), type_name)
            return lambda taint_value: unreadable

        def test(taint_value: str) -> Outcome:
            try:
                return compare(read(taint_value), bound)
            except ValueError as error:
                return UnreadableValue("taint", taint_value, str(error), type_name)

        return test

    return compile_value


@dataclass(frozen=True, slots=True)
class TaintRules:
    """Toleration rules of one component: operators beyond Equal and Exists, and expressions if enabled."""

    operators: Mapping[str, ValueOperator] = field(default_factory=dict)
    expressions: Callable[[str], TaintCheck] | None = None
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class CompiledToleration:
    """A compiled toleration; `source` is the object it was compiled from."""

    source: ReadOnlyObject
    check: TaintCheck
    report: Report | None = None

    def tolerates(self, taint: ReadOnlyObject) -> bool:  # hot: per pod and class of nodes
        """Return whether the taint is tolerated; report values that do not parse, which never match."""
        outcome = self.check(taint)
        if outcome is True:
            return True
        if outcome is not False and self.report is not None:
            self.report(outcome, taint)
        return False


def compile_toleration(toleration: ReadOnlyObject, rules: TaintRules) -> CompiledToleration:
    """Compile a toleration with a component's rules."""
    if expression := toleration.get("expression"):
        # Without the gate the toleration matches nothing; it must not fall back to its empty key, which would match
        # all.
        check = rules.expressions(expression) if rules.expressions else _tolerate_nothing
        return CompiledToleration(toleration, check, rules.report)
    test = _make_value_test(toleration, rules.operators)
    return CompiledToleration(toleration, _make_field_check(toleration, test), rules.report)


def _tolerate_nothing(taint: ReadOnlyObject) -> bool:
    return False


def _make_value_test(toleration: ReadOnlyObject, operators: Mapping[str, ValueOperator]) -> ValueTest:
    value = toleration.get("value", "")
    match toleration.get("operator", ""):
        case "" | "Equal":
            return lambda taint_value: taint_value == value
        case "Exists":
            return lambda taint_value: True
        case name if name in operators:
            return operators[name](value)
    # An operator of a proposal that this component does not have.
    return lambda taint_value: False


def _make_field_check(toleration: ReadOnlyObject, test: ValueTest) -> TaintCheck:
    effect, key = toleration.get("effect", ""), toleration.get("key", "")

    def check(taint: ReadOnlyObject) -> Outcome:  # hot: per pod and class of nodes
        if effect and effect != taint.get("effect"):
            return False
        # An empty effect or key matches every one.
        if key and key != taint.get("key"):
            return False
        return test(taint.get("value", ""))

    return check


def compile_tolerations(tolerations: Iterable[ReadOnlyObject], rules: TaintRules) -> tuple[CompiledToleration, ...]:
    """Compile a pod's tolerations."""
    return tuple(compile_toleration(toleration, rules) for toleration in tolerations)


def find_untolerated(
    taints: Iterable[ReadOnlyObject], tolerations: Sequence[CompiledToleration], effects: Sequence[str] = ()
) -> ReadOnlyObject | None:
    """Return the first taint, of these effects or of any, that no toleration tolerates."""
    return next(iterate_untolerated(taints, tolerations, effects), None)


def iterate_untolerated(
    taints: Iterable[ReadOnlyObject], tolerations: Sequence[CompiledToleration], effects: Sequence[str] = ()
) -> Iterator[ReadOnlyObject]:
    """Yield the taints, of these effects or of any, that no toleration tolerates."""
    candidates = _Candidates(tolerations) if len(tolerations) > _MANY else None
    for taint in taints:
        if effects and taint.get("effect") not in effects:
            continue
        compared = tolerations if candidates is None else candidates.of(taint)
        if not any(toleration.tolerates(taint) for toleration in compared):
            yield taint


class _Candidates:
    """Many tolerations by their keys: only those of the same key, or of none, can tolerate a taint."""

    def __init__(self, tolerations: Sequence[CompiledToleration]) -> None:
        self._by_key: dict[str, list[tuple[int, CompiledToleration]]] = {}
        for number, toleration in enumerate(tolerations):
            self._by_key.setdefault(toleration.source.get("key") or "", []).append((number, toleration))

    def of(self, taint: ReadOnlyObject) -> list[CompiledToleration]:
        """Return the tolerations to compare with a taint, in their order."""
        found = self._by_key.get("", [])
        if key := taint.get("key"):
            found = sorted([*found, *self._by_key.get(key, ())], key=itemgetter(0))
        return [toleration for _, toleration in found]


def format_log_line(outcome: UnreadableValue, taint: ReadOnlyObject) -> str:
    """Return the component's log line for a value it could not parse, in klog's format."""
    error, owner, value = quote(outcome.reason), outcome.owner, quote(outcome.value)
    if outcome.type:
        return f'"failed to parse {owner} value as {outcome.type}" err={error} {owner}={value}'
    shown = quote(f"{taint.get('key', '')}={taint.get('value', '')}:{taint.get('effect', '')}")
    return f'"failed to evaluate CEL expression of toleration" err={error} expression={value} taint={shown}'
