"""Validate the fields that PodGroups and the templates of Workloads share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mockkube.api.fields import FieldError, duplicate, forbidden, invalid, required, too_many
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.formats import validate_label, validate_one_of, validate_qualified_name, validate_subdomain
from mockkube.features.versions import Version

CLAIMS_MAX: Final = 4
TOPOLOGIES_MAX: Final = 1
PRIORITY_MAX: Final = 1_000_000_000
DISRUPTION_MODES: Final = ("Pod", "PodGroup")
TOPOLOGY_GATE: Final = "TopologyAwareWorkloadScheduling"
PREEMPTION_GATE: Final = "WorkloadAwarePreemption"
CLAIMS_GATE: Final = "DRAWorkloadResourceClaims"
_GATED_FIELDS: Final = (
    (TOPOLOGY_GATE, ("schedulingConstraints",)),
    (CLAIMS_GATE, ("resourceClaims",)),
    (PREEMPTION_GATE, ("disruptionMode", "priorityClassName", "priority")),
    ("PodGroupPreemptionPolicy", ("preemptionPolicy",)),
    ("CompositePodGroup", ("parentCompositePodGroupName",)),
)
# 1.37 has its fields whatever the gates.
_PREEMPTION_GATE_UNTIL: Final = Version(1, 37)
_CLAIM_FIELDS: Final = ("name", "resourceClaimName", "resourceClaimTemplateName")


def drop_disabled_pod_group_fields(
    new: Object, old: ReadOnlyObject, context: StrategyContext, replacements: ReadOnlyObject
) -> None:
    """Drop fields of disabled gates; the last argument has values that replace dropped fields."""
    # upstream 1.36: pkg/registry/scheduling/podgroup/strategy.go
    for gate, fields in _GATED_FIELDS:
        is_gone = gate == PREEMPTION_GATE and context.caps.version >= _PREEMPTION_GATE_UNTIL
        if is_gone or context.caps.enabled(gate):
            continue
        for name in fields:
            if name in new and not _is_set(old.get(name)):
                del new[name]
                new.update({name: replacements[name]} if name in replacements else {})


def validate_pod_group_spec(terms: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the spec of a new group."""
    # upstream 1.36: pkg/apis/scheduling/v1alpha2/zz_generated.validations.go
    errors = validate_scheduling_policy(terms.get("schedulingPolicy") or {}, f"{at}.schedulingPolicy")
    topology = (terms.get("schedulingConstraints") or {}).get("topology") or []
    errors += _validate_topology(topology, f"{at}.schedulingConstraints.topology")
    errors += validate_resource_claims(terms.get("resourceClaims") or [], f"{at}.resourceClaims")
    # A string in v1alpha2, an object in later versions.
    if isinstance(mode := terms.get("disruptionMode"), str):
        errors += validate_one_of(mode, f"{at}.disruptionMode", DISRUPTION_MODES)
    if terms.get("priorityClassName"):
        errors += validate_subdomain(terms["priorityClassName"], f"{at}.priorityClassName")
    if terms.get("priority") is not None:
        errors += _validate_priority(terms["priority"], f"{at}.priority")
    return errors


def validate_scheduling_policy(policy: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the scheduling policy: basic, or gang with a minimum count."""
    errors = validate_exactly_one(policy, at, ("basic", "gang"))
    if policy.get("gang") is not None:
        count = policy["gang"].get("minCount", 0)
        place = f"{at}.gang.minCount"
        if count == 0:
            errors.append(required(place))
        elif count < 1:
            errors.append(invalid(place, count, "must be greater than or equal to 1"))
    return errors


def validate_resource_claims(claims: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    """Validate the claims that the pods of the group share."""
    if len(claims) > CLAIMS_MAX:
        return [too_many(at, len(claims), CLAIMS_MAX)]
    errors = validate_unique_names(claims, at, _CLAIM_FIELDS)
    for index, claim in enumerate(claims):
        place = f"{at}[{index}]"
        errors += validate_exactly_one(claim, place, _CLAIM_FIELDS[1:])
        errors += validate_required_label(claim, place, "name")
        for name in _CLAIM_FIELDS[1:]:
            if claim.get(name) is not None:
                errors += validate_subdomain(claim[name], f"{place}.{name}")
    return errors


def validate_required_label(obj: ReadOnlyObject, at: str, field: str) -> list[FieldError]:
    """Require a field to be a DNS label."""
    return validate_label(obj[field], f"{at}.{field}") if obj.get(field) else [required(f"{at}.{field}")]


def validate_exactly_one(union: ReadOnlyObject, at: str, members: Sequence[str]) -> list[FieldError]:
    """Require exactly one member of a union."""
    given = [name for name in members if union.get(name) is not None]
    choices = ", ".join(f"`{name}`" for name in members)
    if not given:
        return [invalid(at, "", f"must specify one of: {choices}")]
    if len(given) == 1:
        return []
    return [invalid(at, f"{{{', '.join(given)}}}", f"must specify exactly one of: {choices}")]


def validate_unique_names(items: Iterable[ReadOnlyObject], at: str, fields: Sequence[str]) -> list[FieldError]:
    """Reject items with the name of an earlier one, printed with `fields` in that order."""
    seen: set[str] = set()
    errors: list[FieldError] = []
    for index, item in enumerate(items):
        name = item.get("name", "")
        if name in seen:
            errors.append(duplicate(f"{at}[{index}]", {field: item[field] for field in fields if field in item}))
        seen.add(name)
    return errors


def validate_unchanged(new: Mapping[str, Any], old: Mapping[str, Any], name: str, at: str) -> list[FieldError]:
    """Reject a changed field; the error does not print its value."""
    return [invalid(f"{at}.{name}", None, "field is immutable")] if new.get(name) != old.get(name) else []


def validate_pod_group_spec_update(
    new: ReadOnlyObject, old: ReadOnlyObject, at: str, context: StrategyContext
) -> list[FieldError]:
    """Reject changes of the spec; fields of disabled gates may only be removed."""
    errors = validate_unchanged(new, old, "schedulingPolicy", at)
    errors += _validate_unchanged_by_gate(new, old, "schedulingConstraints", at, context.caps.enabled(TOPOLOGY_GATE))
    if claim_errors := validate_unchanged(new, old, "resourceClaims", at):
        claims = new.get("resourceClaims") or []
        excess = len(claims) > CLAIMS_MAX
        errors += [*claim_errors, too_many(f"{at}.resourceClaims", len(claims), CLAIMS_MAX)] if excess else claim_errors
    preempts = context.caps.enabled(PREEMPTION_GATE)
    for name in ("disruptionMode", "priorityClassName", "priority"):
        if preempts and name == "disruptionMode" and new.get(name) is None and old.get(name) is not None:
            errors.append(required(f"{at}.{name}"))
        errors += _validate_unchanged_by_gate(new, old, name, at, preempts)
    return errors


def _validate_unchanged_by_gate(
    new: ReadOnlyObject, old: ReadOnlyObject, name: str, at: str, enabled: bool
) -> list[FieldError]:
    errors = validate_unchanged(new, old, name, at)
    if enabled or not errors:
        return errors
    # Upstream's declarative validation forbids a gated field without a message.
    return [forbidden(f"{at}.{name}", "")] if _is_set(new.get(name)) else []


def _is_set(value: object) -> bool:
    return value is not None and value != "" and value != []


def _validate_topology(topology: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    if len(topology) > TOPOLOGIES_MAX:
        return [too_many(at, len(topology), TOPOLOGIES_MAX)]
    errors: list[FieldError] = []
    for index, constraint in enumerate(topology):
        key, place = constraint.get("key", ""), f"{at}[{index}].key"
        errors += validate_qualified_name(key, place) if key else [required(place)]
    return errors


def _validate_priority(priority: int, at: str) -> list[FieldError]:
    if priority > PRIORITY_MAX:
        return [invalid(at, priority, f"must be less than or equal to {PRIORITY_MAX}")]
    return []
