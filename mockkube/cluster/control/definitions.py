"""Schemas of the control kinds, for decoding and for `kubectl explain`."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from mockkube.api.schema import Node, Schema
from mockkube.api.types import Object

GROUP: Final = "control.mockkube.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

_PREFIX: Final = f"dev.mockkube.control.{VERSION}."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_TEXT: Final = {"type": "string"}
_SWITCH: Final = {"type": "boolean"}
_NUMBER: Final = {"type": "integer", "format": "int64"}
_GATES: Final = {"type": "object", "additionalProperties": {"type": "boolean"}}


def _of(kind: str) -> str:
    return f"#/$defs/{_PREFIX}{kind}"


def _whole(kind: str, description: str) -> Object:
    return {
        "description": description,
        "type": "object",
        "properties": {
            "apiVersion": _TEXT,
            "kind": _TEXT,
            "metadata": {"$ref": f"#/$defs/{_META}"},
            "spec": {"$ref": _of(f"{kind}Spec")},
            "status": {"$ref": _of(f"{kind}Status")},
        },
        "x-kubernetes-group-version-kind": [{"group": GROUP, "version": VERSION, "kind": kind}],
    }


def _part(description: str, **properties: Object) -> Object:
    return {"description": description, "type": "object", "properties": properties}


def _said(kind: Mapping[str, Any], description: str) -> Object:
    return {**kind, "description": description}


_CONDITIONS: Final = {
    "description": "What holds of it, each with its reason.",
    "type": "array",
    "items": {"$ref": _of("Condition")},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
_CONDITION: Final = _part(
    "Something that holds or does not.",
    type=_said(_TEXT, "What it is about."),
    status=_said(_TEXT, "True, False or Unknown."),
    reason=_said(_TEXT, "Why, in one word."),
    message=_said(_TEXT, "Why, in a sentence."),
    lastTransitionTime={"type": "string", "format": "date-time", "description": "Since when."},
)
_GENERATION: Final = {"type": "integer", "format": "int64", "description": "The generation this is about."}
_NAMES: Final = {"type": "array", "items": _TEXT, "x-kubernetes-list-type": "atomic"}
_COMPONENT_SPEC: Final = _part(
    "What a component is told. A change of version or gates is a restart.",
    version=_said(_TEXT, "The Kubernetes version it is of, like 1.36; by default that of the cluster."),
    featureGates=_said(_GATES, "What --feature-gates would say; other gates are as the version has them."),
    running=_said(_SWITCH, "Whether it is to run; true by default."),
    server=_said(_TEXT, "The API server it talks to; kube-apiserver by default. API servers have none."),
)
_COMPONENT_STATUS: Final = _part(
    "What a component does.",
    observedGeneration=_GENERATION,
    phase=_said(_TEXT, "Running, Stopped or Failed."),
    running=_said(_SWITCH, "Whether it runs."),
    version=_said(_TEXT, "The version it is of."),
    featureGates=_said(_GATES, "Every gate it knows, on or off."),
    url=_said(_TEXT, "Where an API server answers."),
    conditions=_CONDITIONS,
)
_CLOCK_SPEC: Final = _part(
    "What time is told to do.",
    mode=_said(_TEXT, "Real, or Virtual: time stands still until it is moved. Fixed when the cluster starts."),
    advanceTo=_said(_TEXT, "Virtual time moves on to this moment, like 2030-01-01T00:05:00Z."),
    advance=_said(_TEXT, "Move on by this much, like 5m30s. It is turned into advanceTo at once, and not kept."),
)
_CLOCK_STATUS: Final = _part(
    "What time it is.",
    observedGeneration=_GENERATION,
    mode=_said(_TEXT, "Real or Virtual."),
    now=_said(_TEXT, "Virtual: the time. Real: when this was reported."),
    conditions=_CONDITIONS,
)
_SNAPSHOT_SPEC: Final = _part(
    "What is to be done with what was saved.",
    restore={
        "type": "integer",
        "format": "int64",
        "description": "How often it has been asked to restore this snapshot: a greater number restores it again.",
    },
)
_SNAPSHOT_STATUS: Final = _part(
    "What was saved, and how often it was restored.",
    observedGeneration=_GENERATION,
    revision=_said(_NUMBER, "The resourceVersion whose state this is."),
    objects=_said(_NUMBER, "How many objects were saved."),
    components=_said(_NUMBER, "Of how many components the settings were saved."),
    bytes=_said(_NUMBER, "How large what was saved is."),
    restored=_said(_NUMBER, "The spec.restore that was last carried out."),
    conditions=_CONDITIONS,
)
_FAULT_SPEC: Final = _part(
    "What goes wrong, for whom, and how often.",
    match={"$ref": _of("FaultMatch")},
    inject={"$ref": _of("FaultInjection")},
    count=_said(_NUMBER, "How often at most; without it there is no end."),
    share={"type": "number", "description": "Which share of the requests, like 0.1; all of them by default."},
    seed=_said(_NUMBER, "Draws by share repeat themselves for the same seed; without one nobody can tell."),
)
_FAULT_MATCH: Final = _part(
    "Which requests; what is left out matches all.",
    component=_said(_TEXT, "Who asks: a component, by the beginning of its User-Agent."),
    server=_said(_TEXT, "Who is asked: an API server by its component's name."),
    userAgent=_said(_TEXT, "What the User-Agent contains."),
    verbs=_said(_NAMES, "Verbs as in RBAC: get, list, watch, create, update, patch, delete, deletecollection."),
    resources=_said(_NAMES, "Resources as in RBAC: pods, pods/status, leases.coordination.k8s.io."),
    namespace=_said(_TEXT, "The namespace asked about."),
    name=_said(_TEXT, "The object asked about."),
)
_FAULT_INJECTION: Final = _part(
    "What goes wrong. A delay goes with any of the others, which exclude each other.",
    delaySeconds={"type": "number", "description": "The answer waits so long."},
    status={"$ref": _of("FaultStatusAnswer")},
    dropWatch=_said(_SWITCH, "Watches are cut off, those that are open too."),
    expired=_said(_SWITCH, "Lists and watches from a resourceVersion are answered 410."),
    staleReads=_said(_SWITCH, "Reads show what was stored when this was asked for."),
)
_FAULT_ANSWER: Final = _part(
    "The answer instead of the real one.",
    code={"type": "integer", "format": "int32", "description": "The HTTP status code, 400 to 599."},
    reason=_said(_TEXT, "The reason in the Status; by default that of the code."),
    message=_said(_TEXT, "The message in the Status."),
    retryAfterSeconds={"type": "integer", "format": "int32", "description": "When to come again."},
)
_FAULT_STATUS: Final = _part(
    "What went wrong so far.",
    observedGeneration=_GENERATION,
    phase=_said(_TEXT, "Active, or Exhausted when its count is reached."),
    injected=_said(_NUMBER, "How often it went wrong."),
    revision=_said(_NUMBER, "The resourceVersion that stale reads show."),
)
DEFINITIONS: Final[Mapping[str, Object]] = {
    f"{_PREFIX}{name}": schema
    for name, schema in (
        ("Condition", _CONDITION),
        ("Component", _whole("Component", "Component is a part of the control plane, or a kubelet.")),
        ("ComponentSpec", _COMPONENT_SPEC),
        ("ComponentStatus", _COMPONENT_STATUS),
        ("Clock", _whole("Clock", "Clock is the time of the cluster.")),
        ("ClockSpec", _CLOCK_SPEC),
        ("ClockStatus", _CLOCK_STATUS),
        ("Snapshot", _whole("Snapshot", "Snapshot is the state of the cluster at one moment, kept.")),
        ("SnapshotSpec", _SNAPSHOT_SPEC),
        ("SnapshotStatus", _SNAPSHOT_STATUS),
        ("Fault", _whole("Fault", "Fault is something that goes wrong between the cluster and its clients.")),
        ("FaultSpec", _FAULT_SPEC),
        ("FaultMatch", _FAULT_MATCH),
        ("FaultInjection", _FAULT_INJECTION),
        ("FaultStatusAnswer", _FAULT_ANSWER),
        ("FaultStatus", _FAULT_STATUS),
    )
}
# Fields whose empty value has a meaning, so they are encoded when set to it.
_POINTERS: Final = {
    f"{_PREFIX}{name}": fields
    for name, fields in (
        ("ComponentSpec", ("running",)),
        ("ComponentStatus", ("running",)),
        ("SnapshotStatus", ("objects", "bytes")),
        ("FaultSpec", ("match", "inject", "count", "share", "seed")),
        ("FaultInjection", ("status",)),
        ("FaultStatus", ("injected",)),
    )
}


class ControlSchema(Schema):
    """Types of the control kinds, in addition to those of one Kubernetes version."""

    @cached_property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """JSON schemas of types by full name."""
        return {**Schema(self.version).definitions, **DEFINITIONS}

    def node(self, definition: str) -> Node:
        """Return the type of a full name."""
        node = super().node(definition)
        for name in _POINTERS.get(definition, ()):
            node.fields[name] = replace(node.fields[name], pointer=True)
        return node


def published(kind: str) -> Object:
    """Return the OpenAPI schema of a kind with its references inlined, as a CRD has it."""
    whole = _written_out(DEFINITIONS[_PREFIX + kind])
    properties = {name: schema for name, schema in whole["properties"].items() if name in ("spec", "status")}
    return {"description": whole["description"], "type": "object", "properties": properties}


def _written_out(schema: Mapping[str, Any]) -> Object:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        # Only metadata refers to a foreign type; `published` drops it anyway.
        return _written_out(DEFINITIONS[name]) if name in DEFINITIONS else {"type": "object"}
    out = dict(schema)
    if "properties" in schema:
        out["properties"] = {name: _written_out(value) for name, value in schema["properties"].items()}
    if "items" in schema:
        out["items"] = _written_out(schema["items"])
    return out
