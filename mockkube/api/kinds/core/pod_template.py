"""PodTemplate: strategy, defaults and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.apps.pod_owners import TemplateValidator
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.api.kinds.core.pod.template import drop_disabled_template_fields, pod_template_warnings
from mockkube.api.printers.accessors import name_of, section
from mockkube.api.printers.labels import format_labels
from mockkube.api.printers.lists import container_cells
from mockkube.api.printers.table import NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.features.capabilities import Capabilities


def default_pod_template(template: Object, caps: Capabilities) -> None:
    """Default the template."""
    default_template(template.setdefault("template", {}), caps)


class PodTemplateStrategy(Strategy):
    """Strategy of PodTemplate; changes of the template raise the generation."""

    def __init__(self, extensions: ValidationExtensions = NO_EXTENSIONS) -> None:
        self.extensions = extensions

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Set the first generation and drop fields of disabled gates."""
        obj["metadata"]["generation"] = 1
        drop_disabled_template_fields(obj.get("template") or {}, None, context.caps)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Drop fields of disabled gates; raise the generation when the template changes."""
        drop_disabled_template_fields(new.get("template") or {}, old.get("template"), context.caps)
        if new.get("template") != old.get("template"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the template."""
        return TemplateValidator(context, self.extensions).validate(obj.get("template") or {}, None, "template")

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the template; what the stored one used stays allowed."""
        return TemplateValidator(context, self.extensions).validate(
            new.get("template") or {}, old.get("template"), "template"
        )

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the pod template."""
        return pod_template_warnings(obj.get("template") or {}, "template", context)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about a changed template."""
        return [] if new.get("template") == old.get("template") else self.warnings_on_create(new, context)


TEMPLATE_COLUMNS = (
    NAME_COLUMN,
    text_column("Containers", "The containers of the template."),
    text_column("Images", "The images those containers run."),
    text_column("Pod Labels", "The labels pods get from the template."),
)


def template_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a pod template."""
    template = section(obj, "template")
    return [name_of(obj), *container_cells(template), format_labels(section(template, "metadata", "labels"))]


POD_TEMPLATE = Printer(TEMPLATE_COLUMNS, template_cells)

KIND: Final = Kind(
    "",
    "PodTemplate",
    "podtemplates",
    pod_spec=("template", "spec"),
    strategy=lambda dependencies: PodTemplateStrategy(dependencies.extensions),
    defaults={"v1": default_pod_template},
    printer=POD_TEMPLATE,
)
