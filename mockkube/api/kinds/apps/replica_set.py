"""ReplicaSet: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import SCALE, STATUS
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.apps.columns import REPLICA_COLUMNS, replica_cells
from mockkube.api.kinds.apps.deployment import drop_terminating_replicas, validate_selector_unchanged
from mockkube.api.kinds.apps.pod_owners import (
    PodTemplateOwnerStrategy,
    TemplateValidator,
    changed_template_warnings,
    name_warnings,
    template_warnings,
    validate_at_most,
    validate_replica_set_template,
    validate_required_selector,
)
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.api.printers.accessors import section
from mockkube.api.printers.labels import format_selector
from mockkube.api.printers.table import Cell, Printer
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.numbers import validate_nonnegative_fields
from mockkube.features.capabilities import Capabilities


def default_replica_set(replica_set: Object, caps: Capabilities) -> None:
    """Default to one replica."""
    spec = replica_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.setdefault("template", {}), caps)


STATUS_COUNTS: Final = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
_BOUND: Final = "cannot be greater than status.replicas"
STATUS_BOUNDS: Final = (
    ("fullyLabeledReplicas", "replicas", _BOUND),
    ("readyReplicas", "replicas", _BOUND),
    ("availableReplicas", "replicas", _BOUND),
    ("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"),
)


class ReplicaSetStrategy(PodTemplateOwnerStrategy):
    """Strategy of ReplicaSet."""

    def empty_status(self) -> Object:
        """Return the counts that a Go server writes even when they are zero."""
        return {"replicas": 0}

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec; drop terminatingReplicas if its gate is off."""
        super().prepare_for_status_update(new, old, context)
        drop_terminating_replicas(new, old, context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field."""
        return _validate_spec(obj["spec"], None, self.template_validator(context))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec and that the selector is unchanged, or the counts of the status."""
        if context.subresource == "status":
            status = new.get("status") or {}
            return validate_nonnegative_fields(
                status, "status", *STATUS_COUNTS, "terminatingReplicas"
            ) + validate_at_most(status, STATUS_BOUNDS)
        return _validate_spec(new["spec"], old["spec"], self.template_validator(context)) + validate_selector_unchanged(
            new, old
        )

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about name and template."""
        return name_warnings(obj) + template_warnings(obj, context)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the pod template."""
        return [] if context.subresource == "status" else changed_template_warnings(new, old, context)


def _validate_spec(
    spec: ReadOnlyObject, before: ReadOnlyObject | None, validator: TemplateValidator
) -> list[FieldError]:
    errors = validate_nonnegative_fields(spec, "spec", "replicas", "minReadySeconds")
    # upstream 1.36 names a deployment in this message of ReplicaSets, too.
    errors += validate_required_selector(spec.get("selector"), "spec.selector", "deployment")
    return errors + validate_replica_set_template(spec, before, validator)


def replica_set_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ReplicaSet."""
    return replica_cells(obj, now, format_selector(section(obj, "spec", "selector")))


REPLICA_SET = Printer(REPLICA_COLUMNS, replica_set_cells)

KIND: Final = Kind(
    "apps",
    "ReplicaSet",
    "replicasets",
    short_names=("rs",),
    categories=("all",),
    subresources=(SCALE, STATUS),
    pod_spec=("spec", "template", "spec"),
    strategy=lambda dependencies: ReplicaSetStrategy(dependencies.extensions),
    defaults={"v1": default_replica_set},
    printer=REPLICA_SET,
)
