"""StorageClass and VolumeAttributesClass: strategies, defaults, validation, printer columns."""

from collections import Counter
from datetime import datetime
from itertools import repeat
from typing import Final

from mockkube.api.fields import (
    FieldError,
    duplicate,
    find_duplicate_indexes,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, string, truth, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import sort_labels, validate_immutable_field, validate_qualified_name
from mockkube.api.validation.node_selector import get_label_deprecation
from mockkube.features.capabilities import Capabilities


def default_storage_class(storage_class: Object, caps: Capabilities) -> None:
    """Default to immediate binding and the reclaim policy Delete."""
    # upstream 1.36: pkg/apis/storage/v1/defaults.go
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


# Bound on errors about equal terms, whose pairs are quadratic in the number of terms.
_DUPLICATE_TERM_ERRORS_MAX: Final = 10_000
PARAMETERS_MAX: Final = 512
PARAMETERS_BYTES_MAX: Final = 256 * 1024
_RECLAIM_POLICIES: Final = ("Delete", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")


class StorageClassStrategy(Strategy):
    """Strategy of StorageClass; only metadata, expansion and topologies may change."""

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field."""
        errors = _validate_driver_name(obj.get("provisioner", ""), "provisioner")
        errors += _validate_parameters(obj.get("parameters") or {}, is_required=False)
        if obj.get("reclaimPolicy") and obj["reclaimPolicy"] not in _RECLAIM_POLICIES:
            errors.append(not_supported("reclaimPolicy", obj["reclaimPolicy"], _RECLAIM_POLICIES))
        mode = obj.get("volumeBindingMode")
        if mode is None:
            errors.append(required("volumeBindingMode"))
        elif mode not in _BINDING_MODES:
            errors.append(not_supported("volumeBindingMode", mode, _BINDING_MODES))
        return errors + _validate_topologies(obj.get("allowedTopologies") or [])

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject changes of immutable fields."""
        errors = self.validate(new, context)
        if new.get("parameters") != old.get("parameters"):
            errors.append(invalid("parameters", sort_labels(new.get("parameters")), "field is immutable"))
        for name in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
            errors += validate_immutable_field(new, old, name)
        return errors

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about deprecated node labels."""
        return [
            f"allowedTopologies[{i}].matchLabelExpressions[{j}].key: {message}"
            for i, term in enumerate(obj.get("allowedTopologies") or [])
            for j, expression in enumerate(term.get("matchLabelExpressions") or [])
            if (message := get_label_deprecation(expression.get("key", "")))
        ]

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation."""
        return self.warnings_on_create(new, context)


class VolumeAttributesClassStrategy(Strategy):
    """Strategy of VolumeAttributesClass; driver and parameters are immutable."""

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate driver and parameters."""
        errors = _validate_driver_name(obj.get("driverName", ""), "driverName")
        return errors + _validate_parameters(obj.get("parameters") or {}, is_required=True)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject changes, and validate as on creation."""
        changed = [name for name in ("driverName", "parameters") if new.get(name) != old.get(name)]
        errors = [forbidden(name, f"updates to {name} are forbidden.") for name in changed]
        return errors + self.validate(new, context)


def _validate_driver_name(name: str, at: str) -> list[FieldError]:
    if not name:
        return [required(at)]
    # Capitals are tolerated in driver names, which qualified names must not have in their domain.
    return validate_qualified_name(name.lower(), at)


def _validate_parameters(parameters: ReadOnlyObject, *, is_required: bool) -> list[FieldError]:
    if len(parameters) > PARAMETERS_MAX:
        return [too_long("parameters", PARAMETERS_MAX)]
    errors = [invalid("parameters", "", "field can not be empty.")] if "" in parameters else []
    if sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items()) > PARAMETERS_BYTES_MAX:
        errors.append(too_long("parameters", PARAMETERS_BYTES_MAX))
    if is_required and not parameters:
        errors.append(required("parameters", "must contain at least one key/value pair"))
    return errors


def _validate_topologies(terms: list[ReadOnlyObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    # Upstream fills a slice of as many empty terms as there are terms and appends each parsed term to it, so an empty
    # term is reported once for each of those, too. Equal terms are counted here instead of being compared pair by pair.
    seen = Counter[frozenset[tuple[str, frozenset[str]]]]({frozenset(): len(terms)})
    for index, term in enumerate(terms):
        at = f"allowedTopologies[{index}].matchLabelExpressions"
        parsed: dict[str, frozenset[str]] = {}
        for j, expression in enumerate(term.get("matchLabelExpressions") or []):
            errors += _validate_expression(expression, f"{at}[{j}]")
            key = expression.get("key", "")
            if key in parsed:
                errors.append(duplicate(f"{at}[{j}].key", key))
            parsed[key] = frozenset(expression.get("values") or [])
        form = frozenset(parsed.items())
        errors += repeat(duplicate(at, ""), min(seen[form], _DUPLICATE_TERM_ERRORS_MAX - len(errors)))
        seen[form] += 1
    return errors


def _validate_expression(expression: ReadOnlyObject, at: str) -> list[FieldError]:
    values = expression.get("values") or []
    errors = [] if values else [required(f"{at}.values")]
    errors += [duplicate(f"{at}.values[{index}]", values[index]) for index in sorted(find_duplicate_indexes(values))]
    return errors + validate_qualified_name(expression.get("key", ""), f"{at}.key")


DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def storage_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a StorageClass."""
    is_default = any(value_at(obj, "metadata", "annotations", key) == "true" for key in DEFAULT_CLASS_ANNOTATIONS)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        string(obj, "provisioner"),
        string(obj, "reclaimPolicy", missing="Delete"),
        string(obj, "volumeBindingMode", missing="Immediate"),
        truth(obj, "allowVolumeExpansion"),
        format_age(obj, now),
    ]


def volume_attributes_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a VolumeAttributesClass."""
    return [name_of(obj), string(obj, "driverName"), format_age(obj, now)]


STORAGE_CLASS = Printer(
    (
        NAME_COLUMN,
        text_column("Provisioner", "The provisioner of volumes."),
        text_column("ReclaimPolicy", "What happens to a volume when its claim is deleted."),
        text_column("VolumeBindingMode", "When a claim gets its volume."),
        text_column("AllowVolumeExpansion", "Whether claims may grow."),
        AGE_COLUMN,
    ),
    storage_class_cells,
)
VOLUME_ATTRIBUTES_CLASS = Printer(
    (NAME_COLUMN, text_column("DriverName", "The CSI driver of the class."), AGE_COLUMN), volume_attributes_class_cells
)

STORAGE_CLASS_KIND: Final = Kind(
    "storage.k8s.io",
    "StorageClass",
    "storageclasses",
    namespaced=False,
    short_names=("sc",),
    strategy=lambda _: StorageClassStrategy(),
    defaults={"v1": default_storage_class},
    printer=STORAGE_CLASS,
)
VOLUME_ATTRIBUTES_CLASS_KIND: Final = Kind(
    "storage.k8s.io",
    "VolumeAttributesClass",
    "volumeattributesclasses",
    namespaced=False,
    short_names=("vac",),
    versions=("v1", "v1beta1", "v1alpha1"),
    strategy=lambda _: VolumeAttributesClassStrategy(),
    printer=VOLUME_ATTRIBUTES_CLASS,
)
