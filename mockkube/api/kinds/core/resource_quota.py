"""ResourceQuota: strategy, defaults, validation and printer columns."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, invalid, map_entry_path, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.pod.containers.resources import validate_resource_quantity
from mockkube.api.kinds.core.resource_names import is_standard_quota_resource, validate_quota_resource_name
from mockkube.api.printers.accessors import name_of, section, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.quantities.quantity import parse
from mockkube.api.quantities.rounding import round_up_resource_list
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.internal_form import InternalShape, make_optional, to_internal
from mockkube.features.capabilities import Capabilities


def default_resource_quota(quota: Object, caps: Capabilities) -> None:
    """Round up the quantities to whole milli-units."""
    round_up_resource_list(quota.get("spec", {}).get("hard"))
    status = quota.get("status", {})
    round_up_resource_list(status.get("hard"))
    round_up_resource_list(status.get("used"))


_COMPUTE_RESOURCES: Final = ("cpu", "memory")
_POD_RESOURCES: Final = frozenset(
    (
        "pods",
        *_COMPUTE_RESOURCES,
        *(f"limits.{name}" for name in _COMPUTE_RESOURCES),
        *(f"requests.{name}" for name in _COMPUTE_RESOURCES),
    )
)
_SCOPE_RESOURCES: Final = {
    "Terminating": _POD_RESOURCES,
    "NotTerminating": _POD_RESOURCES,
    "BestEffort": frozenset(("pods",)),
    "NotBestEffort": _POD_RESOURCES,
    "PriorityClass": _POD_RESOURCES,
    "CrossNamespacePodAffinity": _POD_RESOURCES,
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
}
_EXISTS_ONLY_SCOPES: Final = (
    "BestEffort",
    "NotBestEffort",
    "Terminating",
    "NotTerminating",
    "CrossNamespacePodAffinity",
)
_REQUIREMENT: Final[InternalShape] = (
    ("ScopeName", "scopeName", ""),
    ("Operator", "operator", ""),
    ("Values", "values", None),
)
_SELECTOR: Final[InternalShape] = (("MatchExpressions", "matchExpressions", make_optional(_REQUIREMENT)),)
_EXISTS_DETAIL: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


class ResourceQuotaStrategy(StatusStrategy):
    """Strategy of ResourceQuota."""

    tracks_generation = False

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate hard limits and scopes."""
        return _validate_spec(obj.get("spec") or {}) + _validate_status(obj.get("status") or {})

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate limits and that the scopes are unchanged, or the status."""
        if context.subresource == "status":
            missing = [] if new["metadata"].get("resourceVersion") else [required("resourceVersion")]
            return missing + _validate_status(new.get("status") or {})
        spec = new.get("spec") or {}
        errors = _validate_spec(spec)
        scopes, before = spec.get("scopes"), (old.get("spec") or {}).get("scopes")
        if set(scopes or []) != set(before or []):
            errors.append(invalid("spec.scopes", scopes, "field is immutable"))
        return errors

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about requests above their limits."""
        hard = (obj.get("spec") or {}).get("hard") or {}
        warnings = []
        for name in ("cpu", "memory", "storage", "ephemeral-storage"):
            request, limit = f"requests.{name}", f"limits.{name}"
            # In a quota, `cpu` and `memory` mean the same as `requests.cpu` and `requests.memory`.
            if request not in hard and name in _COMPUTE_RESOURCES:
                request = name
            if request in hard and limit in hard and parse(hard[request]) > parse(hard[limit]):
                text = f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"
                warnings.append(text)
        return warnings


def _validate_spec(spec: ReadOnlyObject) -> list[FieldError]:
    hard = spec.get("hard") or {}
    errors = _validate_amounts(hard, "spec.hard") + _validate_scopes(spec, hard)
    if spec.get("scopeSelector") is not None:
        errors += _validate_scope_selector(spec, hard)
    return errors


def _validate_status(status: ReadOnlyObject) -> list[FieldError]:
    return [error for name in ("hard", "used") for error in _validate_amounts(status.get(name) or {}, f"status.{name}")]


def _validate_amounts(amounts: ReadOnlyObject, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, amount in amounts.items():
        errors += validate_quota_resource_name(name, map_entry_path(at, name))
        errors += validate_resource_quantity(name, amount, map_entry_path(at, name))
    return errors


def _validate_scopes(spec: ReadOnlyObject, hard: ReadOnlyObject) -> list[FieldError]:
    scopes = spec.get("scopes") or []
    errors = []
    for scope in scopes:
        if scope not in _SCOPE_RESOURCES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
        errors += [invalid("spec.scopes", scopes, _MISAPPLIED_DETAIL) for _ in _find_misapplied(scope, hard)]
    return errors + _validate_conflicts(scopes, scopes)


_MISAPPLIED_DETAIL: Final = "unsupported scope applied to resource"


def _find_misapplied(scope: str, hard: Iterable[str]) -> list[str]:
    """Return the resources that the scope cannot be applied to."""
    return [
        name
        for name in hard
        if scope in _SCOPE_RESOURCES and is_standard_quota_resource(name) and name not in _SCOPE_RESOURCES[scope]
    ]


def _validate_conflicts(names: Iterable[str], scopes: list[str] | None) -> list[FieldError]:
    given = set(names)
    # A scope and its opposite together would match no pod.
    return [
        invalid("spec.scopes", scopes or None, "conflicting scopes")
        for pair in (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
        if given.issuperset(pair)
    ]


def _validate_scope_selector(spec: ReadOnlyObject, hard: ReadOnlyObject) -> list[FieldError]:
    at = "spec.scopeSelector.matchExpressions"
    selector = spec["scopeSelector"]
    expressions = selector.get("matchExpressions") or []
    errors = []
    for each in expressions:
        scope = each.get("scopeName", "")
        if scope not in _SCOPE_RESOURCES:
            errors.append(invalid(f"{at}.scopeName", scope, "unsupported scope"))
        errors += [
            invalid(at, to_internal(selector, _SELECTOR), _MISAPPLIED_DETAIL) for _ in _find_misapplied(scope, hard)
        ]
        errors += _validate_operator(each, scope, at)
    return errors + _validate_conflicts((each.get("scopeName", "") for each in expressions), spec.get("scopes"))


def _validate_operator(each: ReadOnlyObject, scope: str, at: str) -> list[FieldError]:
    operator, values = each.get("operator", ""), each.get("values")
    errors = []
    # These scopes have no values: a pod is in them or not.
    if scope in _EXISTS_ONLY_SCOPES and operator != "Exists":
        errors.append(invalid(f"{at}.operator", operator, _EXISTS_DETAIL))
    match operator:
        case "In" | "NotIn":
            if not values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(required(f"{at}.values", detail))
        case "Exists" | "DoesNotExist":
            if values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(invalid(f"{at}.values", values, detail))
        case _:
            errors.append(invalid(f"{at}.operator", operator, "not a valid selector operator"))
    return errors


def resource_quota_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ResourceQuota: usage by resource, limits apart from requests."""
    used = section(obj, "status", "used")
    requests: list[str] = []
    limits: list[str] = []
    for resource, hard in sorted(section(obj, "status", "hard").items()):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {string(used, resource, missing='0')}/{hard}")
    return [name_of(obj), ", ".join(requests), ", ".join(limits), format_age(obj, now)]


RESOURCE_QUOTA = Printer(
    (
        NAME_COLUMN,
        text_column("Request", "Used and allowed amounts, except limits."),
        text_column("Limit", "Used and allowed limits."),
        AGE_COLUMN,
    ),
    resource_quota_cells,
)

KIND: Final = Kind(
    "",
    "ResourceQuota",
    "resourcequotas",
    short_names=("quota",),
    subresources=(STATUS,),
    strategy=lambda _: ResourceQuotaStrategy(),
    defaults={"v1": default_resource_quota},
    printer=RESOURCE_QUOTA,
)
