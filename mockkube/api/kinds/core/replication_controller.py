"""ReplicationController: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import SCALE, STATUS
from mockkube.api.fields import FieldError, invalid, not_found, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.apps.columns import REPLICA_COLUMNS, replica_cells
from mockkube.api.kinds.apps.pod_owners import (
    SELECTOR_MISMATCH,
    PodTemplateOwnerStrategy,
    TemplateValidator,
    name_warnings,
    template_labels,
    template_warnings,
    validate_at_most,
    validate_restart_policy_always,
)
from mockkube.api.kinds.apps.replica_set import STATUS_BOUNDS, STATUS_COUNTS
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.api.printers.accessors import section
from mockkube.api.printers.labels import format_labels
from mockkube.api.printers.table import Cell, Printer
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.formats import sort_labels
from mockkube.api.validation.numbers import validate_nonnegative_fields
from mockkube.features.capabilities import Capabilities


def default_replication_controller(controller: Object, caps: Capabilities) -> None:
    """Default to one replica, and selector and labels to the template's labels."""
    spec = controller.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is None:
        return
    labels = template.get("metadata", {}).get("labels")
    if labels:
        # Copies, so that a later change of the template's labels leaves selector and labels alone.
        spec.setdefault("selector", dict(labels))
        controller["metadata"].setdefault("labels", dict(labels))
    default_template(template, caps)


_NON_CONVERTIBLE_DOMAIN = "non-convertible.kubernetes.io"


class ReplicationControllerStrategy(PodTemplateOwnerStrategy):
    """Strategy of ReplicationController; its selector is a plain map."""

    selectable_field_names = ("status.replicas",)

    def selectable_fields(self, obj: ReadOnlyObject) -> dict[str, str]:
        """Return the number of replicas."""
        return {"status.replicas": str((obj.get("status") or {}).get("replicas", 0))}

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a DNS subdomain; the message counts bytes."""
        return names.check_dns_subdomain(name, prefix=prefix, unit="bytes")

    def empty_status(self) -> Object:
        """Return the counts that a Go server writes even when they are zero."""
        return {"replicas": 0}

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field."""
        return _validate_spec(obj["spec"], None, self.template_validator(context))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field, or the counts of the status."""
        if context.subresource == "status":
            status = new.get("status") or {}
            return validate_nonnegative_fields(status, "status", *STATUS_COUNTS) + validate_at_most(
                status, STATUS_BOUNDS
            )
        return _validate_spec(new["spec"], old["spec"], self.template_validator(context)) + _validate_conversion(
            new, old
        )

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about name and template."""
        return name_warnings(obj) + template_warnings(obj, context)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the pod template."""
        if context.subresource == "status" or new["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        # Upstream passes the old template here, so an update warns about what it replaces.
        return template_warnings(old, context)


def _validate_spec(
    spec: ReadOnlyObject, before: ReadOnlyObject | None, validator: TemplateValidator
) -> list[FieldError]:
    selector, template = spec.get("selector") or {}, spec.get("template")
    errors = validate_nonnegative_fields(spec, "spec", "minReadySeconds")
    if not selector:
        errors.append(required("spec.selector"))
    errors += (
        validate_nonnegative_fields(spec, "spec", "replicas")
        if spec.get("replicas") is not None
        else [required("spec.replicas")]
    )
    at = "spec.template"
    if template is None:
        return [*errors, required(at)]
    labels = template_labels(template)
    if not selector.items() <= (labels or {}).items():
        errors.append(invalid(f"{at}.metadata.labels", labels, SELECTOR_MISMATCH))
    errors += validator.validate(template, before and before.get("template"), at)
    return errors + validate_restart_policy_always(template, at, "ReplicationController")


def _validate_conversion(new: ReadOnlyObject, old: ReadOnlyObject) -> list[FieldError]:
    errors = []
    # These annotations mark controllers that were converted from a ReplicaSet and lost part of its selector.
    for key, value in (old["metadata"].get("annotations") or {}).items():
        domain, _, field = key.partition("/")
        if not domain.startswith(_NON_CONVERTIBLE_DOMAIN) or not field or "/" in field:
            continue
        if "selector" not in field:
            errors.append(not_found(field, value, "unknown non-convertible field"))
        elif new["spec"].get("selector") != old["spec"].get("selector"):
            selector = sort_labels(new["spec"].get("selector"))
            errors.append(invalid("spec.selector", selector, "cannot update non-convertible selector"))
    return errors


def replication_controller_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ReplicationController, whose selector is a plain map."""
    return replica_cells(obj, now, format_labels(section(obj, "spec", "selector")))


REPLICATION_CONTROLLER = Printer(REPLICA_COLUMNS, replication_controller_cells)

KIND: Final = Kind(
    "",
    "ReplicationController",
    "replicationcontrollers",
    short_names=("rc",),
    categories=("all",),
    subresources=(SCALE, STATUS),
    pod_spec=("spec", "template", "spec"),
    strategy=lambda dependencies: ReplicationControllerStrategy(dependencies.extensions),
    defaults={"v1": default_replication_controller},
    printer=REPLICATION_CONTROLLER,
)
