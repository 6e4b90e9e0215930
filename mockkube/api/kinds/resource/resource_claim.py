"""ResourceClaim and ResourceClaimTemplate: strategies, defaults and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, forbidden, invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.resource import admin_access
from mockkube.api.kinds.resource.device_allocations import (
    drop_deallocated_device_status,
    drop_disabled_status_fields,
    validate_claim_status,
)
from mockkube.api.kinds.resource.device_expressions import ExpressionCheck, accept_expression
from mockkube.api.kinds.resource.device_forms import CLAIM_SPEC
from mockkube.api.kinds.resource.device_requests import DeviceClaimValidator, drop_disabled_request_fields
from mockkube.api.printers.accessors import elements, is_deleting, name_of, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.default_printers import NAME_AND_AGE_PRINTER
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, Strategy, StrategyContext
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.api.validation.internal_form import METADATA_FIELDS, order_metadata, to_internal
from mockkube.api.validation.labels import validate_labels
from mockkube.api.validation.metadata import validate_annotations
from mockkube.api.validation.status_metadata import reset_metadata_for_status
from mockkube.features.capabilities import Capabilities


def default_resource_claim(claim: Object, caps: Capabilities) -> None:
    """Default the requests, and the tolerations of allocation results."""
    _default_requests(claim.get("spec", {}))
    _default_results(claim)


def default_resource_claim_template(template: Object, caps: Capabilities) -> None:
    """Default the requests of a claim template."""
    _default_requests(template.get("spec", {}).get("spec", {}))


def default_resource_claim_v1beta1(claim: Object, caps: Capabilities) -> None:
    """Default a v1beta1 claim, whose requests have no `exactly`."""
    _default_requests_v1beta1(claim.get("spec", {}))
    _default_results(claim)


def default_resource_claim_template_v1beta1(template: Object, caps: Capabilities) -> None:
    """Default the requests of a v1beta1 claim template."""
    _default_requests_v1beta1(template.get("spec", {}).get("spec", {}))


def _default_requests(spec: Object) -> None:
    for request in spec.get("devices", {}).get("requests") or ():
        if "exactly" in request:
            _default_request(request["exactly"])
        for alternative in request.get("firstAvailable") or ():
            _default_request(alternative)


def _default_requests_v1beta1(spec: Object) -> None:
    for request in spec.get("devices", {}).get("requests") or ():
        # In v1beta1 a request has either a device class of its own or alternatives; only the former has a mode and a
        # count.
        if request.get("deviceClassName"):
            _default_count(request)
        _default_tolerations(request)
        for alternative in request.get("firstAvailable") or ():
            _default_request(alternative)


def _default_results(claim: Object) -> None:
    allocation = claim.get("status", {}).get("allocation", {})
    for result in allocation.get("devices", {}).get("results") or ():
        _default_tolerations(result)


def _default_request(request: Object) -> None:
    _default_count(request)
    _default_tolerations(request)


def _default_count(request: Object) -> None:
    if request.setdefault("allocationMode", "ExactCount") == "ExactCount":
        request.setdefault("count", 1)


def _default_tolerations(holder: Object) -> None:
    for toleration in holder.get("tolerations") or ():
        toleration.setdefault("operator", "Equal")


_IMMUTABLE: Final = "field is immutable"


class ResourceClaimStrategy(StatusStrategy):
    """Strategy of ResourceClaim; its spec is immutable."""

    tracks_generation = False

    def __init__(
        self, check_expression: ExpressionCheck = accept_expression, extensions: ValidationExtensions = NO_EXTENSIONS
    ) -> None:
        self.check_expression = check_expression
        self.extensions = extensions

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status and drop fields of disabled gates."""
        super().prepare_for_create(obj, context)
        drop_disabled_request_fields(obj["spec"], None, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status; drop fields of disabled gates that are not in use."""
        super().prepare_for_update(new, old, context)
        if context.subresource != "status":
            drop_disabled_request_fields(new["spec"], old["spec"], context)

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec and metadata; drop the status of deallocated devices."""
        super().prepare_for_status_update(new, old, context)
        reset_metadata_for_status(new, old)
        drop_disabled_status_fields(new, old, context)
        drop_deallocated_device_status(new, old, context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the requested devices."""
        devices = obj["spec"].get("devices") or {}
        validator = DeviceClaimValidator(context, self.check_expression, self.extensions)
        errors = admin_access.authorize_requests(devices, obj["metadata"].get("namespace", ""), context)
        return errors + validator.validate(devices, "spec.devices")

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject a changed spec, or validate the status."""
        if context.subresource == "status":
            namespace = new["metadata"].get("namespace", "")
            errors = admin_access.authorize_allocation(
                new.get("status") or {}, old.get("status") or {}, namespace, context
            )
            return errors + validate_claim_status(new, old)
        if new["spec"] == old["spec"]:
            return []
        return [invalid("spec", to_internal(new["spec"], CLAIM_SPEC), _IMMUTABLE)]


class ResourceClaimTemplateStrategy(Strategy):
    """Strategy of ResourceClaimTemplate; its spec is immutable."""

    def __init__(
        self, check_expression: ExpressionCheck = accept_expression, extensions: ValidationExtensions = NO_EXTENSIONS
    ) -> None:
        self.check_expression = check_expression
        self.extensions = extensions

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Drop fields of disabled gates."""
        drop_disabled_request_fields(obj["spec"].get("spec") or {}, None, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Drop fields of disabled gates that are not in use."""
        drop_disabled_request_fields(new["spec"].get("spec") or {}, old["spec"].get("spec"), context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the metadata of claims and the requested devices."""
        devices = (obj["spec"].get("spec") or {}).get("devices") or {}
        errors = admin_access.authorize_requests(devices, obj["metadata"].get("namespace", ""), context)
        return errors + self._validate(obj["spec"], context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject changes."""
        spec = new["spec"]
        errors = self._validate(spec, context)
        if spec != old["spec"]:
            shown = order_metadata(spec.get("metadata") or {})
            shown["Spec"] = to_internal(spec.get("spec") or {}, CLAIM_SPEC)
            errors.append(invalid("spec", shown, _IMMUTABLE))
        return errors

    def _validate(self, spec: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        errors = _validate_metadata(spec.get("metadata") or {}, "spec.metadata")
        validator = DeviceClaimValidator(context, self.check_expression, self.extensions)
        return errors + validator.validate((spec.get("spec") or {}).get("devices") or {}, "spec.spec.devices")


def _validate_metadata(metadata: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_annotations(metadata.get("annotations") or {}, f"{at}.annotations")
    errors += validate_labels(metadata.get("labels") or {}, f"{at}.labels")
    not_allowed = [name for name in METADATA_FIELDS if name in metadata and name not in ("annotations", "labels")]
    # Upstream makes the path from Go's field name `UID` by lowering its first letter.
    return errors + [forbidden(f"{at}.{'uID' if name == 'uid' else name}", "cannot be set") for name in not_allowed]


def claim_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ResourceClaim."""
    return [name_of(obj), ",".join(_find_states(obj)), format_age(obj, now)]


def _find_states(obj: ReadOnlyObject) -> list[str]:
    states = ["deleted"] if is_deleting(obj) else []
    # A deleted claim without allocation shows only "deleted".
    if value_at(obj, "status", "allocation") is None:
        return states or ["pending"]
    reserved = ["reserved"] if elements(obj, "status", "reservedFor") else []
    return [*states, "allocated", *reserved]


RESOURCE_CLAIM = Printer(
    (NAME_COLUMN, text_column("State", "Whether devices are allocated and reserved."), AGE_COLUMN), claim_cells
)

RESOURCE_CLAIM_KIND: Final = Kind(
    "resource.k8s.io",
    "ResourceClaim",
    "resourceclaims",
    versions=("v1", "v1beta2", "v1beta1", "v1alpha3"),
    subresources=(STATUS,),
    strategy=lambda dependencies: ResourceClaimStrategy(dependencies.device_expression, dependencies.extensions),
    defaults={
        "v1": default_resource_claim,
        "v1beta2": default_resource_claim,
        "v1beta1": default_resource_claim_v1beta1,
        "v1alpha3": default_resource_claim_v1beta1,
    },
    printer=RESOURCE_CLAIM,
)
RESOURCE_CLAIM_TEMPLATE_KIND: Final = Kind(
    "resource.k8s.io",
    "ResourceClaimTemplate",
    "resourceclaimtemplates",
    versions=("v1", "v1beta2", "v1beta1", "v1alpha3"),
    strategy=lambda dependencies: ResourceClaimTemplateStrategy(
        dependencies.device_expression, dependencies.extensions
    ),
    defaults={
        "v1": default_resource_claim_template,
        "v1beta2": default_resource_claim_template,
        "v1beta1": default_resource_claim_template_v1beta1,
        "v1alpha3": default_resource_claim_template_v1beta1,
    },
    printer=NAME_AND_AGE_PRINTER,
)
