"""RuntimeClass: strategy, validation and printer columns."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.pod.containers.resources import validate_container_resources
from mockkube.api.kinds.core.pod.tolerations import validate_tolerations
from mockkube.api.printers.accessors import name_of, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.api.validation.formats import validate_format, validate_immutable_field
from mockkube.api.validation.internal_form import InternalShape, to_internal
from mockkube.api.validation.labels import validate_labels
from mockkube.api.validation.node_selector import get_label_deprecation

_TOLERATION: Final[InternalShape] = (
    ("Key", "key", ""),
    ("Operator", "operator", ""),
    ("Value", "value", ""),
    ("Effect", "effect", ""),
    ("TolerationSeconds", "tolerationSeconds", None),
)


class RuntimeClassStrategy(Strategy):
    """Strategy of RuntimeClass; its handler is immutable."""

    requires_qualified_finalizers = False
    allow_create_on_update = True
    allow_unconditional_update = False

    def __init__(self, extensions: ValidationExtensions = NO_EXTENSIONS) -> None:
        # Upstream validates these tolerations without options, so operators that proposals add are rejected whatever
        # the gates are.
        self._extensions = replace(extensions, toleration_fields={})

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate handler, overhead and scheduling."""
        handler = obj.get("handler", "")
        errors = validate_format(handler, "handler", names.check_dns_label) if handler else [required("handler")]
        if obj.get("overhead") is not None:
            limits = {"limits": obj["overhead"].get("podFixed") or {}}
            errors += validate_container_resources(limits, "overhead", ())
        if obj.get("scheduling") is not None:
            errors += _validate_scheduling(obj["scheduling"], self._extensions)
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject another handler."""
        return self.validate(new, context) + validate_immutable_field(new, old, "handler")

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about deprecated node labels."""
        warnings = (get_label_deprecation(label) for label in (obj.get("scheduling") or {}).get("nodeSelector") or {})
        return [f"scheduling.nodeSelector: {message}" for message in warnings if message]

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation."""
        return self.warnings_on_create(new, context)


def _validate_scheduling(scheduling: ReadOnlyObject, extensions: ValidationExtensions) -> list[FieldError]:
    at = "scheduling.tolerations"
    errors = validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    tolerations = scheduling.get("tolerations") or []
    errors += validate_tolerations(tolerations, at, extensions=extensions, allowed=frozenset())
    seen: set[tuple[str, ...]] = set()
    for index, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name, "") for name in ("key", "operator", "value", "effect"))
        if key in seen:
            errors.append(duplicate(f"{at}[{index}]", to_internal(toleration, _TOLERATION)))
        seen.add(key)
    return errors


def runtime_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a RuntimeClass."""
    return [name_of(obj), string(obj, "handler"), format_age(obj, now)]


RUNTIME_CLASS = Printer(
    (NAME_COLUMN, text_column("Handler", "The handler in the configuration of the container runtime."), AGE_COLUMN),
    runtime_class_cells,
)

KIND: Final = Kind(
    "node.k8s.io",
    "RuntimeClass",
    "runtimeclasses",
    namespaced=False,
    strategy=lambda dependencies: RuntimeClassStrategy(dependencies.extensions),
    printer=RUNTIME_CLASS,
)
