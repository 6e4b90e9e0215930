"""Validation of node selectors of pods and volumes."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidateNodeSelector; pkg/api/node/util.go

from collections.abc import Iterable, Iterator
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, TypedString, forbidden, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions, reject_requirement_operator
from mockkube.api.validation.labels import validate_label_name
from mockkube.lazy_dataclasses import dataclass

DEPRECATED_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


@dataclass(frozen=True, slots=True)
class NodeSelectorOptions:
    """Options of node selector validation: proposed operators, and whether invalid values are accepted."""

    allow_invalid_values: bool = False
    extensions: ValidationExtensions = NO_EXTENSIONS
    allowed: frozenset[str] = frozenset()


def validate_node_selector(selector: ReadOnlyObject, at: str, rules: NodeSelectorOptions) -> list[FieldError]:
    """Validate a node selector: at least one term, each of them valid."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        return [required(f"{at}.nodeSelectorTerms", "must have at least one node selector term")]
    found: list[FieldError] = []
    for i, term in enumerate(terms):
        found += validate_node_selector_term(term, f"{at}.nodeSelectorTerms[{i}]", rules)
    return found


def validate_node_selector_term(term: ReadOnlyObject, at: str, rules: NodeSelectorOptions) -> list[FieldError]:
    """Validate one term: requirements on labels, then on fields."""
    found: list[FieldError] = []
    for i, requirement in enumerate(term.get("matchExpressions", ())):
        found += _validate_requirement(requirement, f"{at}.matchExpressions[{i}]", rules)
    for i, requirement in enumerate(term.get("matchFields", ())):
        found += _validate_field_requirement(requirement, f"{at}.matchFields[{i}]")
    return found


def _validate_requirement(requirement: ReadOnlyObject, at: str, rules: NodeSelectorOptions) -> list[FieldError]:
    found = _validate_operator(requirement, at, rules)
    found += validate_label_name(requirement.get("key", ""), f"{at}.key")
    rule = rules.extensions.node_selectors.get(requirement.get("operator", ""))
    # Values of a proposal's operator need not be label values; its own check has validated them above.
    if not rules.allow_invalid_values and not (rule is not None and rule.any_values):
        for i, value in enumerate(requirement.get("values", ())):
            found += [invalid(f"{at}.values[{i}]", value, text) for text in names.check_label_value(value)]
    return found


def _validate_operator(requirement: ReadOnlyObject, at: str, rules: NodeSelectorOptions) -> list[FieldError]:
    values = requirement.get("values", ())
    match requirement.get("operator", ""):
        case "In" | "NotIn":
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            return [] if values else [required(f"{at}.values", text)]
        case "Exists" | "DoesNotExist":
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            return [forbidden(f"{at}.values", text)] if values else []
        case "Gt" | "Lt":
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            return [] if len(values) == 1 else [required(f"{at}.values", text)]
        case operator if operator in rules.extensions.node_selectors:
            rule = rules.extensions.node_selectors[operator]
            return (rule.check if rule.gate in rules.allowed else rule.refuse)(requirement, at)
        case _:
            return reject_requirement_operator(requirement, at)


def _validate_field_requirement(requirement: ReadOnlyObject, at: str) -> list[FieldError]:
    values, operator, key = requirement.get("values", ()), requirement.get("operator", ""), requirement.get("key", "")
    found = []
    if operator not in ("In", "NotIn"):
        found.append(invalid(f"{at}.operator", TypedString(operator), "not a valid selector operator"))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(required(f"{at}.values", text))
    if key != "metadata.name":
        return [*found, invalid(f"{at}.key", key, "not a valid field selector key")]
    for i, value in enumerate(values):
        found += [invalid(f"{at}.values[{i}]", value, text) for text in names.check_dns_subdomain(value)]
    return found


def has_invalid_values(terms: Iterable[ReadOnlyObject]) -> bool:
    """Return whether stored terms have values that no label can have, so that an update may keep them."""
    return any(
        names.check_label_value(value)
        for term in terms
        for requirement in term.get("matchExpressions", ())
        for value in requirement.get("values", ())
    )


def get_node_selector_term_warnings(term: ReadOnlyObject, at: str, *, check_values: bool = False) -> Iterator[str]:
    """Yield warnings about deprecated labels and, with `check_values`, values that no label can have."""
    for i, requirement in enumerate(term.get("matchExpressions", ())):
        key = requirement.get("key", "")
        if key in DEPRECATED_LABELS:
            yield f"{at}.matchExpressions[{i}].key: {key} is {DEPRECATED_LABELS[key]}"
        if not check_values:
            continue
        for j, value in enumerate(requirement.get("values", ())):
            for text in names.check_label_value(value):
                yield f"{at}.matchExpressions[{i}].values[{j}]: {value} is invalid, {text}"


def get_label_deprecation(label: str) -> str | None:
    """Return the deprecation message of a label; None if it is not deprecated."""
    return DEPRECATED_LABELS.get(label)


def get_node_label_warnings(selector: ReadOnlyObject | None, at: str) -> list[str]:
    """Return warnings about deprecated labels in a label selector that selects nodes."""
    if not selector:
        return []
    expressions = enumerate(selector.get("matchExpressions") or [])
    warnings = [
        f"{at}.matchExpressions[{index}].key: {each.get('key')} is {message}"
        for index, each in expressions
        if (message := get_label_deprecation(each.get("key", "")))
    ]
    found = ((label, get_label_deprecation(label)) for label in selector.get("matchLabels") or {})
    return warnings + [f"{at}.matchLabels.{label}: {message}" for label, message in found if message]
