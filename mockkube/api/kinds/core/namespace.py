"""Namespace: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS, Subresource
from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.formats import validate_format
from mockkube.api.validation.metadata import STANDARD_FINALIZERS
from mockkube.features.capabilities import Capabilities


# upstream 1.36: pkg/apis/core/v1/defaults.go
def default_namespace(namespace: Object, caps: Capabilities) -> None:
    """Label the namespace with its name, and set phase Active."""
    metadata = namespace["metadata"]
    # With generateName the name is not known yet; `canonicalize` sets the label then.
    if metadata.get("name"):
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata["name"]
    namespace.setdefault("status", {}).setdefault("phase", "Active")


KUBERNETES_FINALIZER: Final = "kubernetes"
NAME_LABEL: Final = "kubernetes.io/metadata.name"


class NamespaceStrategy(StatusStrategy):
    """Strategy of Namespace: adds the `kubernetes` finalizer and serves `finalize`."""

    tracks_generation = False
    selectable_field_names = ("status.phase",)

    def selectable_fields(self, obj: ReadOnlyObject) -> dict[str, str]:
        """Return the phase."""
        return {"status.phase": (obj.get("status") or {}).get("phase", "")}

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a DNS label."""
        return names.check_dns_label(name, prefix=prefix)

    def empty_status(self) -> Object:
        """Return the status of a new namespace: active."""
        return {"phase": "Active"}

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Set phase Active and add the finalizer of the namespace controller."""
        super().prepare_for_create(obj, context)
        spec = obj.setdefault("spec", {})
        if KUBERNETES_FINALIZER not in (spec.get("finalizers") or []):
            spec["finalizers"] = [*(spec.get("finalizers") or []), KUBERNETES_FINALIZER]

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep finalizers except on `finalize`, and the status except on `status`."""
        if context.subresource == "status":
            self.prepare_for_status_update(new, old, context)
            return
        new["status"] = old.get("status", {})
        if context.subresource != "finalize":
            _restore_finalizers(new, old)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the finalizers."""
        errors: list[FieldError] = []
        for finalizer in (obj.get("spec") or {}).get("finalizers") or []:
            if finalizer != KUBERNETES_FINALIZER:
                errors += _validate_finalizer(finalizer, "spec.finalizers")
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the finalizers or the phase."""
        match context.subresource:
            case "status":
                return _validate_phase(new)
            case "finalize":
                finalizers = (new.get("spec") or {}).get("finalizers") or []
                return [
                    error
                    for index, finalizer in enumerate(finalizers)
                    for error in _validate_finalizer(finalizer, f"spec.finalizers[{index}]")
                ]
            case _:
                return self.validate(new, context)

    def canonicalize(self, obj: Object) -> None:
        """Set the label with the namespace's name."""
        metadata = obj["metadata"]
        # Network policies select namespaces by this label, so no client may remove or change it.
        if (metadata.get("labels") or {}).get(NAME_LABEL) != metadata["name"]:
            metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: metadata["name"]}


def _restore_finalizers(new: Object, old: ReadOnlyObject) -> None:
    finalizers = (old.get("spec") or {}).get("finalizers")
    spec = dict(new.get("spec") or {})
    spec.pop("finalizers", None)
    new["spec"] = {**spec, "finalizers": finalizers} if finalizers else spec


def _validate_finalizer(name: str, at: str) -> list[FieldError]:
    errors = validate_format(name, at, names.check_qualified_name)
    if "/" not in name and name not in STANDARD_FINALIZERS:
        errors.append(invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified"))
    return errors


def _validate_phase(new: ReadOnlyObject) -> list[FieldError]:
    phase = (new.get("status") or {}).get("phase", "")
    if not new["metadata"].get("deletionTimestamp"):
        if phase != "Active":
            # The capital in `status.Phase` is upstream's.
            return [invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")]
    elif phase != "Terminating":
        return [invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")]
    return []


def namespace_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Namespace."""
    return [name_of(obj), string(obj, "status", "phase"), format_age(obj, now)]


NAMESPACE = Printer((NAME_COLUMN, text_column("Status", "Phase of the namespace."), AGE_COLUMN), namespace_cells)

KIND: Final = Kind(
    "",
    "Namespace",
    "namespaces",
    namespaced=False,
    short_names=("ns",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    subresources=(Subresource("finalize", "Namespace", ("update",)), STATUS),
    strategy=lambda _: NamespaceStrategy(),
    defaults={"v1": default_namespace},
    printer=NAMESPACE,
)
