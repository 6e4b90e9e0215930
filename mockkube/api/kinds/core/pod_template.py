"""PodTemplate: a template by itself."""

from mockkube.api.fields import FieldError
from mockkube.api.kinds.apps.pod_owners import TemplateRules
from mockkube.api.kinds.core.pod.template import drop_disabled_template_fields, pod_template_warnings
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.extensions import NO_EXTENSIONS, Extensions


class PodTemplateStrategy(Strategy):
    """A template, whose changes are counted."""

    def __init__(self, extensions: Extensions = NO_EXTENSIONS) -> None:
        self.extensions = extensions

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Start with the first generation; drop what is switched off."""
        obj["metadata"]["generation"] = 1
        drop_disabled_template_fields(obj.get("template") or {}, None, judge.caps)

    def prepare_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Drop what is switched off; count changes."""
        drop_disabled_template_fields(new.get("template") or {}, old.get("template"), judge.caps)
        if new.get("template") != old.get("template"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge the template."""
        return TemplateRules(judge, self.extensions).validate(obj.get("template") or {}, None, "template")

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge the template; what was used before stays allowed."""
        return TemplateRules(judge, self.extensions).validate(
            new.get("template") or {}, old.get("template"), "template"
        )

    def warn_create(self, obj: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn of what the template says."""
        return pod_template_warnings(obj.get("template") or {}, "template", judge)

    def warn_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn once the template changes."""
        return [] if new.get("template") == old.get("template") else self.warn_create(new, judge)
