"""Which requests a webhook or a policy is for, and on which conditions."""

from collections.abc import Callable
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, invalid, not_supported, repeated_indexes, required, too_many
from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.formats import formed, qualified
from mockkube.api.validation.labels import validate_label_selector

CONDITIONS_MAX: Final = 64
MATCH_POLICIES: Final = ("Equivalent", "Exact")
FAILURE_POLICIES: Final = ("Fail", "Ignore")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")

PolicyExpressionCheck = Callable[[str, str, str, ReadOnlyObject], list[FieldError]]
"""Judges an expression (first) at a path (second): what it is for (third), in the whole object (fourth)."""


def accept(expression: str, at: str, purpose: str, obj: ReadOnlyObject) -> list[FieldError]:
    """Accept every expression: nobody handed in a compiler."""
    return []


def validate_rule(rule: ReadOnlyObject, at: str) -> list[FieldError]:
    """Judge a rule: operations, groups, versions, resources, scope."""
    operations = rule.get("operations") or []
    errors = [] if operations else [required(f"{at}.operations")]
    if len(operations) > 1 and "*" in operations:
        detail = "if '*' is present, must not specify other operations"
        errors.append(invalid(f"{at}.operations", operations, detail))
    unknown = ((index, each) for index, each in enumerate(operations) if each not in _OPERATIONS)
    errors += [not_supported(f"{at}.operations[{index}]", each, _OPERATIONS) for index, each in unknown]
    for name, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(name) or []
        if not values:
            errors.append(required(f"{at}.{name}"))
        if len(values) > 1 and "*" in values:
            errors.append(invalid(f"{at}.{name}", values, f"if '*' is present, must not specify other {what}"))
    versions = enumerate(rule.get("apiVersions") or [])
    errors += [required(f"{at}.apiVersions[{index}]") for index, version in versions if not version]
    errors += _validate_resources(rule.get("resources") or [], f"{at}.resources")
    scope = rule.get("scope")
    return errors if scope is None or scope in _SCOPES else [*errors, not_supported(f"{at}.scope", scope, _SCOPES)]


def _validate_resources(resources: list[str], at: str) -> list[FieldError]:
    errors = [] if resources else [required(at)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    bare = False
    for index, each in enumerate(resources):
        here = f"{at}[{index}]"
        resource, slash, part = each.partition("/")
        if not each:
            errors.append(required(here))
            continue
        if not slash:
            bare = each != "*"
            continue
        if resource in whole:
            errors.append(invalid(here, each, f"if '{resource}/*' is present, must not specify {each}"))
        if part in everywhere:
            errors.append(invalid(here, each, f"if '*/{part}' is present, must not specify {each}"))
        if part == "*":
            whole.add(resource)
        if resource == "*":
            everywhere.add(part)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(at, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and bare:
        detail = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(at, resources, detail))
    return errors


def validate_match(match: ReadOnlyObject, at: str) -> list[FieldError]:
    """Judge what a policy is for."""
    policy = match.get("matchPolicy")
    errors: list[FieldError] = []
    if policy is None:
        errors.append(required(f"{at}.matchPolicy"))
    elif policy not in MATCH_POLICIES:
        errors.append(not_supported(f"{at}.matchPolicy", policy, MATCH_POLICIES))
    for name in ("namespaceSelector", "objectSelector"):
        selector, here = match.get(name), f"{at}.{name}"
        errors += [required(here)] if selector is None else validate_label_selector(selector, here)
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(name) or []):
            errors += _validate_named_rule(rule, f"{at}.{name}[{index}]")
    return errors


def _validate_named_rule(rule: ReadOnlyObject, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    wanted = rule.get("resourceNames") or []
    repeated = repeated_indexes(wanted)
    for index, name in enumerate(wanted):
        here = f"{at}.resourceNames[{index}]"
        errors += formed(name, here, names.path_segment)
        if index in repeated:
            errors.append(duplicate(here, name))
    return errors + validate_rule(rule, at)


def validate_conditions(
    conditions: list[ReadOnlyObject] | None, at: str, obj: ReadOnlyObject, check: PolicyExpressionCheck
) -> list[FieldError]:
    """Judge the conditions on which a webhook or policy is asked at all."""
    conditions = conditions or []
    errors = [too_many(at, len(conditions), CONDITIONS_MAX)] if len(conditions) > CONDITIONS_MAX else []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        here, name, expression = f"{at}[{index}]", condition.get("name", ""), condition.get("expression", "").strip()
        if expression:
            errors += check(expression, f"{here}.expression", "matchCondition", obj)
        else:
            errors.append(required(f"{here}.expression"))
        errors += qualified(name, f"{here}.name") if name else [required(f"{here}.name")]
        if name and name in seen:
            errors.append(duplicate(f"{here}.name", name))
        seen.add(name)
    return errors
