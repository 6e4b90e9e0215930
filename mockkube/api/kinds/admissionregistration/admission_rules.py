"""Validate rules, match resources and match conditions of webhooks and admission policies."""

from collections.abc import Callable
from typing import Final

from mockkube.api import names
from mockkube.api.fields import (
    FieldError,
    duplicate,
    find_duplicate_indexes,
    invalid,
    not_supported,
    required,
    too_many,
)
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.formats import validate_format, validate_qualified_name
from mockkube.api.validation.labels import validate_label_selector

CONDITIONS_MAX: Final = 64
MATCH_POLICIES: Final = ("Equivalent", "Exact")
FAILURE_POLICIES: Final = ("Fail", "Ignore")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")

# Validates an expression (first) at a field path (second) for a purpose (third) in its policy or webhook configuration
# (fourth). The compiler is passed in because this package must not import CEL.
PolicyExpressionCheck = Callable[[str, str, str, ReadOnlyObject], list[FieldError]]


def accept_expression(expression: str, at: str, purpose: str, obj: ReadOnlyObject) -> list[FieldError]:
    """Accept every expression; used where no CEL compiler is available."""
    return []


def validate_rule(rule: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate operations, groups, versions, resources and scope of a rule."""
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
    wildcard_subresources: set[str] = set()
    wildcard_resources: set[str] = set()
    has_plain_resource = False
    for index, each in enumerate(resources):
        here = f"{at}[{index}]"
        resource, slash, subresource = each.partition("/")
        if not each:
            errors.append(required(here))
            continue
        if not slash:
            # Upstream assigns here instead of or-ing, so only the last entry without a subresource counts.
            has_plain_resource = each != "*"
            continue
        if resource in wildcard_subresources:
            errors.append(invalid(here, each, f"if '{resource}/*' is present, must not specify {each}"))
        if subresource in wildcard_resources:
            errors.append(invalid(here, each, f"if '*/{subresource}' is present, must not specify {each}"))
        # An entry is compared only with those before it: `pods/*` after `pods/status` is accepted, as upstream does.
        if subresource == "*":
            wildcard_subresources.add(resource)
        if resource == "*":
            wildcard_resources.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(at, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and has_plain_resource:
        detail = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(at, resources, detail))
    return errors


def validate_match_resources(match: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the match resources of a policy or binding."""
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
            errors += _validate_named_rule_with_operations(rule, f"{at}.{name}[{index}]")
    return errors


def _validate_named_rule_with_operations(rule: ReadOnlyObject, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    resource_names = rule.get("resourceNames") or []
    repeated = find_duplicate_indexes(resource_names)
    for index, name in enumerate(resource_names):
        here = f"{at}.resourceNames[{index}]"
        errors += validate_format(name, here, names.check_path_segment)
        if index in repeated:
            errors.append(duplicate(here, name))
    return errors + validate_rule(rule, at)


def validate_match_conditions(
    conditions: list[ReadOnlyObject] | None, at: str, obj: ReadOnlyObject, check: PolicyExpressionCheck
) -> list[FieldError]:
    """Validate the match conditions of a webhook or policy."""
    conditions = conditions or []
    errors = [too_many(at, len(conditions), CONDITIONS_MAX)] if len(conditions) > CONDITIONS_MAX else []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        here, name, expression = f"{at}[{index}]", condition.get("name", ""), condition.get("expression", "").strip()
        if expression:
            errors += check(expression, f"{here}.expression", "matchCondition", obj)
        else:
            errors.append(required(f"{here}.expression"))
        errors += validate_qualified_name(name, f"{here}.name") if name else [required(f"{here}.name")]
        # The name is the merge key of the list and identifies a condition in logs.
        if name and name in seen:
            errors.append(duplicate(f"{here}.name", name))
        seen.add(name)
    return errors
