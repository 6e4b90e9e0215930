"""Validate device claims: requests, constraints and configurations."""

from collections.abc import Mapping
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.resource.device_expressions import ExpressionCheck, validate_selectors
from mockkube.api.kinds.resource.device_fields import (
    DEVICE_TAINT_EFFECTS,
    drop_fields,
    name_key,
    validate_configuration,
    validate_items,
    validate_qualified_attribute,
    validate_set,
)
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.extensions import NO_EXTENSIONS, ItemValidator, OperatorRule, ValidationExtensions
from mockkube.api.validation.formats import validate_label, validate_qualified_name, validate_subdomain
from mockkube.lazy_dataclasses import dataclass

REQUESTS_MAX: Final = 32
CONSTRAINTS_MAX: Final = 32
CONFIG_MAX: Final = 32
SUBREQUESTS_MAX: Final = 8
_ALLOCATION_MODES: Final = ("All", "ExactCount")
_TOLERATION_OPERATORS: Final = ("Equal", "Exists")
_ONE_OF_DETAIL: Final = "exactly one of `exactly` or `firstAvailable` is required"
_UNKNOWN_REQUEST_DETAIL: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
# Names of requests, each with the names of its subrequests.
RequestNames = Mapping[str, frozenset[str]]


def request_names(devices: ReadOnlyObject) -> RequestNames:
    """Return the request names that constraints, configurations and results may refer to."""
    return {
        request.get("name", ""): frozenset(each.get("name", "") for each in request.get("firstAvailable") or ())
        for request in devices.get("requests") or ()
    }


def validate_request_reference(name: str, at: str, known: RequestNames) -> list[FieldError]:
    """Validate a reference to a request or to one of its subrequests."""
    request, *rest = name.split("/")
    if len(rest) > 1:
        return [invalid(at, name, _UNKNOWN_REQUEST_DETAIL)]
    errors = [error for part in (request, *rest) for error in validate_label(part, at)]
    if request not in known or (rest and rest[0] not in known[request]):
        errors.append(invalid(at, name, _UNKNOWN_REQUEST_DETAIL))
    return errors


def validate_request_references(items: list[str] | None, at: str, known: RequestNames) -> list[FieldError]:
    """Validate a set of references to requests."""
    return validate_set(
        items, at, lambda name, here: validate_request_reference(name, here, known), items_max=REQUESTS_MAX
    )


@dataclass(frozen=True, slots=True)
class DeviceClaimValidator:
    """Validates device claims with a compiler for expressions and the validation extensions."""

    context: StrategyContext
    check_expression: ExpressionCheck
    extensions: ValidationExtensions = NO_EXTENSIONS

    def validate(self, devices: ReadOnlyObject, at: str) -> list[FieldError]:
        """Validate requests, constraints and configurations."""
        known = request_names(devices)
        requests = devices.get("requests")
        errors = validate_set(requests, f"{at}.requests", self._validate_request, key=name_key, items_max=REQUESTS_MAX)
        errors += validate_items(
            devices.get("constraints"),
            f"{at}.constraints",
            lambda constraint, here: _validate_constraint(constraint, here, known, self.context),
            items_max=CONSTRAINTS_MAX,
        )
        return errors + validate_items(
            devices.get("config"),
            f"{at}.config",
            lambda config, here: (
                validate_request_references(config.get("requests"), f"{here}.requests", known)
                + validate_configuration(config, here)
            ),
            items_max=CONFIG_MAX,
        )

    def _validate_request(self, request: ReadOnlyObject, at: str) -> list[FieldError]:
        errors = validate_label(request.get("name", ""), f"{at}.name")
        exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
        # A request of unknown form, from a newer version, is rejected here instead of being stored without its content.
        if exactly is None and not alternatives:
            return [*errors, required(at, _ONE_OF_DETAIL)]
        if exactly is not None and alternatives:
            return [*errors, invalid(at, None, f"{_ONE_OF_DETAIL}, but multiple fields are set")]
        if exactly is not None:
            return errors + self._validate_exact_request(exactly, f"{at}.exactly")
        return errors + validate_set(
            alternatives, f"{at}.firstAvailable", self._validate_subrequest, key=name_key, items_max=SUBREQUESTS_MAX
        )

    def _validate_subrequest(self, request: ReadOnlyObject, at: str) -> list[FieldError]:
        return validate_label(request.get("name", ""), f"{at}.name") + self._validate_exact_request(request, at)

    def _validate_exact_request(self, request: ReadOnlyObject, at: str) -> list[FieldError]:
        name = request.get("deviceClassName", "")
        errors = validate_subdomain(name, f"{at}.deviceClassName") if name else [required(f"{at}.deviceClassName")]
        errors += validate_selectors(request.get("selectors"), f"{at}.selectors", self.context, self.check_expression)
        # Admin access is authorized elsewhere: it depends on the namespace, not on the request.
        errors += _validate_allocation_mode(request, at)
        return errors + validate_items(request.get("tolerations"), f"{at}.tolerations", self._validate_toleration)

    def _validate_toleration(self, toleration: ReadOnlyObject, at: str) -> list[FieldError]:
        rule = self.extensions.device_tolerations.get(toleration.get("operator", ""))
        return validate_device_toleration(
            toleration, at, None if rule is None else _extension_check(rule, self.context)
        )


def _validate_allocation_mode(request: ReadOnlyObject, at: str) -> list[FieldError]:
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    match mode:
        case "All":
            detail = f"must not be specified when allocationMode is '{mode}'"
            return [invalid(f"{at}.count", count, detail)] if count else []
        case "ExactCount":
            return [invalid(f"{at}.count", count, "must be greater than zero")] if count <= 0 else []
        case _:
            return [not_supported(f"{at}.allocationMode", mode, _ALLOCATION_MODES)]


def _extension_check(rule: OperatorRule, context: StrategyContext) -> ItemValidator:
    return rule.check if context.caps.enabled(rule.gate) else rule.refuse


def validate_device_toleration(
    toleration: ReadOnlyObject, at: str, proposed: ItemValidator | None = None
) -> list[FieldError]:
    """Validate a toleration of device taints; `proposed` validates an operator of an extension."""
    errors = validate_qualified_name(toleration["key"], f"{at}.key") if toleration.get("key") else []
    operator, value, effect = (toleration.get(name, "") for name in ("operator", "value", "effect"))
    match operator:
        case "Exists":
            if value:
                errors.append(invalid(f"{at}.value", value, "must be empty for operator `Exists`"))
        case "Equal":
            errors += [invalid(f"{at}.value", value, text) for text in names.check_label_value(value)]
        case "":
            errors.append(required(f"{at}.operator"))
        case _ if proposed is not None:
            errors += proposed(toleration, at)
        case _:
            errors.append(not_supported(f"{at}.operator", operator, _TOLERATION_OPERATORS))
    if effect and effect not in DEVICE_TAINT_EFFECTS:
        errors.append(not_supported(f"{at}.effect", effect, DEVICE_TAINT_EFFECTS))
    return errors


def _validate_constraint(
    constraint: ReadOnlyObject, at: str, known: RequestNames, context: StrategyContext
) -> list[FieldError]:
    errors = validate_request_references(constraint.get("requests"), f"{at}.requests", known)
    match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
    if match is not None:
        return errors + validate_qualified_attribute(match, f"{at}.matchAttribute")
    if distinct is not None:
        return errors + validate_qualified_attribute(distinct, f"{at}.distinctAttribute")
    if context.caps.enabled("DRAConsumableCapacity"):
        # upstream 1.36 has this text for constraints without any attribute, too.
        detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        return [*errors, required(at, detail)]
    return [*errors, required(f"{at}.matchAttribute")]


def drop_disabled_request_fields(spec: Object, before: ReadOnlyObject | None, context: StrategyContext) -> None:
    """Drop fields of disabled gates from a claim's spec, unless they are in use."""
    # upstream 1.36: pkg/api/resourceclaimspec/util.go
    devices, old = spec.get("devices") or {}, (before or {}).get("devices") or {}
    requests = devices.get("requests") or ()
    stored = old.get("requests") or ()
    # A request that loses its alternatives has neither form left and fails validation.
    if not context.caps.enabled("DRAPrioritizedList") and not any(each.get("firstAvailable") for each in stored):
        drop_fields(requests, "firstAvailable")
    if not context.caps.enabled("DRADeviceTaints") and not any(
        each.get("tolerations") for each in _exact_and_subrequests(stored)
    ):
        drop_fields(_exact_and_subrequests(requests), "tolerations")
    if not context.caps.enabled("DRAAdminAccess") and not any(
        "adminAccess" in each for each in _exact_and_subrequests(stored)
    ):
        drop_fields(_exact_and_subrequests(requests), "adminAccess")
    if not context.caps.enabled("DRAConsumableCapacity") and not uses_consumable_capacity(old):
        drop_fields(devices.get("constraints"), "distinctAttribute")
        drop_fields(_exact_and_subrequests(requests), "capacity")


def uses_consumable_capacity(devices: ReadOnlyObject) -> bool:
    """Return whether requests or constraints use consumable capacity."""
    distinct = any("distinctAttribute" in each for each in devices.get("constraints") or ())
    return distinct or any("capacity" in each for each in _exact_and_subrequests(devices.get("requests") or ()))


def _exact_and_subrequests(requests: tuple[Object, ...] | list[Object]) -> list[Object]:
    exact = [request["exactly"] for request in requests if request.get("exactly") is not None]
    return exact + [each for request in requests for each in request.get("firstAvailable") or ()]
