"""StatefulSet: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Any, Final

from mockkube.api import names
from mockkube.api.catalogue import SCALE, STATUS
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.apps.columns import READY_COLUMN, format_ready, template_container_cells
from mockkube.api.kinds.apps.pod_owners import (
    REVISION_HISTORY_LIMIT_DEFAULT,
    SELECTOR_MISMATCH,
    PodTemplateOwnerStrategy,
    TemplateValidator,
    changed_template_warnings,
    selector_matches_template,
    template_labels,
    template_warnings,
    validate_at_most,
    validate_collision_count,
    validate_required_selector,
    validate_restart_policy_always,
)
from mockkube.api.kinds.core.persistent_volume_claim import default_claim
from mockkube.api.kinds.core.persistent_volume_claim_validation import claim_validation_options, validate_claim_spec
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.api.kinds.core.pod.volumes.warnings import claim_spec_warnings
from mockkube.api.printers.accessors import name_of
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, WORKLOAD_COLUMNS, Cell, Printer
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.formats import validate_label
from mockkube.api.validation.internal_form import InternalShape, make_optional, order_selector, to_internal
from mockkube.api.validation.labels import validate_labels
from mockkube.api.validation.metadata import validate_annotations
from mockkube.api.validation.numbers import (
    get_int_or_percent_value,
    validate_at_most_100_percent,
    validate_int_or_percent,
    validate_nonnegative_fields,
)
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version


def default_stateful_set(stateful_set: Object, caps: Capabilities) -> None:
    """Default to one replica, ordered updates and retained claims."""
    spec = stateful_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", REVISION_HISTORY_LIMIT_DEFAULT)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    _default_update_strategy(spec.setdefault("updateStrategy", {}), caps)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    default_template(spec.setdefault("template", {}), caps)
    for claim in spec.get("volumeClaimTemplates", ()):
        # Clients compare whole objects with what they sent, in which claim templates usually have a kind.
        # upstream 1.36: pkg/apis/apps/v1/conversion.go
        claim.update(apiVersion="v1", kind="PersistentVolumeClaim")
        default_claim(claim, caps)


def _default_update_strategy(strategy: Object, caps: Capabilities) -> None:
    """Default to a rolling update; a type given without `rollingUpdate` gets none."""
    # Upstream defaults `rollingUpdate` only together with the type.
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
        if caps.enabled("MaxUnavailableStatefulSet"):
            strategy["rollingUpdate"].setdefault("maxUnavailable", 1)


# Before, pod templates of StatefulSets were not validated.
_TEMPLATE_VALIDATED_SINCE: Final = Version(1, 34)
_COUNTS: Final = (
    *("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    *("observedGeneration", "collisionCount"),
)
_BOUND_DETAIL: Final = "cannot be greater than status.replicas"
_BOUNDS: Final = (
    ("readyReplicas", "replicas", _BOUND_DETAIL),
    ("currentReplicas", "replicas", _BOUND_DETAIL),
    ("updatedReplicas", "replicas", _BOUND_DETAIL),
    ("availableReplicas", "replicas", _BOUND_DETAIL),
    ("availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas"),
)
_MUTABLE_FIELDS: Final = (
    *("replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit"),
    "persistentVolumeClaimRetentionPolicy",
)
_IMMUTABLE_DETAIL: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_ROLLING: Final[InternalShape] = (("Partition", "partition", 0), ("MaxUnavailable", "maxUnavailable", None))
_STRATEGY: Final[InternalShape] = (("Type", "type", ""), ("RollingUpdate", "rollingUpdate", make_optional(_ROLLING)))
_RETENTIONS: Final = ("Retain", "Delete")
_HISTORY_WARNING: Final = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


class StatefulSetStrategy(PodTemplateOwnerStrategy):
    """Strategy of StatefulSet; most of the spec is immutable."""

    def empty_status(self) -> Object:
        """Return the counts that a Go server writes even when they are zero."""
        return {"replicas": 0, "availableReplicas": 0}

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a DNS label, as pod names and hostnames derive from it."""
        return names.check_dns_label(name, prefix=prefix)

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status and drop fields of disabled gates."""
        super().prepare_for_create(obj, context)
        _drop_max_unavailable(obj, None, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status and drop fields of disabled gates."""
        # Fields are dropped before the generation is computed: a field that is not stored must not raise it.
        if context.subresource != "status":
            _drop_max_unavailable(new, old, context)
        super().prepare_for_update(new, old, context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field, with the specs of the claim templates."""
        spec = obj["spec"]
        errors = _validate_policies(spec)
        options = claim_validation_options(context.caps)
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or []):
            errors += validate_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec", options)
        errors += _validate_numbers(spec)
        # Checked on creation only: sets with an invalid name were stored before, and serviceName is immutable.
        if spec.get("serviceName"):
            errors += validate_label(spec["serviceName"], "spec.serviceName")
        return errors + _validate_selector_and_template(spec, None, self.template_validator(context))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate mutable fields and reject other changes, or validate the status counts."""
        if context.subresource == "status":
            status = new.get("status") or {}
            errors = validate_nonnegative_fields(status, "status", *_COUNTS) + validate_at_most(status, _BOUNDS)
            return errors + validate_collision_count(new, old)
        spec, before = new["spec"], old["spec"]
        errors = (
            _validate_policies(spec)
            + _validate_numbers(spec)
            + _validate_selector_and_template(spec, before, self.template_validator(context))
        )
        if _immutable_fields(spec) != _immutable_fields(before):
            errors.append(forbidden("spec", _IMMUTABLE_DETAIL))
        return errors

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the pod template, the claims and the revision history."""
        return template_warnings(obj, context) + _other_warnings(obj["spec"], "")

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about a changed pod template, the claims and the revision history."""
        if context.subresource == "status":
            return []
        return changed_template_warnings(new, old, context) + _other_warnings(new["spec"], ".Spec")


def _immutable_fields(spec: ReadOnlyObject) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name not in _MUTABLE_FIELDS}


def _other_warnings(spec: ReadOnlyObject, suffix: str) -> list[str]:
    warnings: list[str] = []
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or []):
        # An update names the claim's path with `.Spec`, a creation without it: two call sites of upstream differ.
        warnings += claim_spec_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}]{suffix}")
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        warnings.append(_HISTORY_WARNING)
    return warnings


def _rolling_update(obj: ReadOnlyObject) -> Object:
    return (obj["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}


def _drop_max_unavailable(new: Object, old: ReadOnlyObject | None, context: StrategyContext) -> None:
    used = old is not None and "maxUnavailable" in _rolling_update(old)
    if not used and not context.caps.enabled("MaxUnavailableStatefulSet"):
        _rolling_update(new).pop("maxUnavailable", None)


def _validate_policies(spec: ReadOnlyObject) -> list[FieldError]:
    policy, errors = spec.get("podManagementPolicy", ""), []
    if not policy:
        errors.append(required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        errors.append(invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    errors += _validate_strategy(spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        at = "spec.persistentVolumeClaimRetentionPolicy"
        given = ((name, retention.get(name, "")) for name in ("whenDeleted", "whenScaled"))
        errors += [
            not_supported(f"{at}.{name}", value, _RETENTIONS) for name, value in given if value not in _RETENTIONS
        ]
    return errors


def _validate_numbers(spec: ReadOnlyObject) -> list[FieldError]:
    errors = validate_nonnegative_fields(spec, "spec", "replicas", "minReadySeconds")
    return errors + validate_nonnegative_fields(spec.get("ordinals") or {}, "spec.ordinals", "start")


def _validate_strategy(strategy: ReadOnlyObject) -> list[FieldError]:
    rolling, at = strategy.get("rollingUpdate"), "spec.updateStrategy"
    match strategy.get("type", ""):
        case "":
            return [required(at)]
        case "OnDelete":
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            return [] if rolling is None else [invalid(f"{at}.rollingUpdate", to_internal(rolling, _ROLLING), detail)]
        case "RollingUpdate":
            return [] if rolling is None else _validate_rolling(rolling, f"{at}.rollingUpdate")
        case _:
            return [invalid(at, to_internal(strategy, _STRATEGY), "must be 'RollingUpdate' or 'OnDelete'")]


def _validate_rolling(rolling: ReadOnlyObject, at: str) -> list[FieldError]:
    errors, missing = validate_nonnegative_fields(rolling, at, "partition"), rolling.get("maxUnavailable")
    if missing is None:
        return errors
    at = f"{at}.maxUnavailable"
    errors += validate_int_or_percent(missing, at)
    if not get_int_or_percent_value(missing):
        errors.append(invalid(at, missing, "cannot be 0"))
    return errors + validate_at_most_100_percent(missing, at)


def _validate_selector_and_template(
    spec: ReadOnlyObject, before: ReadOnlyObject | None, validator: TemplateValidator
) -> list[FieldError]:
    template, at = spec.get("template") or {}, "spec.template"
    errors = validate_required_selector(spec.get("selector"), "spec.selector", "statefulset")
    fit = selector_matches_template(spec.get("selector"), template)
    if fit is None:
        errors.append(invalid("spec.selector", order_selector(spec.get("selector")), ""))
        return errors + validate_restart_policy_always(template, at, "StatefulSet")
    if not fit:
        errors.append(invalid(f"{at}.metadata.labels", template_labels(template), SELECTOR_MISMATCH))
    validates = validator.context.caps.version >= _TEMPLATE_VALIDATED_SINCE
    if validates and (before is None or not _is_stored_invalid(before, validator)):
        old = _template_with_claims(before) if before is not None else None
        errors += validator.validate(_template_with_claims(spec), old, at)
    metadata = template.get("metadata") or {}
    errors += validate_labels(metadata.get("labels") or {}, f"{at}.labels")
    errors += validate_annotations(metadata.get("annotations") or {}, f"{at}.annotations")
    return errors + validate_restart_policy_always(template, at, "StatefulSet")


def _is_stored_invalid(before: ReadOnlyObject, validator: TemplateValidator) -> bool:
    """Return whether the stored set is invalid itself, so that the new one may stay so."""
    if (
        _validate_policies(before)
        or _validate_numbers(before)
        or not selector_matches_template(before.get("selector"), before["template"])
    ):
        return True
    return bool(validator.validate(_template_with_claims(before), None, "spec.template"))


def _template_with_claims(spec: ReadOnlyObject) -> ReadOnlyObject:
    """Return the template with volumes for its claims, without hostname and subdomain."""
    template, claims = spec.get("template") or {}, spec.get("volumeClaimTemplates") or []
    pod = template.get("spec") or {}
    if not claims and "subdomain" not in pod and "hostname" not in pod:
        return template
    claim_names = {(claim.get("metadata") or {}).get("name", "") for claim in claims}
    # Mounts may refer to claims of volumeClaimTemplates: as volumes of the pod they pass the validation of mounts. They
    # replace volumes of the same name, as the controller does.
    volumes: list[Object] = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(claim_names)
    ]
    volumes += [volume for volume in pod.get("volumes") or [] if volume.get("name") not in claim_names]
    # The controller sets hostname and subdomain of each pod itself; upstream validates the template without them.
    pod_fields = {name: value for name, value in pod.items() if name not in ("subdomain", "hostname", "volumes")}
    return {**template, "spec": {**pod_fields, "volumes": volumes} if volumes else pod_fields}


def stateful_set_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a StatefulSet."""
    return [name_of(obj), format_ready(obj), format_age(obj, now), *template_container_cells(obj)]


STATEFUL_SET = Printer((NAME_COLUMN, READY_COLUMN, AGE_COLUMN, *WORKLOAD_COLUMNS), stateful_set_cells)

KIND: Final = Kind(
    "apps",
    "StatefulSet",
    "statefulsets",
    short_names=("sts",),
    categories=("all",),
    subresources=(SCALE, STATUS),
    pod_spec=("spec", "template", "spec"),
    strategy=lambda dependencies: StatefulSetStrategy(dependencies.extensions),
    defaults={"v1": default_stateful_set},
    printer=STATEFUL_SET,
)
