"""Steps of a run in words: what each is about."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.scenario.report.wording import listed
from mockkube.scenario.results import Outcome, RunResult, StepResult

_SHOWN_MAX: Final = 4
_CLAIMS: Final = {"assert": "becomes so", "error": "must not be so"}
"""What the two verbs mean that are told from each other least."""


def failed(run: RunResult) -> int | None:
    """Return the place of the step that ended the run."""
    wrong = (index for index, one in enumerate(run.steps) if one.outcome not in (Outcome.PASSED, Outcome.SKIPPED))
    return next(wrong, None)


def about(step: StepResult) -> str:
    """Return what a step is about, in a line."""
    given = step.arguments
    if step.verb == "component" and isinstance(given, Mapping):
        return _component(given)
    if step.verb in _CLAIMS:
        claims = listed(map(_claim, objects_in(given)), "or" if step.verb == "error" else "and")
        return f"{claims} ({_CLAIMS[step.verb]})"
    objects = objects_in(given)
    if objects:
        return listed(map(_name, objects))
    if isinstance(given, Mapping):
        return ", ".join(f"{key} {_short(value)}" for key, value in given.items())
    return _short(given)


def _component(given: Mapping[str, Any]) -> str:
    words = {True: "on", False: "off", None: "as by default"}
    gates = [f"{gate} {words.get(on, on)}" for gate, on in (given.get("featureGates") or {}).items()]
    version = [f"version {given['version']}"] if given.get("version") else []
    rest = [f"{key} {_short(value)}" for key, value in given.items() if key not in ("name", "featureGates", "version")]
    return f"{given.get('name', '')}: {', '.join([*version, *gates, *rest])}"


def objects_in(given: Any) -> Sequence[Mapping[str, Any]]:
    """Return the manifests of a step, however they are given."""
    if isinstance(given, Mapping):
        if "kind" in given:
            return [given]
        inner = given.get("resource", given.get("create", given.get("apply")))
        return objects_in(inner) if inner is not None else []
    if isinstance(given, list | tuple) and all(isinstance(one, Mapping) and "kind" in one for one in given):
        return list(given)
    return []


def _name(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata") or {}
    return f"{obj['kind']}/{metadata.get('name') or metadata.get('generateName', '')}".rstrip("/")


def _claim(obj: Mapping[str, Any]) -> str:
    fields = list(_fields({key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}))
    shown = fields[:_SHOWN_MAX] + (["..."] if len(fields) > _SHOWN_MAX else [])
    return f"{_name(obj)}{f': {chr(44).join(shown)}' if shown else ''}".replace(",", ", ")


def _fields(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _fields(item, f"{path}.{key}" if path else str(key))
    else:
        yield f"{path}={_short(value)}"


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_short(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_short, value))
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)
