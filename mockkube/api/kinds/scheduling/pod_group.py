"""PodGroup and CompositePodGroup: strategy, defaults, validation, printer columns."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, invalid, required, too_many
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.scheduling.pod_group_spec import (
    CLAIMS_GATE,
    CLAIMS_MAX,
    drop_disabled_pod_group_fields,
    validate_exactly_one,
    validate_pod_group_spec,
    validate_pod_group_spec_update,
    validate_required_label,
    validate_unchanged,
    validate_unique_names,
)
from mockkube.api.kinds.scheduling.priority_class import PREEMPT_LOWER_PRIORITY
from mockkube.api.printers.accessors import name_of, sections, string, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.conditions import validate_conditions
from mockkube.api.validation.formats import validate_subdomain
from mockkube.api.validation.status_metadata import reset_metadata_for_status
from mockkube.features.capabilities import Capabilities


def default_pod_group_v1alpha2(group: Object, caps: Capabilities) -> None:
    """Default the disruption mode to Pod."""
    # upstream 1.36: pkg/apis/scheduling/v1alpha2/zz_generated.defaults.go
    group.setdefault("spec", {}).setdefault("disruptionMode", "Pod")


def default_pod_group(group: Object, caps: Capabilities) -> None:
    """Default the disruption mode to single, and the preemption policy."""
    # upstream 1.37: pkg/apis/scheduling/v1alpha3/defaults.go
    spec = group.setdefault("spec", {})
    spec.setdefault("disruptionMode", {"single": {}})
    if caps.enabled("PodGroupPreemptionPolicy"):
        spec.setdefault("preemptionPolicy", PREEMPT_LOWER_PRIORITY)


_CLAIM_FIELDS: Final = ("name", "resourceClaimName")


class PodGroupStrategy(StatusStrategy):
    """Strategy of PodGroup; its spec is immutable."""

    tracks_generation = False

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status and drop fields of disabled gates."""
        super().prepare_for_create(obj, context)
        drop_disabled_pod_group_fields(obj["spec"], {}, context, replacements={})

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status; drop fields of disabled gates that are not in use."""
        super().prepare_for_update(new, old, context)
        if context.subresource != "status":
            drop_disabled_pod_group_fields(new["spec"], old["spec"], context, replacements={})

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec and metadata; drop claim statuses if their gate is off."""
        super().prepare_for_status_update(new, old, context)
        reset_metadata_for_status(new, old)
        if not context.caps.enabled(CLAIMS_GATE) and not old["spec"].get("resourceClaims"):
            (new.get("status") or {}).pop("resourceClaimStatuses", None)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the template reference and the spec."""
        spec = obj["spec"]
        errors: list[FieldError] = []
        if spec.get("podGroupTemplateRef") is not None:
            errors += _validate_template_reference(spec["podGroupTemplateRef"], "spec.podGroupTemplateRef")
        return errors + validate_pod_group_spec(spec, "spec")

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject changes of the spec, or validate the status."""
        if context.subresource == "status":
            return _validate_status(new, old.get("status") or {})
        # Controllers and scheduler plan for a group as a whole, so its spec cannot change under them.
        errors = validate_unchanged(new["spec"], old["spec"], "podGroupTemplateRef", "spec")
        return errors + validate_pod_group_spec_update(new["spec"], old["spec"], "spec", context)


def _validate_template_reference(reference: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_exactly_one(reference, at, ("workload",))
    if (workload := reference.get("workload")) is not None:
        name, place = workload.get("workloadName"), f"{at}.workload.workloadName"
        errors += validate_subdomain(name, place) if name else [required(place)]
        errors += validate_required_label(workload, f"{at}.workload", "podGroupTemplateName")
    return errors


def _validate_status(group: ReadOnlyObject, old_status: ReadOnlyObject) -> list[FieldError]:
    status, at = group.get("status") or {}, "status.resourceClaimStatuses"
    known = {claim.get("name", "") for claim in group["spec"].get("resourceClaims") or []}
    claims = status.get("resourceClaimStatuses") or []
    errors = validate_conditions(status.get("conditions"), "status.conditions")
    # Upstream makes this check on every update, the following ones only if the list changed.
    for index, claim in enumerate(claims):
        if (name := claim.get("name", "")) not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{at}[{index}].name", name, text))
    before = old_status.get("resourceClaimStatuses") or []
    return errors + (_validate_claim_statuses(claims, before, at) if claims != before else [])


def _validate_claim_statuses(
    claims: Sequence[ReadOnlyObject], before: Sequence[ReadOnlyObject], at: str
) -> list[FieldError]:
    if len(claims) > CLAIMS_MAX:
        return [too_many(at, len(claims), CLAIMS_MAX)]
    errors = validate_unique_names(claims, at, _CLAIM_FIELDS)
    for index, claim in enumerate(claims):
        if claim.get("resourceClaimName") is not None and claim not in before:
            errors += validate_subdomain(claim["resourceClaimName"], f"{at}[{index}].resourceClaimName")
    return errors


def pod_group_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PodGroup."""
    is_gang = value_at(obj, "spec", "schedulingPolicy", "gang") is not None
    template = value_at(obj, "spec", "podGroupTemplateRef")
    workload = string(obj, "spec", "podGroupTemplateRef", "workload", "workloadName")
    return [
        name_of(obj),
        "Gang" if is_gang else "Basic",
        NONE if template is None else workload,
        _format_status(obj),
        format_age(obj, now),
    ]


def _format_status(obj: ReadOnlyObject) -> str:
    """Return the scheduling status, or the reason of a disruption."""
    conditions = {string(condition, "type"): condition for condition in sections(obj, "status", "conditions")}
    if disruption := conditions.get("DisruptionTarget"):
        return string(disruption, "reason")
    if scheduled := conditions.get("PodGroupScheduled"):
        return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"
    return "Pending"


POD_GROUP = Printer(
    (
        NAME_COLUMN,
        text_column("Policy", "Scheduling policy of the group."),
        text_column("Workload", "The workload of the group's template."),
        text_column("Status", "Scheduling status of the group."),
        AGE_COLUMN,
    ),
    pod_group_cells,
)

POD_GROUP_KIND: Final = Kind(
    "scheduling.k8s.io",
    "PodGroup",
    "podgroups",
    versions=("v1beta1", "v1alpha3", "v1alpha2"),
    gate="GenericWorkload",
    subresources=(STATUS,),
    strategy=lambda _: PodGroupStrategy(),
    defaults={"v1beta1": default_pod_group, "v1alpha3": default_pod_group, "v1alpha2": default_pod_group_v1alpha2},
    printer=POD_GROUP,
)
COMPOSITE_POD_GROUP_KIND: Final = Kind(
    "scheduling.k8s.io",
    "CompositePodGroup",
    "compositepodgroups",
    versions=("v1alpha3",),
    gate="CompositePodGroup",
    subresources=(STATUS,),
    defaults={"v1alpha3": default_pod_group},
)
