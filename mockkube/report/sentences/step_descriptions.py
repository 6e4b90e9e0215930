"""Descriptions of the steps of a run in a line."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.report.wording import join_words
from mockkube.scenario.runner.results import RunOutcome, RunResult, StepResult

# An assertion on more fields would fill the table; the rest stands in the file.
_SHOWN_MAX: Final = 4
_CLAIMS: Final = {"assert": "becomes so", "error": "must not be so"}


def find_failed_step(run: RunResult) -> int | None:
    """Return the index of the step that failed; None if none did."""
    wrong = (index for index, one in enumerate(run.steps) if one.outcome not in (RunOutcome.PASSED, RunOutcome.SKIPPED))
    return next(wrong, None)


def describe_step(step: StepResult) -> str:
    """Describe a step in a line."""
    given = step.arguments
    if step.verb == "component" and isinstance(given, Mapping):
        return _describe_component(given)
    if step.verb in _CLAIMS:
        claims = join_words(map(_describe_assertion, find_manifests(given)), "or" if step.verb == "error" else "and")
        return f"{claims} ({_CLAIMS[step.verb]})"
    objects = find_manifests(given)
    if objects:
        return join_words(map(_format_object, objects))
    if isinstance(given, Mapping):
        return ", ".join(f"{key} {_format_value(value)}" for key, value in given.items())
    return _format_value(given)


def _describe_component(given: Mapping[str, Any]) -> str:
    words = {True: "on", False: "off", None: "as by default"}
    gates = [f"{gate} {words.get(on, on)}" for gate, on in (given.get("featureGates") or {}).items()]
    version = [f"version {given['version']}"] if given.get("version") else []
    rest = [
        f"{key} {_format_value(value)}"
        for key, value in given.items()
        if key not in ("name", "featureGates", "version")
    ]
    return f"{given.get('name', '')}: {', '.join([*version, *gates, *rest])}"


def find_manifests(given: Any) -> Sequence[Mapping[str, Any]]:
    """Return the manifests in the arguments of a step."""
    if isinstance(given, Mapping):
        if "kind" in given:
            return [given]
        inner = given.get("resource", given.get("create", given.get("apply")))
        return find_manifests(inner) if inner is not None else []
    if isinstance(given, list | tuple) and all(isinstance(one, Mapping) and "kind" in one for one in given):
        return list(given)
    return []


def _format_object(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata") or {}
    return f"{obj['kind']}/{metadata.get('name') or metadata.get('generateName', '')}".rstrip("/")


def _describe_assertion(obj: Mapping[str, Any]) -> str:
    fields = list(
        _list_fields({key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")})
    )
    shown = fields[:_SHOWN_MAX] + (["..."] if len(fields) > _SHOWN_MAX else [])
    return f"{_format_object(obj)}{f': {chr(44).join(shown)}' if shown else ''}".replace(",", ", ")


def _list_fields(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _list_fields(item, f"{path}.{key}" if path else str(key))
    else:
        yield f"{path}={_format_value(value)}"


def _format_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_format_value(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_format_value, value))
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)
