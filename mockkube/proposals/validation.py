"""Validation of the declarations of a user's proposal, before any component gets it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any, Final

from mockkube.api.schema import Schema
from mockkube.features.gate_table import gate_histories
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import NEWEST, OLDEST, Version
from mockkube.matching.node_selectors import ValuesOperator
from mockkube.proposals.proposal import Field, ObjectCheck, Operator, Proposal, SchedulerPlugin, is_type_name

_GATE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_FIELD: Final = re.compile(r"[A-Za-z_$][-A-Za-z0-9_.$]*")
_BUILT_IN: Final = ("", "Equal", "Exists", "Gt", "Lt")
_BUILT_IN_SELECTORS: Final = ("", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_TYPES: Final = ("string", "integer", "boolean", "number", "array", "object")


class ProposalError(ValueError):
    """Proposal that cannot be used: names the place, the error and the remedy, in one line."""


def validate_proposal(proposal: Proposal, place: str) -> None:
    """Raise ProposalError for the first error in a proposal."""
    for error in _find_errors(proposal):
        raise ProposalError(f"{place}: {error}")


def _find_errors(proposal: Proposal) -> Iterator[str]:
    yield from _gate_errors(proposal)
    yield from _operator_errors(proposal)
    for definition, added in (
        ("io.k8s.api.core.v1.Toleration", proposal.toleration_fields),
        *proposal.fields.items(),
    ):
        yield from _field_errors(definition, added)
    for name, field in proposal.toleration_fields.items():
        if field.check is None or field.refuse is None:
            yield f"toleration field {name!r} lacks check or refuse: give both, or declare it in fields"
    yield from _check_errors(proposal.checks)
    plugins: Iterable[Any] = proposal.scheduler_plugins
    for plugin in plugins:
        if not isinstance(plugin, SchedulerPlugin) or not plugin.name or not callable(plugin.factory):
            yield f"scheduler_plugins has {plugin!r}: give SchedulerPlugin(name, factory)"


def _gate_errors(proposal: Proposal) -> Iterator[str]:
    # A user's file is not type-checked: every value may be anything.
    gate: Any = proposal.gate
    train: Any = proposal.train
    if not isinstance(gate, str) or not _GATE.fullmatch(gate):
        yield f"{gate!r} is not a feature gate: give a name like TaintTolerationPrefix"
        return
    if gate in _released_gates():
        yield f"gate {gate} is one of Kubernetes already: give the proposal a gate of its own"
    if not isinstance(train, ReleaseTrain) or not train.stages:
        yield f"gate {gate} has no release train: give train=ReleaseTrain(GATE, stages=(GateStage(...),))"
        return
    if train.gate != gate:
        yield f"the train is that of gate {train.gate!r}, the proposal has {gate!r}: name the same in both"
    for before, after in pairwise(train.stages):
        if before.version >= after.version:
            yield f"stages of {gate}: {after.version} comes after {before.version}: order them by version"


def _released_gates() -> set[str]:
    return {gate for version in _published_versions() for gate in gate_histories(version)}


def _published_versions() -> Iterator[Version]:
    return (Version(NEWEST.major, minor) for minor in range(NEWEST.minor, OLDEST.minor - 1, -1))


def _operator_errors(proposal: Proposal) -> Iterator[str]:
    tables: Iterable[tuple[str, Mapping[str, Any], tuple[str, ...]]] = (
        ("tolerations", proposal.tolerations, _BUILT_IN),
        ("device_tolerations", proposal.device_tolerations, _BUILT_IN[:3]),
        ("node_selectors", proposal.node_selectors, _BUILT_IN_SELECTORS),
    )
    for table, operators, built_in in tables:
        for name, operator in operators.items():
            if name in built_in:
                yield f"{table}: operator {name!r} is built in: give it another name"
            if not isinstance(operator, Operator):
                yield f"{table}: {name!r} is {type(operator).__name__}: give an Operator(check, test)"
            elif not callable(getattr(operator, "check", None)):
                yield f"{table}: {name!r} has no check: give a function of the value and its path"
            # A test that is not wrapped would fail the component at its first pod.
            elif not isinstance(operator.test, ValuesOperator) and _count_arguments(operator.test) != 1:
                yield f"{table}: {name!r} has a test of another shape: wrap the function in by_pair or by_values"


def _count_arguments(test: Any) -> int:
    """Return the number of required positional arguments of a function; -1 for anything else."""
    try:
        parameters = signature(test).parameters.values()
    except (TypeError, ValueError):
        return -1
    return sum(one.default is one.empty and one.kind in _POSITIONAL for one in parameters)


def _field_errors(definition: str, added: Mapping[str, Any]) -> Iterator[str]:
    if not added:
        return
    known = [schema for schema in map(Schema, _published_versions()) if definition in schema.definitions]
    if not known:
        yield f"fields: no type is called {definition!r}: {_suggest_type(definition)}"
        return
    for name, field in added.items():
        if not _FIELD.fullmatch(name):
            yield f"fields: {definition}: {name!r} cannot name a field: give a name like tolerationPolicy"
        if not isinstance(field, Field):
            yield f"fields: {definition}.{name} is {type(field).__name__}: give a Field(schema)"
            continue
        # In any version: a field that exists only in some of them would be overwritten there.
        for schema in known:
            if name in schema.definitions[definition].get("properties", {}):
                yield f"fields: {definition} has {name!r} already in {schema.version}: give it another name"
                break
        yield from (f"fields: {definition}.{name}: {error}" for error in _schema_errors(field.schema, known[0]))


def _schema_errors(raw: Any, schema: Schema) -> Iterator[str]:
    """Yield the errors in the JSON schema of a field."""
    if not isinstance(raw, Mapping):
        yield f"its schema is {type(raw).__name__}: give a JSON schema, like {{'type': 'string'}}"
    elif "$ref" in raw:
        if (name := str(raw["$ref"]).rpartition("/")[2]) not in schema.definitions:
            yield f"its schema refers to {raw['$ref']!r}, which is no type: {_suggest_type(name)}"
    elif raw.get("type") not in _TYPES:
        yield f"type {raw.get('type')!r} in its schema: give one of {', '.join(_TYPES)}, or a $ref"
    elif raw["type"] == "array":
        yield from _schema_errors(raw.get("items"), schema)
    elif raw["type"] == "object":
        inner = dict(raw.get("properties", {}))
        if isinstance(raw.get("additionalProperties"), Mapping):
            inner["*"] = raw["additionalProperties"]
        for name, one in inner.items():
            yield from (f"{name}: {error}" for error in _schema_errors(one, schema))


def _suggest_type(name: str) -> str:
    """Suggest a type: one with the same last part, or one that is written alike."""
    known = Schema(NEWEST).definitions
    last = name.rpartition(".")[2]
    from difflib import get_close_matches  # only a mistake needs it

    close = [one for one in known if one.rpartition(".")[2] == last] or get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else "give a full name, like 'io.k8s.api.core.v1.PodSpec'"


def _check_errors(checks: Mapping[str, Any]) -> Iterator[str]:
    for target, one in checks.items():
        if not isinstance(one, ObjectCheck):
            yield f"checks: {target!r} is {type(one).__name__}: give an ObjectCheck(check)"
            continue
        if one.check is None and one.transition is None:
            yield f"checks: {target!r} checks nothing: give check, transition or both"
        if is_type_name(target):
            if all(target not in Schema(version).definitions for version in _published_versions()):
                yield f"checks: no type is called {target!r}: {_suggest_type(target)}"
            continue
        kind, _, group = target.partition(".")
        if not any(any(True for _ in Schema(version).types_of_kind(group, kind)) for version in _published_versions()):
            kinds = sorted({_format_kind(*key) for key in Schema(NEWEST).kinds})
            from difflib import get_close_matches

            close = get_close_matches(target, kinds, n=1)
            yield f"checks: no kind is called {target!r}: " + (
                f"did you mean {close[0]!r}?" if close else "give one like 'Pod' or 'Deployment.apps'"
            )


def _format_kind(group: str, kind: str) -> str:
    return f"{kind}.{group}" if group else kind


def validate_names(proposals: Iterable[Proposal]) -> None:
    """Raise ProposalError for the first name that two proposals declare."""
    declared: dict[tuple[str, str], Proposal] = {}
    for proposal in proposals:
        for key in _declared_names(proposal):
            other = declared.setdefault(key, proposal)
            if other is not proposal:
                kind_of_name, name = key
                raise ProposalError(
                    f"{_name_origin(proposal)}: {kind_of_name} {name} is declared by {_name_origin(other)} already: "
                    "leave one out, or give it another name"
                )


def _name_origin(proposal: Proposal) -> str:
    return proposal.origin or f"KEP-{proposal.kep}"


def _declared_names(proposal: Proposal) -> Iterator[tuple[str, str]]:
    yield "gate", proposal.gate
    tables: Iterable[tuple[str, Callable[[Proposal], Iterable[str]]]] = (
        ("toleration operator", lambda one: one.tolerations),
        ("device toleration operator", lambda one: one.device_tolerations),
        ("node selector operator", lambda one: one.node_selectors),
        ("scheduler plugin", lambda one: (plugin.name for plugin in one.scheduler_plugins)),
    )
    for what, names in tables:
        yield from ((what, name) for name in names(proposal))
    for name in proposal.toleration_fields:
        yield "field", f"io.k8s.api.core.v1.Toleration.{name}"
    for definition, added in proposal.fields.items():
        yield from (("field", f"{definition}.{name}") for name in added)
