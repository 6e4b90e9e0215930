"""Validate requests, limits and claims of containers and pods, and resource names."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateResourceRequirements; pkg/apis/core/helper/helpers.go

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import repeat
from typing import Final

from mockkube.api import names
from mockkube.api.fields import (
    FieldError,
    TypedString,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse

HUGE_PAGES_PREFIX: Final = "hugepages-"
_COMPUTE_RESOURCES: Final = ("cpu", "memory")
_CONTAINER_RESOURCES: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_INTEGER_RESOURCES: Final = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_STANDARD_RESOURCES: Final = (
    _CONTAINER_RESOURCES
    | _INTEGER_RESOURCES
    | {f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER_RESOURCES}
    | {"storage", "requests.storage"}
)
_NATIVE_DOMAIN: Final = "kubernetes.io/"
_POD_LEVEL_RESOURCES: Final = ("cpu", HUGE_PAGES_PREFIX, "memory")
_UNKNOWN_CLAIM_DETAIL: Final = "must be one of the names in pod.spec.resourceClaims"
ResourceNameCheck = Callable[[str, str], list[FieldError]]


def is_native_resource(name: str) -> bool:
    """Return whether the resource has no domain, or the domain kubernetes.io."""
    # Upstream searches the domain anywhere in the name: `example.kubernetes.io/x` is native, too.
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended_resource(name: str) -> bool:
    """Return whether the resource has a domain of its own and can be used in a quota."""
    return (
        not is_native_resource(name)
        and not name.startswith("requests.")
        and not names.check_qualified_name(f"requests.{name}")
    )


def is_integer_resource(name: str) -> bool:
    """Return whether amounts of the resource must be integers."""
    return name in _INTEGER_RESOURCES or is_extended_resource(name)


def is_overcommit_allowed(name: str) -> bool:
    """Return whether limits of the resource may exceed requests."""
    return is_native_resource(name) and not name.startswith(HUGE_PAGES_PREFIX)


def is_standard_resource(name: str) -> bool:
    """Return whether the name is that of a standard resource, which needs no domain."""
    return name in _STANDARD_RESOURCES or name.startswith((HUGE_PAGES_PREFIX, f"requests.{HUGE_PAGES_PREFIX}"))


def validate_resource_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of any resource."""
    errors = [invalid(at, TypedString(name), text) for text in names.check_qualified_name(name)]
    if not errors and "/" not in name and not is_standard_resource(name):
        errors.append(invalid(at, TypedString(name), "must be a standard resource type or fully qualified"))
    return errors


def _validate_container_resource(name: str, at: str) -> list[FieldError]:
    # The three common resources need no parsing of their names.
    if name in _CONTAINER_RESOURCES:
        return []
    errors = validate_resource_name(name, at)
    if "/" not in name:
        if not name.startswith(HUGE_PAGES_PREFIX):
            errors.append(invalid(at, TypedString(name), "must be a standard resource for containers"))
    elif not is_native_resource(name) and not is_extended_resource(name):
        errors.append(invalid(at, TypedString(name), "doesn't follow extended resource name standard"))
    return errors


def _validate_pod_resource(name: str, at: str) -> list[FieldError]:
    errors = validate_resource_name(name, at)
    if not errors and name not in _COMPUTE_RESOURCES and not name.startswith(HUGE_PAGES_PREFIX):
        return [not_supported(at, name, _POD_LEVEL_RESOURCES)]
    return errors


def validate_resource_quantity(name: str, amount: str, at: str) -> list[FieldError]:
    """Validate an amount: not negative, and an integer for resources that cannot be divided."""
    quantity = parse(amount)
    errors = []
    if quantity.sign < 0:
        errors.append(invalid(at, amount, "must be greater than or equal to 0"))
    if name not in _CONTAINER_RESOURCES and is_integer_resource(name) and quantity.milli() % 1000:
        errors.append(invalid(at, amount, "must be an integer"))
    return errors


def validate_container_resources(
    resources: ReadOnlyObject, at: str, claim_names: Collection[str], *, allow_indivisible: bool = False
) -> list[FieldError]:
    """Validate requests, limits and claims of a container."""
    return _validate_requirements(resources, at, claim_names, _validate_container_resource, allow_indivisible)


def validate_pod_resources(
    resources: ReadOnlyObject, at: str, claim_names: Collection[str], *, allow_indivisible: bool = False
) -> list[FieldError]:
    """Validate the pod-level requests and limits."""
    return _validate_requirements(resources, at, claim_names, _validate_pod_resource, allow_indivisible)


# hot: per container
def _validate_requirements(
    resources: ReadOnlyObject,
    at: str,
    claim_names: Collection[str],
    check_name: ResourceNameCheck,
    allow_indivisible: bool,
) -> list[FieldError]:
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    errors: list[FieldError] = []
    for name, amount in limits.items():
        errors += _validate_amount(name, amount, f"{at}.limits[{name}]", check_name, allow_indivisible)
    for name, amount in requests.items():
        here = f"{at}.requests[{name}]"
        errors += check_name(name, here)
        errors += validate_resource_quantity(name, amount, here)
        errors += _validate_overcommit(name, amount, limits, at)
        errors += _validate_huge_pages(name, amount, here, allow_indivisible)
    if _has_huge_pages_only({**limits, **requests}):
        errors.append(forbidden(at, "HugePages require cpu or memory"))
    if claims := resources.get("claims"):
        errors += _validate_claims(claims, f"{at}.claims", claim_names)
    return errors


def _has_huge_pages_only(amounts: Mapping[str, str]) -> bool:
    huge = any(name.startswith(HUGE_PAGES_PREFIX) for name in amounts)
    return huge and not any(name in amounts for name in _COMPUTE_RESOURCES)


def _validate_amount(
    name: str, amount: str, at: str, check_name: ResourceNameCheck, allow_indivisible: bool
) -> list[FieldError]:
    errors = check_name(name, at)
    errors += validate_resource_quantity(name, amount, at)
    return errors + _validate_huge_pages(name, amount, at, allow_indivisible)


def _validate_overcommit(name: str, amount: str, limits: Mapping[str, str], at: str) -> list[FieldError]:
    limit = limits.get(name)
    # Extended resources and huge pages are counted devices and pages: the scheduler cannot hand out more than there
    # are.
    if limit is None:
        if is_overcommit_allowed(name):
            return []
        return [required(f"{at}.limits", "Limit must be set for non overcommitable resources")]
    request, maximum = parse(amount), parse(limit)
    if request != maximum and not is_overcommit_allowed(name):
        return [invalid(f"{at}.requests", amount, f"must be equal to {name} limit of {limit}")]
    if request > maximum:
        return [invalid(f"{at}.requests", amount, f"must be less than or equal to {name} limit of {limit}")]
    return []


def _validate_huge_pages(name: str, amount: str, at: str, allow_indivisible: bool) -> list[FieldError]:
    if not name.startswith(HUGE_PAGES_PREFIX) or allow_indivisible or is_multiple_of_huge_page(name, amount):
        return []
    return [invalid(at, amount, f"{amount} is not positive integer multiple of {name}")]


def is_multiple_of_huge_page(name: str, amount: str) -> bool:
    """Return whether the amount is a multiple of the page size in the resource's name."""
    try:
        page = parse(name.removeprefix(HUGE_PAGES_PREFIX))
    except ValueError:
        return False
    return page.sign > 0 and page.milli() % 1000 == 0 and parse(amount).value() % page.value() == 0


def _validate_claims(claims: Sequence[ReadOnlyObject], at: str, claim_names: Collection[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen = Counter[str]()
    known = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
    for i, claim in enumerate(claims):
        here, name = f"{at}[{i}]", claim.get("name", "")
        if not name:
            errors.append(required(here))
            continue
        errors += _validate_claim_request(claim, here, seen)
        if name not in claim_names:
            errors.append(not_found(here, name, _UNKNOWN_CLAIM_DETAIL + known))
    return errors


def _validate_claim_request(claim: ReadOnlyObject, at: str, seen: Counter[str]) -> list[FieldError]:
    """Validate a claim reference and record it: a claim is used whole or by request, each once."""
    name, request = claim["name"], claim.get("request")
    if name in seen:
        return [duplicate(at, name)]
    errors: list[FieldError] = []
    key = name
    if request:
        errors = [invalid(f"{at}.request", request, text) for text in names.check_dns_label(request)]
        key = f"{name}/{request}"
    if key in seen:
        errors.append(duplicate(at, key))
    elif not request:
        errors += repeat(duplicate(at, name), seen[f"{name}/"])
    if request and key not in seen:
        seen[f"{name}/"] += 1  # how many parts of the claim are used
    seen[key] += 1
    return errors
