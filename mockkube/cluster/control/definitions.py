"""Schemas of the control kinds, for decoding and for `kubectl explain`."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from mockkube.api.schema import Schema, TypeNode
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
    "description": "Conditions of the object.",
    "type": "array",
    "items": {"$ref": _of("Condition")},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
_CONDITION: Final = _part(
    "Condition of an object.",
    type=_said(_TEXT, "Type of the condition."),
    status=_said(_TEXT, "True, False or Unknown."),
    reason=_said(_TEXT, "Reason of the status, in one word."),
    message=_said(_TEXT, "Explanation of the status."),
    lastTransitionTime={
        "type": "string",
        "format": "date-time",
        "description": "Time of the last change of the status.",
    },
)
_GENERATION: Final = {
    "type": "integer",
    "format": "int64",
    "description": "Generation of the spec that this status is about.",
}
_NAMES: Final = {"type": "array", "items": _TEXT, "x-kubernetes-list-type": "atomic"}
_COMPONENT_SPEC: Final = _part(
    "Version, feature gates and state that the component should have. A change restarts it.",
    version=_said(_TEXT, "Kubernetes version, like 1.36; by default that of the cluster."),
    featureGates=_said(_GATES, "Feature gates as in --feature-gates; others have the default of the version."),
    running=_said(_SWITCH, "Whether the component should run; true by default."),
    server=_said(_TEXT, "API server that the component uses; kube-apiserver by default. API servers have none."),
)
_COMPONENT_STATUS: Final = _part(
    "Observed state of a component.",
    observedGeneration=_GENERATION,
    phase=_said(_TEXT, "Running, Stopped or Failed."),
    running=_said(_SWITCH, "Whether the component runs."),
    version=_said(_TEXT, "Version of the component."),
    featureGates=_said(_GATES, "Every feature gate that the component knows."),
    url=_said(_TEXT, "URL of an API server."),
    conditions=_CONDITIONS,
)
_CLOCK_SPEC: Final = _part(
    "Mode of the clock, and the time to advance to.",
    mode=_said(_TEXT, "Real, or Virtual: time stands still until it is advanced. Fixed when the cluster starts."),
    advanceTo=_said(_TEXT, "Advance virtual time to this moment, like 2030-01-01T00:05:00Z."),
    advance=_said(
        _TEXT, "Advance virtual time by this duration, like 5m30s. Replaced by advanceTo when it is written."
    ),
)
_CLOCK_STATUS: Final = _part(
    "Present time.",
    observedGeneration=_GENERATION,
    mode=_said(_TEXT, "Real or Virtual."),
    now=_said(_TEXT, "Present time; in real time that of the last report."),
    conditions=_CONDITIONS,
)
_SNAPSHOT_SPEC: Final = _part(
    "Requests to restore the snapshot.",
    restore={
        "type": "integer",
        "format": "int64",
        "description": "Number of restores requested so far: a greater number restores the snapshot again.",
    },
)
_SNAPSHOT_STATUS: Final = _part(
    "Saved state, and restores of it.",
    observedGeneration=_GENERATION,
    revision=_said(_NUMBER, "resourceVersion of the saved state."),
    objects=_said(_NUMBER, "Number of saved objects."),
    components=_said(_NUMBER, "Number of components whose settings were saved."),
    bytes=_said(_NUMBER, "Size of the saved state."),
    restored=_said(_NUMBER, "Last spec.restore that was carried out."),
    conditions=_CONDITIONS,
)
_FAULT_SPEC: Final = _part(
    "Requests that the fault matches, its effect, and how often it is injected.",
    match={"$ref": _of("FaultMatch")},
    inject={"$ref": _of("FaultInjection")},
    count=_said(_NUMBER, "Maximum number of injections; unlimited by default."),
    share={"type": "number", "description": "Share of the matching requests, like 0.1; all of them by default."},
    seed=_said(_NUMBER, "Seed of the random choice by share, to make it repeatable."),
)
_FAULT_MATCH: Final = _part(
    "Requests that the fault matches; an empty field matches all.",
    component=_said(_TEXT, "Component that sends the request, by the beginning of its User-Agent."),
    server=_said(_TEXT, "API server that receives the request, by its component's name."),
    userAgent=_said(_TEXT, "Text that the User-Agent contains."),
    verbs=_said(_NAMES, "Verbs as in RBAC: get, list, watch, create, update, patch, delete, deletecollection."),
    resources=_said(_NAMES, "Resources as in RBAC: pods, pods/status, leases.coordination.k8s.io."),
    namespace=_said(_TEXT, "Namespace of the request."),
    name=_said(_TEXT, "Object name of the request."),
)
_FAULT_INJECTION: Final = _part(
    "Effect of the fault. A delay can be combined with one of the others, which exclude each other.",
    delaySeconds={"type": "number", "description": "Delay of the response."},
    status={"$ref": _of("FaultStatusAnswer")},
    dropWatch=_said(_SWITCH, "Close the connections of watches, also of open ones."),
    expired=_said(_SWITCH, "Answer lists and watches from a resourceVersion with 410."),
    staleReads=_said(_SWITCH, "Answer reads with the state at the time of this request."),
)
_FAULT_ANSWER: Final = _part(
    "Response instead of the real one.",
    code={"type": "integer", "format": "int32", "description": "HTTP status code, 400 to 599."},
    reason=_said(_TEXT, "Reason in the Status; by default that of the code."),
    message=_said(_TEXT, "Message in the Status."),
    retryAfterSeconds={
        "type": "integer",
        "format": "int32",
        "description": "Seconds after which the client may retry.",
    },
)
_FAULT_STATUS: Final = _part(
    "Injections so far.",
    observedGeneration=_GENERATION,
    phase=_said(_TEXT, "Active, or Exhausted when the count is reached."),
    injected=_said(_NUMBER, "Number of injections."),
    revision=_said(_NUMBER, "resourceVersion that stale reads show."),
)
DEFINITIONS: Final[Mapping[str, Object]] = {
    f"{_PREFIX}{name}": schema
    for name, schema in (
        ("Condition", _CONDITION),
        ("Component", _whole("Component", "Component is a component of the control plane, or a kubelet.")),
        ("ComponentSpec", _COMPONENT_SPEC),
        ("ComponentStatus", _COMPONENT_STATUS),
        ("Clock", _whole("Clock", "Clock is the time of the cluster.")),
        ("ClockSpec", _CLOCK_SPEC),
        ("ClockStatus", _CLOCK_STATUS),
        ("Snapshot", _whole("Snapshot", "Snapshot is the saved state of the cluster at one moment.")),
        ("SnapshotSpec", _SNAPSHOT_SPEC),
        ("SnapshotStatus", _SNAPSHOT_STATUS),
        ("Fault", _whole("Fault", "Fault is an error injected between the cluster's API servers and their clients.")),
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

    def get_type(self, definition: str) -> TypeNode:
        """Return the type of a full name."""
        node = super().get_type(definition)
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
        # Only metadata refers to a foreign type; `make_published_schema` drops it anyway.
        return _written_out(DEFINITIONS[name]) if name in DEFINITIONS else {"type": "object"}
    out = dict(schema)
    if "properties" in schema:
        out["properties"] = {name: _written_out(value) for name, value in schema["properties"].items()}
    if "items" in schema:
        out["items"] = _written_out(schema["items"])
    return out
