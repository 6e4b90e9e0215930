"""ResourceClaim and its template: devices asked for once, and what was allocated."""

from typing import Final

from mockkube.api.fields import FieldError, forbidden, invalid
from mockkube.api.kinds.internal_form import internal
from mockkube.api.kinds.resource import admin_access
from mockkube.api.kinds.resource.device_allocations import (
    drop_deallocated,
    drop_disabled_status_fields,
    validate_claim_status,
)
from mockkube.api.kinds.resource.device_expressions import ExpressionCheck, accept
from mockkube.api.kinds.resource.device_forms import CLAIM_SPEC
from mockkube.api.kinds.resource.device_requests import DeviceClaimRules, drop_disabled_request_fields
from mockkube.api.strategy import Judge, StatusStrategy, Strategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.extensions import NO_EXTENSIONS, Extensions
from mockkube.api.validation.internal_form import METADATA_FIELDS, metadata_form
from mockkube.api.validation.labels import validate_labels
from mockkube.api.validation.metadata import validate_annotations
from mockkube.api.validation.status_metadata import restore_metadata

_IMMUTABLE: Final = "field is immutable"


class ResourceClaimStrategy(StatusStrategy):
    """A wish that never changes, and its fulfilment."""

    tracks_generation = False

    def __init__(self, check_expression: ExpressionCheck = accept, extensions: Extensions = NO_EXTENSIONS) -> None:
        self.check_expression = check_expression
        self.extensions = extensions

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Start without a status; drop what is switched off."""
        super().prepare_create(obj, judge)
        drop_disabled_request_fields(obj["spec"], None, judge)

    def prepare_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep the status; drop what is switched off and not in use."""
        super().prepare_update(new, old, judge)
        if judge.subresource != "status":
            drop_disabled_request_fields(new["spec"], old["spec"], judge)

    def prepare_status(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep spec and metadata; devices given back lose their status."""
        super().prepare_status(new, old, judge)
        restore_metadata(new, old)
        drop_disabled_status_fields(new, old, judge)
        drop_deallocated(new, old, judge)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge what is asked for."""
        devices = obj["spec"].get("devices") or {}
        rules = DeviceClaimRules(judge, self.check_expression, self.extensions)
        errors = admin_access.judge_requests(devices, obj["metadata"].get("namespace", ""), judge)
        return errors + rules.validate(devices, "spec.devices")

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Refuse another wish; judge the fulfilment."""
        if judge.subresource == "status":
            namespace = new["metadata"].get("namespace", "")
            errors = admin_access.judge_results(new.get("status") or {}, old.get("status") or {}, namespace, judge)
            return errors + validate_claim_status(new, old)
        if new["spec"] == old["spec"]:
            return []
        return [invalid("spec", internal(new["spec"], CLAIM_SPEC), _IMMUTABLE)]


class ResourceClaimTemplateStrategy(Strategy):
    """What claims are made from; it never changes."""

    def __init__(self, check_expression: ExpressionCheck = accept, extensions: Extensions = NO_EXTENSIONS) -> None:
        self.check_expression = check_expression
        self.extensions = extensions

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Drop what is switched off."""
        drop_disabled_request_fields(obj["spec"].get("spec") or {}, None, judge)

    def prepare_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Drop what is switched off and not in use."""
        drop_disabled_request_fields(new["spec"].get("spec") or {}, old["spec"].get("spec"), judge)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge the metadata claims will have, and what they ask for."""
        devices = (obj["spec"].get("spec") or {}).get("devices") or {}
        errors = admin_access.judge_requests(devices, obj["metadata"].get("namespace", ""), judge)
        return errors + self._validate(obj["spec"], judge)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge as on creation, and refuse changes."""
        spec = new["spec"]
        errors = self._validate(spec, judge)
        if spec != old["spec"]:
            shown = metadata_form(spec.get("metadata") or {})
            shown["Spec"] = internal(spec.get("spec") or {}, CLAIM_SPEC)
            errors.append(invalid("spec", shown, _IMMUTABLE))
        return errors

    def _validate(self, spec: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        errors = _validate_metadata(spec.get("metadata") or {}, "spec.metadata")
        rules = DeviceClaimRules(judge, self.check_expression, self.extensions)
        return errors + rules.validate((spec.get("spec") or {}).get("devices") or {}, "spec.spec.devices")


def _validate_metadata(metadata: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_annotations(metadata.get("annotations") or {}, f"{at}.annotations")
    errors += validate_labels(metadata.get("labels") or {}, f"{at}.labels")
    refused = [name for name in METADATA_FIELDS if name in metadata and name not in ("annotations", "labels")]
    return errors + [forbidden(f"{at}.{'uID' if name == 'uid' else name}", "cannot be set") for name in refused]
