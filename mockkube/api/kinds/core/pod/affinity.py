"""Validate node affinity, pod affinity and pod anti-affinity."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateAffinity

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.labels import validate_label_name, validate_label_selector
from mockkube.api.validation.node_selector import (
    NodeSelectorOptions,
    validate_node_selector,
    validate_node_selector_term,
)

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT_DETAIL: Final = "must be in the range 1-100"


def validate_affinity(
    affinity: ReadOnlyObject, at: str, selector_rules: NodeSelectorOptions, *, allow_invalid_values: bool
) -> list[FieldError]:
    """Validate affinity; `allow_invalid_values` tolerates label values that are stored already."""
    errors: list[FieldError] = []
    if "nodeAffinity" in affinity:
        errors += _validate_node_affinity(affinity["nodeAffinity"], f"{at}.nodeAffinity", selector_rules)
    for kind in ("podAffinity", "podAntiAffinity"):
        if kind in affinity:
            errors += _validate_pod_affinity(affinity[kind], f"{at}.{kind}", allow_invalid_values)
    return errors


def _validate_node_affinity(affinity: ReadOnlyObject, at: str, rules: NodeSelectorOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if REQUIRED in affinity:
        errors += validate_node_selector(affinity[REQUIRED], f"{at}.{REQUIRED}", rules)
    # Upstream does not validate the label values of preferred terms.
    lenient = NodeSelectorOptions(True, rules.extensions, rules.allowed)
    for i, term in enumerate(affinity.get(PREFERRED, ())):
        here = f"{at}.{PREFERRED}[{i}]"
        errors += _validate_weight(term, here)
        errors += validate_node_selector_term(term.get("preference", {}), f"{here}.preference", lenient)
    return errors


def _validate_weight(term: ReadOnlyObject, at: str) -> list[FieldError]:
    weight = term.get("weight", 0)
    return [] if 0 < weight <= 100 else [invalid(f"{at}.weight", weight, _WEIGHT_DETAIL)]


def _validate_pod_affinity(affinity: ReadOnlyObject, at: str, allow_invalid_values: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, term in enumerate(affinity.get(REQUIRED, ())):
        errors += _validate_pod_term(term, f"{at}.{REQUIRED}[{i}]", allow_invalid_values)
    for i, weighted in enumerate(affinity.get(PREFERRED, ())):
        here = f"{at}.{PREFERRED}[{i}]"
        errors += _validate_weight(weighted, here)
        errors += _validate_pod_term(
            weighted.get("podAffinityTerm", {}), f"{here}.podAffinityTerm", allow_invalid_values
        )
    return errors


def _validate_pod_term(term: ReadOnlyObject, at: str, allow_invalid_values: bool) -> list[FieldError]:
    errors = validate_affinity_term_selectors(term, at, allow_invalid_values=allow_invalid_values)
    # The singular in the path is upstream's.
    for name in term.get("namespaces", ()):
        errors += [invalid(f"{at}.namespace", name, text) for text in names.check_dns_label(name)]
    errors += validate_match_label_keys(term, at)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{at}.topologyKey", "can not be empty"))
    return errors + validate_label_name(key, f"{at}.topologyKey")


def validate_affinity_term_selectors(
    term: ReadOnlyObject, at: str, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    """Validate the pod and namespace selectors of a term."""
    errors: list[FieldError] = []
    for name in ("labelSelector", "namespaceSelector"):
        if name in term:
            errors += validate_label_selector(term[name], f"{at}.{name}", allow_invalid_values=allow_invalid_values)
    return errors


def validate_match_label_keys(term: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate matchLabelKeys and mismatchLabelKeys of a term."""
    keys, mismatched = term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ())
    if not keys and not mismatched:
        return []
    selector = term.get("labelSelector")
    errors = _validate_label_keys(keys, selector, f"{at}.matchLabelKeys")
    errors += _validate_label_keys(mismatched, selector, f"{at}.mismatchLabelKeys")
    if selector is not None:
        errors += _validate_merged_selector(keys, selector, at)
    for i, key in enumerate(keys):
        if key in mismatched:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(f"{at}.matchLabelKeys[{i}]", key, text))
    return errors


def _validate_label_keys(keys: Sequence[str], selector: ReadOnlyObject | None, at: str) -> list[FieldError]:
    if keys and selector is None:
        return [forbidden(at, "must not be specified when labelSelector is not set")]
    errors: list[FieldError] = []
    for i, key in enumerate(keys):
        errors += validate_label_name(key, f"{at}[{i}]")
    return errors


def _validate_merged_selector(keys: Sequence[str], selector: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject keys that the label selector has besides the merged ones."""
    positions = {key: i for i, key in enumerate(keys)}
    # The strategy has merged each key into matchExpressions already, so a key is an error only when it occurs twice.
    seen = set(selector.get("matchLabels", ()))
    errors = []
    for requirement in selector.get("matchExpressions", ()):
        key = requirement.get("key", "")
        if key in positions and key in seen:
            text = "exists in both matchLabelKeys and labelSelector"
            errors.append(invalid(f"{at}[{positions[key]}]", key, text))
        seen.add(key)
    return errors


def pod_affinity_terms(spec: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Yield every term of pod affinity and anti-affinity, without weights."""
    affinity: Mapping[str, ReadOnlyObject] = spec.get("affinity", {})
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind, {})
        yield from terms.get(REQUIRED, ())
        yield from (weighted.get("podAffinityTerm", {}) for weighted in terms.get(PREFERRED, ()))


def node_selector_terms(spec: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Yield every node selector term, required and preferred."""
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    preferred = (weighted.get("preference", {}) for weighted in affinity.get(PREFERRED, ()))
    return chain(required_node_selector_terms(spec), preferred)


def required_node_selector_terms(spec: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    """Return the required node selector terms; a node has to match one of them."""
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    terms: Sequence[ReadOnlyObject] = affinity.get(REQUIRED, {}).get("nodeSelectorTerms") or ()
    return terms
