"""A stage: which objects it is for, how long it waits, and what it makes of them.

upstream: github.com/kubernetes-sigs/kwok, pkg/apis/v1alpha1/stage_types.go, pkg/utils/lifecycle
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

import yaml

from mockkube.api.times import parse_time, render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.kubelet.stages.gotemplate import Function, Template, TemplateError
from mockkube.kubelet.stages.jq import Filter, JqError, compile_jq
from mockkube.matching.cel.gotime import parse_duration

KIND: Final = "Stage.kwok.x-k8s.io"
_NANOSECONDS: Final = 1e9
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


class StageError(ValueError):
    """A stage that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of a selector."""

    find: Filter
    operator: str
    values: frozenset[str]

    def holds(self, obj: ReadOnlyObject) -> bool:
        """Whether an object meets it."""
        found = [value for value in self.find(obj) if value is not None]
        if self.operator in ("Exists", "DoesNotExist"):
            return bool(found) == (self.operator == "Exists")
        matches = any(_text(value) in self.values for value in found)
        return matches == (self.operator == "In")


@dataclass(frozen=True, slots=True)
class Delay:
    """How long an object stays before a stage takes hold: a base and a jitter, in seconds, or where to find them."""

    base: float = 0.0
    jitter: float = 0.0
    base_from: Filter | None = None
    jitter_from: Filter | None = None

    def seconds(self, obj: ReadOnlyObject, now: datetime, draw: Callable[[], float]) -> float:
        """Return the delay of an object; the jitter is up to where it goes at most."""
        base = _seconds_from(self.base_from, obj, now, self.base)
        most = _seconds_from(self.jitter_from, obj, now, self.jitter)
        return base + (most - base) * draw() if most > base else base


@dataclass(frozen=True, slots=True)
class StagePatch:
    """A change of an object, as a template."""

    template: Template
    subresource: str
    media: str
    root: str


@dataclass(frozen=True, slots=True)
class StageEvent:
    """An event that a stage tells."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True)
class Stage:
    """One stage, compiled."""

    name: str
    kind: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    requirements: Sequence[Requirement]
    weight: int
    weight_from: Filter | None
    delay: Delay
    patches: Sequence[StagePatch]
    delete: bool
    event: StageEvent | None
    finalizers: ReadOnlyObject

    def is_for(self, obj: ReadOnlyObject) -> bool:
        """Whether the stage is for such an object, by its labels and annotations, in some state or other."""
        metadata = obj["metadata"]
        own: Mapping[str, str] = metadata.get("labels") or {}
        said: Mapping[str, str] = metadata.get("annotations") or {}
        if any(own.get(name) != value for name, value in self.labels.items()):
            return False
        return all(said.get(name) == value for name, value in self.annotations.items())

    def selects(self, obj: ReadOnlyObject) -> bool:
        """Whether the stage is for an object as it is now."""
        return self.is_for(obj) and all(requirement.holds(obj) for requirement in self.requirements)

    def weight_of(self, obj: ReadOnlyObject) -> int:
        """Return how likely this stage is among those that select an object."""
        if self.weight_from is not None:
            for value in self.weight_from(obj):
                if _text(value).isdecimal():
                    return int(_text(value))
        return self.weight

    @cached_property
    def changes_nothing(self) -> bool:
        """Whether the stage only lets time pass."""
        return not (self.patches or self.delete or self.event or self.finalizers)


def rendered(patch: StagePatch, obj: ReadOnlyObject) -> Any:
    """Return what a patch says of an object; StageError when it is no YAML."""
    try:
        body = yaml.load(patch.template.render(obj), Loader=_Loader)
    except (TemplateError, yaml.YAMLError) as error:
        raise StageError(str(error).replace("\n", " ")) from error
    return {patch.root: body} if patch.root else body


class _Loader(yaml.CSafeLoader):
    """YAML whose times stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_stage(obj: ReadOnlyObject, functions: Mapping[str, Function]) -> Stage:
    """Compile a stage; StageError says what is wrong with it."""
    spec = obj.get("spec") or {}
    selector, what = spec.get("selector") or {}, spec.get("next") or {}
    try:
        return Stage(
            name=obj["metadata"]["name"],
            kind=(spec.get("resourceRef") or {}).get("kind", ""),
            labels=selector.get("matchLabels") or {},
            annotations=selector.get("matchAnnotations") or {},
            requirements=[_requirement(one) for one in selector.get("matchExpressions") or ()],
            weight=spec.get("weight", 0),
            weight_from=_expression(spec.get("weightFrom")),
            delay=_delay(spec.get("delay") or {}),
            patches=_patches(what, functions),
            delete=bool(what.get("delete")),
            event=_event(what.get("event")),
            finalizers=what.get("finalizers") or {},
        )
    except (JqError, TemplateError) as error:
        raise StageError(str(error)) from error


def _requirement(given: ReadOnlyObject) -> Requirement:
    operator = given.get("operator", "")
    if operator not in _OPERATORS:
        raise StageError(f"operator {operator!r} is not one of {', '.join(_OPERATORS)}")
    return Requirement(compile_jq(given.get("key", "")), operator, frozenset(given.get("values") or ()))


def _expression(given: ReadOnlyObject | None) -> Filter | None:
    text = (given or {}).get("expressionFrom") or ((given or {}).get("expression") or {}).get("expressionFrom")
    return compile_jq(text) if text else None


def _delay(given: ReadOnlyObject) -> Delay:
    return Delay(
        given.get("durationMilliseconds", 0) / 1000,
        given.get("jitterDurationMilliseconds", 0) / 1000,
        _expression(given.get("durationFrom")),
        _expression(given.get("jitterDurationFrom")),
    )


def _patches(what: ReadOnlyObject, functions: Mapping[str, Function]) -> list[StagePatch]:
    given = [
        StagePatch(
            Template(one.get("template", ""), functions),
            one.get("subresource", ""),
            one.get("type", ""),
            one.get("root", ""),
        )
        for one in what.get("patches") or ()
    ]
    if text := what.get("statusTemplate"):
        subresource = what.get("statusSubresource", "status")
        given.append(StagePatch(Template(text, functions), subresource, "", "status"))
    return given


def _event(given: ReadOnlyObject | None) -> StageEvent | None:
    if not given:
        return None
    return StageEvent(given.get("type", "Normal"), given.get("reason", ""), given.get("message", ""))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def _seconds_from(find: Filter | None, obj: ReadOnlyObject, now: datetime, default: float) -> float:
    """Return a duration, or the time left until a moment, that an object says; the default when it says none."""
    for value in find(obj) if find is not None else ():
        if isinstance(value, str) and (span := parse_duration(value)) is not None:
            return span.nanos / _NANOSECONDS
        try:
            return max((parse_time(value) - now) / timedelta(seconds=1), 0.0)
        except (TypeError, ValueError):
            continue
    return default


def without_finalizers(obj: ReadOnlyObject, change: ReadOnlyObject) -> list[str] | None:
    """Return the finalizers an object has after a stage; None when they stay as they are."""
    present: list[str] = list(obj["metadata"].get("finalizers") or ())
    if change.get("empty"):
        wanted: list[str] = []
    else:
        gone = {one["value"] for one in change.get("remove") or ()}
        wanted = [name for name in present if name not in gone]
        wanted += [one["value"] for one in change.get("add") or () if one["value"] not in wanted]
    return None if wanted == present else wanted


def functions_for(
    now: Callable[[], datetime],
    node_ip: Callable[[str], str],
    pod_ip: Callable[..., str],
    conditions: Callable[[], Sequence[Object]],
    version: str,
) -> dict[str, Function]:
    """Return what templates of stages may call."""
    return {
        "Now": lambda: render_time(now()),
        "StartTime": lambda: render_time(now()),
        "Quote": lambda value: json.dumps(value if isinstance(value, str) else _text(value)),
        "YAML": _yaml,
        "Version": lambda: version,
        "NodePort": lambda: 10250,
        "NodeIP": lambda: node_ip(""),
        "NodeIPWith": node_ip,
        "PodIP": pod_ip,
        "PodIPWith": pod_ip,
        "NodeConditions": lambda: list(conditions()),
        "default": lambda default, value=None: value or default,
    }


def _yaml(value: Any, indent: int = 0) -> str:
    text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=False, sort_keys=True)
    return f"\n{text}".replace("\n", "\n" + "  " * indent) if indent > 0 else text
