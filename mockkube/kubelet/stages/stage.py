"""Parse a stage: its selector, delay and steps.

upstream: github.com/kubernetes-sigs/kwok, pkg/apis/v1alpha1/stage_types.go, pkg/utils/lifecycle
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import yaml

from mockkube.api.types import ReadOnlyObject
from mockkube.kubelet.stages.expressions import (
    ExpressionError,
    Find,
    Requirement,
    finder,
    requirement,
    seconds_of,
    weight_of,
)
from mockkube.kubelet.stages.functions import Surroundings
from mockkube.kubelet.stages.gotemplate import Template
from mockkube.kubelet.stages.gotemplate_pipeline import TemplateError

KIND: Final = "Stage.kwok.x-k8s.io"


class StageError(ValueError):
    """Error of a stage that is invalid, or that fails for an object."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Delay of a stage: minimum and jitter maximum in seconds, constant or from the object."""

    least: float = 0.0
    most: float | None = None
    least_from: Find | None = None
    most_from: Find | None = None

    def seconds(self, obj: ReadOnlyObject, now: datetime, draw: Callable[[], float]) -> float:
        """Return the delay for an object: random between both times, or the maximum if it is smaller."""
        least: float | None = self.least
        if self.least_from is not None:
            least = seconds_of(self.least_from, obj, now, self.least)
        if least is None:
            return 0.0
        most = self.most if self.most_from is None else seconds_of(self.most_from, obj, now, self.most)
        if most is None:
            return max(least, 0.0)
        return max(most if most <= least else least + (most - least) * draw(), 0.0)


@dataclass(frozen=True, slots=True)
class StagePatch:
    """Patch of an object, as a template."""

    template: Template
    subresource: str = ""
    media: str = ""
    root: str = ""


@dataclass(frozen=True, slots=True)
class StageEvent:
    """Event that a stage records."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Step:
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
    weight_from: Find | None
    delay: Delay
    steps: Sequence[Step]
    surroundings: Surroundings

    def is_for(self, obj: ReadOnlyObject) -> bool:
        """Return whether the stage concerns an object in some state, by labels and annotations."""
        metadata = obj["metadata"]
        object_labels: Mapping[str, str] = metadata.get("labels") or {}
        object_annotations: Mapping[str, str] = metadata.get("annotations") or {}
        if any(object_labels.get(name) != value for name, value in self.labels.items()):
            return False
        return all(object_annotations.get(name) == value for name, value in self.annotations.items())

    def selects(self, obj: ReadOnlyObject) -> bool:
        """Return whether the stage selects an object in its present state."""
        return self.is_for(obj) and all(requirement.holds(obj) for requirement in self.requirements)

    def weight_of(self, obj: ReadOnlyObject) -> int | None:
        """Return the stage's weight for an object; None if it is invalid."""
        return self.weight if self.weight_from is None else weight_of(self.weight_from, obj, self.weight)

    def render(self, patch: StagePatch, obj: ReadOnlyObject) -> Any:
        """Return a patch rendered for an object; StageError if it fails or is no YAML."""
        # Functions without arguments, like NodeName, read the object from the shared factory; rendering never awaits.
        self.surroundings.obj = obj
        try:
            body = yaml.load(patch.template.render(obj), Loader=_Loader)
        except (TemplateError, yaml.YAMLError) as error:
            raise StageError(str(error).replace("\n", " ")) from error
        if not patch.root:
            return body
        if patch.media == "json":
            return [{**one, "path": f"/{patch.root}{one.get('path', '')}"} for one in body or ()]
        return {patch.root: body}


class _Loader(yaml.CSafeLoader):
    """YAML loader that keeps timestamps as strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_stage(obj: ReadOnlyObject, surroundings: Surroundings) -> Stage | None:
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
            requirements=[requirement(one) for one in selector.get("matchExpressions") or ()],
            weight=spec.get("weight", 0),
            weight_from=finder(spec.get("weightFrom")),
            delay=_delay(spec.get("delay") or {}),
            steps=[*_steps_of(spec.get("next") or {}, surroundings), *_steps(spec.get("steps") or (), surroundings)],
            surroundings=surroundings,
        )
    except (ExpressionError, TemplateError, TypeError, AttributeError) as error:
        raise StageError(str(error)) from error


def _delay(given: ReadOnlyObject) -> Delay:
    most = given.get("jitterDurationMilliseconds")
    return Delay(
        given.get("durationMilliseconds", 0) / 1000,
        None if most is None else most / 1000,
        finder(given.get("durationFrom")),
        finder(given.get("jitterDurationFrom")),
    )


def _steps(given: Sequence[ReadOnlyObject], surroundings: Surroundings) -> list[Step]:
    return [
        Step(
            event=_event(one.get("event")),
            finalizers=one.get("finalizers"),
            delete=bool(one.get("delete")),
            patch=_patch(one.get("patch"), surroundings),
            apply=_patch(one.get("apply"), surroundings),
        )
        for one in given
    ]


def _steps_of(what: ReadOnlyObject, surroundings: Surroundings) -> list[Step]:
    """Return the steps of KWOK's older `next` form: one for events, finalizers and deletion, one per patch."""
    first = Step(_event(what.get("event")), what.get("finalizers"), bool(what.get("delete")))
    steps = [first] if what else []
    steps += [Step(patch=_patch(one, surroundings)) for one in what.get("patches") or ()]
    if text := what.get("statusTemplate"):
        subresource = what.get("statusSubresource", "status")
        steps.append(Step(patch=StagePatch(surroundings.template(text), subresource, root="status")))
    return steps


def _patch(given: ReadOnlyObject | None, surroundings: Surroundings) -> StagePatch | None:
    if given is None:
        return None
    template = surroundings.template(given.get("template", ""))
    return StagePatch(template, given.get("subresource", ""), given.get("type", ""), given.get("root", ""))


def _event(given: ReadOnlyObject | None) -> StageEvent | None:
    if not given:
        return None
    return StageEvent(given.get("type", "Normal"), given.get("reason", ""), given.get("message", ""))


def without_finalizers(obj: ReadOnlyObject, change: ReadOnlyObject) -> list[str] | None:
    """Return the finalizers of an object after a stage; None if they do not change."""
    present: list[str] = list(obj["metadata"].get("finalizers") or ())
    removed, added = ([one.get("value", "") for one in change.get(what) or ()] for what in ("remove", "add"))
    wanted = [] if change.get("empty") else [name for name in present if name not in removed]
    wanted += [name for name in added if name and name not in wanted]
    return None if wanted == present else wanted
