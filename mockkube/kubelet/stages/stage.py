"""Parse a stage: its selector, delay and steps.

upstream: github.com/kubernetes-sigs/kwok, pkg/apis/v1alpha1/stage_types.go, pkg/utils/lifecycle
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.kubelet.stages.expressions import (
    ExpressionError,
    FindValues,
    Requirement,
    compile_expression_from,
    compile_requirement,
    find_seconds,
    find_weight,
)
from mockkube.kubelet.stages.gotemplate import GoTemplate
from mockkube.kubelet.stages.gotemplate_pipeline import TemplateError
from mockkube.kubelet.stages.template_functions import TemplateFactory
from mockkube.lazy_dataclasses import dataclass

STAGE_KIND: Final = "Stage.kwok.x-k8s.io"


class StageError(ValueError):
    """Error of a stage that is invalid, or that fails for an object."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Delay of a stage: minimum and jitter maximum in seconds, constant or from the object."""

    min_seconds: float = 0.0
    max_seconds: float | None = None
    min_from: FindValues | None = None
    max_from: FindValues | None = None

    def compute_seconds(self, obj: ReadOnlyObject, now: datetime, random: Callable[[], float]) -> float:
        """Return the delay for an object: random between both times, or the maximum if it is smaller."""
        least: float | None = self.min_seconds
        if self.min_from is not None:
            least = find_seconds(self.min_from, obj, now, self.min_seconds)
        if least is None:
            return 0.0
        most = self.max_seconds if self.max_from is None else find_seconds(self.max_from, obj, now, self.max_seconds)
        if most is None:
            return max(least, 0.0)
        return max(most if most <= least else least + (most - least) * random(), 0.0)


@dataclass(frozen=True, slots=True)
class StagePatch:
    """Patch of an object, as a template."""

    template: GoTemplate
    subresource: str = ""
    patch_type: str = ""
    root: str = ""


@dataclass(frozen=True, slots=True)
class StageEvent:
    """Event that a stage records."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class StageStep:
    """One step of a stage; its fields are applied in their order."""

    event: StageEvent | None = None
    finalizers: ReadOnlyObject | None = None
    delete: bool = False
    patch: StagePatch | None = None
    apply: StagePatch | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """A compiled stage."""

    name: str
    kind: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    requirements: Sequence[Requirement]
    weight: int
    weight_from: FindValues | None
    delay: Delay
    steps: Sequence[StageStep]
    template_factory: TemplateFactory

    def matches_metadata(self, obj: ReadOnlyObject) -> bool:
        """Return whether the stage concerns an object in some state, by labels and annotations."""
        metadata = obj["metadata"]
        object_labels: Mapping[str, str] = metadata.get("labels") or {}
        object_annotations: Mapping[str, str] = metadata.get("annotations") or {}
        if any(object_labels.get(name) != value for name, value in self.labels.items()):
            return False
        return all(object_annotations.get(name) == value for name, value in self.annotations.items())

    def selects(self, obj: ReadOnlyObject) -> bool:
        """Return whether the stage selects an object in its present state."""
        return self.matches_metadata(obj) and all(requirement.matches(obj) for requirement in self.requirements)

    def find_weight(self, obj: ReadOnlyObject) -> int | None:
        """Return the stage's weight for an object; None if it is invalid."""
        return self.weight if self.weight_from is None else find_weight(self.weight_from, obj, self.weight)

    def render(self, patch: StagePatch, obj: ReadOnlyObject) -> Any:
        """Return a patch rendered for an object; StageError if it fails or is no YAML."""
        from mockkube.kubelet.stages import yaml_text  # with PyYAML, when the first stage is played

        # Functions without arguments, like NodeName, read the object from the shared factory; rendering never awaits.
        self.template_factory.obj = obj
        try:
            body = yaml_text.parse_yaml(patch.template.render(obj))
        except (TemplateError, yaml_text.YAMLError) as error:
            raise StageError(str(error).replace("\n", " ")) from error
        if not patch.root:
            return body
        if patch.patch_type == "json":
            return [{**one, "path": f"/{patch.root}{one.get('path', '')}"} for one in body or ()]
        return {patch.root: body}


def parse_stage(obj: ReadOnlyObject, template_factory: TemplateFactory) -> Stage | None:
    """Compile a stage; None if it has no selector, StageError if it is invalid."""
    spec = obj.get("spec") or {}
    selector = spec.get("selector")
    if selector is None:
        return None
    try:
        return Stage(
            name=obj["metadata"]["name"],
            kind=(spec.get("resourceRef") or {}).get("kind", ""),
            labels=selector.get("matchLabels") or {},
            annotations=selector.get("matchAnnotations") or {},
            requirements=[compile_requirement(one) for one in selector.get("matchExpressions") or ()],
            weight=spec.get("weight", 0),
            weight_from=compile_expression_from(spec.get("weightFrom")),
            delay=_parse_delay(spec.get("delay") or {}),
            steps=[
                *_parse_next(spec.get("next") or {}, template_factory),
                *_parse_steps(spec.get("steps") or (), template_factory),
            ],
            template_factory=template_factory,
        )
    except (ExpressionError, TemplateError, TypeError, AttributeError) as error:
        raise StageError(str(error)) from error


def _parse_delay(given: ReadOnlyObject) -> Delay:
    most = given.get("jitterDurationMilliseconds")
    return Delay(
        given.get("durationMilliseconds", 0) / 1000,
        None if most is None else most / 1000,
        compile_expression_from(given.get("durationFrom")),
        compile_expression_from(given.get("jitterDurationFrom")),
    )


def _parse_steps(given: Sequence[ReadOnlyObject], template_factory: TemplateFactory) -> list[StageStep]:
    return [
        StageStep(
            event=_parse_event(one.get("event")),
            finalizers=one.get("finalizers"),
            delete=bool(one.get("delete")),
            patch=_parse_patch(one.get("patch"), template_factory),
            apply=_parse_patch(one.get("apply"), template_factory),
        )
        for one in given
    ]


def _parse_next(what: ReadOnlyObject, template_factory: TemplateFactory) -> list[StageStep]:
    """Return the steps of KWOK's older `next` form: one for events, finalizers and deletion, one per patch."""
    first = StageStep(_parse_event(what.get("event")), what.get("finalizers"), bool(what.get("delete")))
    steps = [first] if what else []
    steps += [StageStep(patch=_parse_patch(one, template_factory)) for one in what.get("patches") or ()]
    if text := what.get("statusTemplate"):
        subresource = what.get("statusSubresource", "status")
        steps.append(StageStep(patch=StagePatch(template_factory.compile_template(text), subresource, root="status")))
    return steps


def _parse_patch(given: ReadOnlyObject | None, template_factory: TemplateFactory) -> StagePatch | None:
    if given is None:
        return None
    template = template_factory.compile_template(given.get("template", ""))
    return StagePatch(template, given.get("subresource", ""), given.get("type", ""), given.get("root", ""))


def _parse_event(given: ReadOnlyObject | None) -> StageEvent | None:
    if not given:
        return None
    return StageEvent(given.get("type", "Normal"), given.get("reason", ""), given.get("message", ""))


def apply_finalizers(obj: ReadOnlyObject, change: ReadOnlyObject) -> list[str] | None:
    """Return the finalizers of an object after a stage; None if they do not change."""
    present: list[str] = list(obj["metadata"].get("finalizers") or ())
    removed, added = ([one.get("value", "") for one in change.get(what) or ()] for what in ("remove", "add"))
    wanted = [] if change.get("empty") else [name for name in present if name not in removed]
    wanted += [name for name in added if name and name not in wanted]
    return None if wanted == present else wanted
