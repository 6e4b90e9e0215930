"""RuntimeClass: strategy, validation and printer columns."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, required
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.pod.containers.resources import validate_container_resources
from mockkube.api.kinds.core.pod.tolerations import validate_tolerations
from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import name_of, string
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, text_column
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.extensions import NO_EXTENSIONS, Extensions
from mockkube.api.validation.formats import immutable, validate_format
from mockkube.api.validation.internal_form import Shape, internal
from mockkube.api.validation.labels import validate_labels
from mockkube.api.validation.node_labels import deprecation

_TOLERATION: Final[Shape] = (
    ("Key", "key", ""),
    ("Operator", "operator", ""),
    ("Value", "value", ""),
    ("Effect", "effect", ""),
    ("TolerationSeconds", "tolerationSeconds", None),
)


class RuntimeClassStrategy(Strategy):
    """Strategy of RuntimeClass; its handler is immutable."""

    native = False
    allow_create_on_update = True
    allow_unconditional_update = False

    def __init__(self, extensions: Extensions = NO_EXTENSIONS) -> None:
        # Upstream validates these tolerations without options, so operators that proposals add are rejected whatever
        # the gates are.
        self._extensions = replace(extensions, toleration_fields={})

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Validate handler, overhead and scheduling."""
        handler = obj.get("handler", "")
        errors = validate_format(handler, "handler", names.check_dns_label) if handler else [required("handler")]
        if obj.get("overhead") is not None:
            limits = {"limits": obj["overhead"].get("podFixed") or {}}
            errors += validate_container_resources(limits, "overhead", ())
        if obj.get("scheduling") is not None:
            errors += _validate_scheduling(obj["scheduling"], self._extensions)
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Validate as on creation, and reject another handler."""
        return self.validate_create(new, judge) + immutable(new, old, "handler")

    def warnings_on_create(self, obj: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn about deprecated node labels."""
        warnings = (deprecation(label) for label in (obj.get("scheduling") or {}).get("nodeSelector") or {})
        return [f"scheduling.nodeSelector: {message}" for message in warnings if message]

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn as on creation."""
        return self.warnings_on_create(new, judge)


def _validate_scheduling(scheduling: ReadOnlyObject, extensions: Extensions) -> list[FieldError]:
    at = "scheduling.tolerations"
    errors = validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    tolerations = scheduling.get("tolerations") or []
    errors += validate_tolerations(tolerations, at, extensions=extensions, allowed=frozenset())
    seen: set[tuple[str, ...]] = set()
    for index, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name, "") for name in ("key", "operator", "value", "effect"))
        if key in seen:
            errors.append(duplicate(f"{at}[{index}]", internal(toleration, _TOLERATION)))
        seen.add(key)
    return errors


def runtime_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a RuntimeClass."""
    return [name_of(obj), string(obj, "handler"), age(obj, now)]


RUNTIME_CLASS = Printer(
    (NAME, text_column("Handler", "The handler in the configuration of the container runtime."), AGE),
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
