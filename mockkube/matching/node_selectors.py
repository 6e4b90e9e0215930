"""Node selectors: terms are ORed, requirements of a term ANDed; terms that do not parse never match.

upstream 1.36: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go, apimachinery/pkg/labels/selector.go
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from mockkube_cel.golang.strconv import NumberError, parse_int64

from mockkube.api import names
from mockkube.api.fields import invalid, map_entry_path, to_go_json
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.taints import Outcome, UnreadableValue, ValueOperator

Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]
NameTest = Callable[[str], bool]
# Called with each value that an additional operator could not parse, and with the label's key.
Report = Callable[[UnreadableValue, str], None]
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_SEMVER: Final = ("SemverGt", "SemverLt", "SemverEq")
_FIELD_OPERATORS: Final = ("In", "NotIn")
_NAME: Final = "metadata.name"


@dataclass(frozen=True, slots=True)
class ValuesOperator:
    """Operator with any number of values, which also decides about nodes without the label."""

    matches: Callable[[Sequence[str], str | None], Outcome]


# An operator that a proposal adds. One of tolerations takes exactly one value, and never matches a missing label.
LabelOperator = ValueOperator | ValuesOperator


@dataclass(frozen=True, slots=True)
class CompiledTerm:
    """A compiled term: its tests, or the errors that keep it from matching."""

    labels: tuple[LabelTest, ...]
    names: tuple[NameTest, ...]
    errors: tuple[str, ...]
    weight: int = 0

    def matches(self, labels: Labels, node_name: str) -> bool:
        """Return whether a node passes every test; one without a name passes those on its name."""
        if self.errors or not all(test(labels) for test in self.labels):
            return False
        return not node_name or all(test(node_name) for test in self.names)


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """Compiled terms; empty ones are left out, since they match nothing."""

    terms: tuple[CompiledTerm, ...]

    @property
    def errors(self) -> list[str]:
        """Return the errors of all terms as text."""
        return [error for term in self.terms for error in term.errors]

    def matches(self, labels: Labels, node_name: str = "") -> bool:
        """Return whether any term matches the node."""
        return any(term.matches(labels, node_name) for term in self.terms)

    def score(self, labels: Labels, node_name: str = "") -> int:
        """Return the sum of the weights of the matching terms."""
        return sum(term.weight for term in self.terms if term.matches(labels, node_name))


def compile_terms(
    terms: Iterable[ReadOnlyObject],
    operators: Mapping[str, LabelOperator],
    at: str = "nodeSelectorTerms",
    report: Report | None = None,
) -> NodeSelector:
    """Compile required terms; `at` is the field path in errors."""
    compiled = (
        _compile_term(term, operators, f"{at}[{index}]", report=report)
        for index, term in enumerate(terms)
        if not _is_empty(term)
    )
    return NodeSelector(tuple(compiled))


def compile_preferred(
    terms: Iterable[ReadOnlyObject], operators: Mapping[str, LabelOperator], at: str = "", report: Report | None = None
) -> NodeSelector:
    """Compile preferred terms with their weights; terms of weight 0 are not even parsed."""
    compiled = (
        _compile_term(
            term.get("preference", {}), operators, f"{at}[{index}]", weight=term.get("weight", 0), report=report
        )
        for index, term in enumerate(terms)
        if term.get("weight") and not _is_empty(term.get("preference", {}))
    )
    return NodeSelector(tuple(compiled))


def aggregate_errors(errors: Iterable[str]) -> str:
    """Join errors as upstream's aggregate prints them: each text once, several in brackets."""
    texts = list(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _is_empty(term: ReadOnlyObject) -> bool:
    return not term.get("matchExpressions") and not term.get("matchFields")


def _compile_term(
    term: ReadOnlyObject,
    operators: Mapping[str, LabelOperator],
    at: str,
    *,
    weight: int = 0,
    report: Report | None = None,
) -> CompiledTerm:
    errors: list[str] = []
    label_tests, name_tests = [], []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        where = f"{at}.matchExpressions[{index}]"
        errors += (requirement_errors := _validate_requirement(requirement, operators, where))
        if not requirement_errors:
            label_tests.append(_make_label_test(requirement, operators, report))
    for index, requirement in enumerate(term.get("matchFields") or ()):
        errors += (requirement_errors := _validate_field_requirement(requirement, f"{at}.matchFields[{index}]"))
        if not requirement_errors:
            name_tests.append(_make_name_test(requirement))
    return CompiledTerm(tuple(label_tests), tuple(name_tests), tuple(errors), weight)


def _validate_requirement(requirement: ReadOnlyObject, operators: Mapping[str, LabelOperator], at: str) -> list[str]:
    key, name, values = requirement.get("key", ""), requirement.get("operator", ""), requirement.get("values") or []
    if name not in _OPERATORS and name not in operators:
        return [_unsupported_operator(at, name, _OPERATORS)]
    errors = []
    if name_errors := names.check_qualified_name(key):
        errors.append(str(invalid(f"{at}.key", key, "; ".join(name_errors))))
    # The values of such an operator need not be label values: only its own check knows their form.
    if isinstance(operators.get(name), ValuesOperator):
        return errors
    errors += _validate_value_count(name, values, f"{at}.values")
    for index, value in enumerate(values):
        if name_errors := names.check_label_value(value):
            errors.append(str(invalid(map_entry_path(f"{at}.values[{index}]", key), value, "; ".join(name_errors))))
    return errors


def _unsupported_operator(at: str, name: str, supported: Sequence[str]) -> str:
    choices = ", ".join(f'"{choice}"' for choice in supported)
    return f"{at}.operator: Unsupported value: {to_go_json(name)}: supported values: {choices}"


def _validate_value_count(name: str, values: Sequence[str], at: str) -> list[str]:
    # upstream prints a nil slice as null, not as an empty list.
    shown: Any = list(values) or None
    match name:
        case "In" | "NotIn":
            text = "for 'in', 'notin' operators, values set can't be empty"
            return [] if values else [str(invalid(at, shown, text))]
        case "Exists" | "DoesNotExist":
            text = "values set must be empty for exists and does not exist"
            return [str(invalid(at, shown, text))] if values else []
        case "Gt" | "Lt":
            text = "for 'Gt', 'Lt' operators, exactly one value is required"
            errors = [str(invalid(at, shown, text))] if len(values) != 1 else []
            return errors + _validate_integers(values, at)
        case _:
            named = _SEMVER if name in _SEMVER else (name,)
            text = f"for {', '.join(map(repr, named))} operators, exactly one value is required"
            return [str(invalid(at, shown, text))] if len(values) != 1 else []


def _validate_integers(values: Sequence[str], at: str) -> list[str]:
    text = "for 'Gt', 'Lt' operators, the value must be an integer"
    return [str(invalid(f"{at}[{i}]", value, text)) for i, value in enumerate(values) if _parse_integer(value) is None]


def _parse_integer(text: str) -> int | None:
    try:
        return parse_int64(text)
    except NumberError:
        return None


def _make_label_test(
    requirement: ReadOnlyObject, operators: Mapping[str, LabelOperator], report: Report | None = None
) -> LabelTest:
    key, values = requirement["key"], frozenset(requirement.get("values") or ())
    match requirement["operator"]:
        case "In":
            return lambda labels: labels.get(key) in values
        case "NotIn":
            # A node without the label passes, unlike for In.
            return lambda labels: labels.get(key) not in values
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
        case "Gt" | "Lt" as name:
            return _make_integer_test(key, requirement["values"][0], greater=name == "Gt")
        case name:
            return _make_operator_test(operators[name], key, requirement.get("values") or (), report)


def _make_operator_test(operator: LabelOperator, key: str, values: Sequence[str], report: Report | None) -> LabelTest:
    evaluate = (
        partial(operator.matches, values) if isinstance(operator, ValuesOperator) else _unless_missing(operator, values)
    )

    def test(labels: Labels) -> bool:
        outcome = evaluate(labels.get(key))
        if report is not None and isinstance(outcome, UnreadableValue):
            report(outcome, key)
        return outcome is True

    return test


def _unless_missing(operator: ValueOperator, values: Sequence[str]) -> Callable[[str | None], Outcome]:
    passes = operator(values[0])
    return lambda label: label is not None and passes(label)


def _make_integer_test(key: str, value: str, *, greater: bool) -> LabelTest:
    bound = parse_int64(value)

    def test(labels: Labels) -> bool:
        if key not in labels or (number := _parse_integer(labels[key])) is None:
            return False
        return number > bound if greater else number < bound

    return test


def _validate_field_requirement(requirement: ReadOnlyObject, at: str) -> list[str]:
    name, values = requirement.get("operator", ""), requirement.get("values") or []
    if name not in _FIELD_OPERATORS:
        return [_unsupported_operator(at, name, _FIELD_OPERATORS)]
    return [str(invalid(f"{at}.values", values or None, "must have one element"))] if len(values) != 1 else []


def _make_name_test(requirement: ReadOnlyObject) -> NameTest:
    # Nodes have no other field: one of another name counts as empty, as in upstream's fields.Set.
    known = requirement.get("key", "") == _NAME
    value, wanted = requirement["values"][0], requirement["operator"] == "In"
    return lambda node_name: ((node_name if known else "") == value) is wanted
