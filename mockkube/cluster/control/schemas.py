"""Schemas of the control kinds, for decoding and for `kubectl explain`."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from mockkube.api.json_objects import Object
from mockkube.api.lazy_table import LazyTable
from mockkube.api.schema import Schema, TypeNode

GROUP: Final = "control.mockkube.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

_PREFIX: Final = f"dev.mockkube.control.{VERSION}."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_STRING: Final = {"type": "string"}
_BOOLEAN: Final = {"type": "boolean"}
_NUMBER: Final = {"type": "integer", "format": "int64"}
_GATES: Final = {"type": "object", "additionalProperties": {"type": "boolean"}}


def _make_reference(kind: str) -> str:
    return f"#/$defs/{_PREFIX}{kind}"


def _make_kind_schema(kind: str, description: str) -> Object:
    return {
        "description": description,
        "type": "object",
        "properties": {
            "apiVersion": _STRING,
            "kind": _STRING,
            "metadata": {"$ref": f"#/$defs/{_META}"},
            "spec": {"$ref": _make_reference(f"{kind}Spec")},
            "status": {"$ref": _make_reference(f"{kind}Status")},
        },
        "x-kubernetes-group-version-kind": [{"group": GROUP, "version": VERSION, "kind": kind}],
    }


def _make_object_schema(description: str, **properties: Object) -> Object:
    return {"description": description, "type": "object", "properties": properties}


def _describe(kind: Mapping[str, Any], description: str) -> Object:
    return {**kind, "description": description}


_CONDITIONS: Final = {
    "description": "Conditions of the object.",
    "type": "array",
    "items": {"$ref": _make_reference("Condition")},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
_CONDITION: Final = _make_object_schema(
    "Condition of an object.",
    type=_describe(_STRING, "Type of the condition."),
    status=_describe(_STRING, "True, False or Unknown."),
    reason=_describe(_STRING, "Reason of the status, in one word."),
    message=_describe(_STRING, "Explanation of the status."),
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
_NAMES: Final = {"type": "array", "items": _STRING, "x-kubernetes-list-type": "atomic"}
_COMPONENT_SPEC: Final = _make_object_schema(
    "Version, feature gates and state that the component should have. A change restarts it.",
    version=_describe(_STRING, "Kubernetes version, like 1.36; by default that of the cluster."),
    featureGates=_describe(_GATES, "Feature gates as in --feature-gates; others have the default of the version."),
    running=_describe(_BOOLEAN, "Whether the component should run; true by default."),
    server=_describe(_STRING, "API server that the component uses; kube-apiserver by default. API servers have none."),
)
_COMPONENT_STATUS: Final = _make_object_schema(
    "Observed state of a component.",
    observedGeneration=_GENERATION,
    phase=_describe(_STRING, "Running, Standby, Stopped or Failed."),
    running=_describe(_BOOLEAN, "Whether the component runs."),
    version=_describe(_STRING, "Version of the component."),
    featureGates=_describe(_GATES, "Every feature gate that the component knows."),
    url=_describe(_STRING, "URL of an API server."),
    conditions=_CONDITIONS,
)
_CLOCK_SPEC: Final = _make_object_schema(
    "Mode of the clock, and the time to advance to.",
    mode=_describe(_STRING, "Real, or Virtual: time stands still until it is advanced. Fixed when the cluster starts."),
    advanceTo=_describe(_STRING, "Advance virtual time to this moment, like 2030-01-01T00:05:00Z."),
    advance=_describe(
        _STRING, "Advance virtual time by this duration, like 5m30s. Replaced by advanceTo when it is written."
    ),
)
_CLOCK_STATUS: Final = _make_object_schema(
    "Present time.",
    observedGeneration=_GENERATION,
    mode=_describe(_STRING, "Real or Virtual."),
    now=_describe(_STRING, "Present time; in real time that of the last report."),
    conditions=_CONDITIONS,
)
_SNAPSHOT_SPEC: Final = _make_object_schema(
    "Requests to restore the snapshot.",
    restore={
        "type": "integer",
        "format": "int64",
        "description": "Number of restores requested so far: a greater number restores the snapshot again.",
    },
)
_SNAPSHOT_STATUS: Final = _make_object_schema(
    "Saved state, and restores of it.",
    observedGeneration=_GENERATION,
    revision=_describe(_NUMBER, "resourceVersion of the saved state."),
    objects=_describe(_NUMBER, "Number of saved objects."),
    components=_describe(_NUMBER, "Number of components whose settings were saved."),
    bytes=_describe(_NUMBER, "Size of the saved state."),
    restored=_describe(_NUMBER, "Last spec.restore that was carried out."),
    conditions=_CONDITIONS,
)
_FAULT_SPEC: Final = _make_object_schema(
    "Requests that the fault matches, its effect, and how often it is injected.",
    match={"$ref": _make_reference("FaultMatch")},
    inject={"$ref": _make_reference("FaultInjection")},
    skip=_describe(_NUMBER, "Number of matching requests, or events of each watch, that pass first; 0 by default."),
    count=_describe(_NUMBER, "Maximum number of injections; unlimited by default."),
    share={"type": "number", "description": "Share of the matching requests, like 0.1; all of them by default."},
    seed=_describe(_NUMBER, "Seed of the random choice by share, to make it repeatable."),
)
_FAULT_MATCH: Final = _make_object_schema(
    "Requests that the fault matches; an empty field matches all.",
    component=_describe(_STRING, "Component that sends the request, by the beginning of its User-Agent."),
    server=_describe(_STRING, "API server that receives the request, by its component's name."),
    userAgent=_describe(_STRING, "Text that the User-Agent contains."),
    user=_describe(_STRING, "User that the request acts as, like system:serviceaccount:default:app."),
    verbs=_describe(_NAMES, "Verbs as in RBAC: get, list, watch, create, update, patch, delete, deletecollection."),
    resources=_describe(_NAMES, "Resources as in RBAC: pods, pods/status, leases.coordination.k8s.io."),
    namespace=_describe(_STRING, "Namespace of the request."),
    name=_describe(_STRING, "Object name of the request."),
    webhook=_describe(
        _STRING,
        "Calls of this admission webhook, or of all with *, instead of requests; the other fields match the request "
        "for which it is called.",
    ),
    fromCache=_describe(_BOOLEAN, "Only reads that a lagging cache may answer: those with resourceVersion=0."),
)
_FAULT_INJECTION: Final = _make_object_schema(
    "Effect of the fault. A delay can be combined with one of the others, which exclude each other.",
    delaySeconds={"type": "number", "description": "Delay of the response."},
    status={"$ref": _make_reference("FaultStatusAnswer")},
    dropWatch=_describe(_BOOLEAN, "Close the connections of watches, also of open ones."),
    expired=_describe(_BOOLEAN, "Answer lists and watches from a resourceVersion with 410."),
    staleReads=_describe(_BOOLEAN, "Answer reads with the state at the time of this request, or of resourceVersion."),
    resourceVersion=_describe(_STRING, "State that stale reads show, by the resourceVersion of a list."),
    afterEffect=_describe(_BOOLEAN, "With status: the write takes effect before it is answered with the error."),
    holdEvents=_describe(_BOOLEAN, "From a matching event on, watches deliver nothing until the fault is deleted."),
    missEvents=_describe(
        _BOOLEAN,
        "Watches do not deliver matching events: clients get the next state of the object instead, or its last "
        "state when the fault is deleted.",
    ),
    repeatEvents=_describe(_BOOLEAN, "Watches deliver matching events twice."),
)
_FAULT_ANSWER: Final = _make_object_schema(
    "Response instead of the real one.",
    code={"type": "integer", "format": "int32", "description": "HTTP status code, 400 to 599."},
    reason=_describe(_STRING, "Reason in the Status; by default that of the code."),
    message=_describe(_STRING, "Message in the Status."),
    retryAfterSeconds={
        "type": "integer",
        "format": "int32",
        "description": "Seconds after which the client may retry.",
    },
)
_FAULT_STATUS: Final = _make_object_schema(
    "Injections so far.",
    observedGeneration=_GENERATION,
    phase=_describe(_STRING, "Active, or Exhausted when the count is reached."),
    injected=_describe(_NUMBER, "Number of injections."),
    revision=_describe(_NUMBER, "resourceVersion that stale reads show."),
)
_TEXTS: Final = {"type": "object", "additionalProperties": _STRING}
_SECONDS: Final = {"type": "number"}
_NODE_GROUP_SPEC: Final = _make_object_schema(
    "Nodes that the group may have, and when they come and go.",
    minSize=_describe(_NUMBER, "Smallest number of nodes; 0 by default."),
    maxSize=_describe(_NUMBER, "Largest number of nodes."),
    instanceTypes={
        "type": "array",
        "items": {"$ref": _make_reference("NodeGroupInstanceType")},
        "description": "Types of the nodes; the cheapest one that helps is added.",
        "x-kubernetes-list-type": "atomic",
    },
    zones=_describe(_NAMES, "Zones over which the nodes are spread."),
    labels=_describe(_TEXTS, "Labels of the nodes."),
    taints={
        "type": "array",
        "items": {"$ref": _make_reference("NodeGroupTaint")},
        "description": "Taints of the nodes.",
        "x-kubernetes-list-type": "atomic",
    },
    limits=_describe(_TEXTS, "Resources that all nodes of the group may have together, like cpu: 100."),
    nodeSelector=_describe(_TEXTS, "Labels of existing nodes that belong to the group, too."),
    provisionSeconds=_describe(_SECONDS, "Time until a new node registers; 60 by default."),
    scaleDown={"$ref": _make_reference("NodeGroupScaleDown")},
    disruption={"$ref": _make_reference("NodeGroupDisruption")},
)
_NODE_GROUP_INSTANCE_TYPE: Final = _make_object_schema(
    "Type of instance.",
    name=_describe(_STRING, "Name of the type, which nodes have as label node.kubernetes.io/instance-type."),
    capacity=_describe(_TEXTS, "Resources of a node, like cpu: 4 and memory: 16Gi."),
    pricePerHour={"type": "number", "description": "Price of a node per hour, in any currency."},
)
_NODE_GROUP_TAINT: Final = _make_object_schema(
    "Taint of the nodes.",
    key=_describe(_STRING, "Key of the taint."),
    value=_describe(_STRING, "Value of the taint."),
    effect=_describe(_STRING, "NoSchedule, PreferNoSchedule or NoExecute."),
)
_NODE_GROUP_SCALE_DOWN: Final = _make_object_schema(
    "When nodes are removed.",
    disabled=_describe(_BOOLEAN, "Never remove nodes."),
    utilizationThreshold={
        "type": "number",
        "description": "Share of cpu and memory that is requested, below which a node may go; 0.5 by default.",
    },
    unneededSeconds=_describe(_SECONDS, "Time for which a node is not needed before it goes; 600 by default."),
    delayAfterAddSeconds=_describe(_SECONDS, "Time after adding nodes in which none goes; 600 by default."),
)
_NODE_GROUP_DISRUPTION: Final = _make_object_schema(
    "Consolidation of the nodes as by Karpenter, in place of scaleDown.",
    consolidationPolicy=_describe(
        _STRING, "WhenEmpty, or WhenEmptyOrUnderutilized (default): which nodes are removed."
    ),
    consolidateAfter=_describe(
        _STRING, "Time after a pod comes or goes in which a node is left alone, like 30s; 0s by default, or Never."
    ),
    budgets={
        "type": "array",
        "items": {"$ref": _make_reference("NodeGroupDisruptionBudget")},
        "description": "Nodes that may be disrupted at a time; by default 10% of them.",
        "x-kubernetes-list-type": "atomic",
    },
)
_NODE_GROUP_DISRUPTION_BUDGET: Final = _make_object_schema(
    "Nodes that may be disrupted at a time.",
    nodes=_describe(_STRING, "Number, or percentage of the nodes, which is rounded up; 10% by default."),
    reasons=_describe(_NAMES, "Empty, Underutilized or Drifted; all by default."),
    schedule=_describe(_STRING, "Times in UTC at which the budget begins to apply, in the syntax of cron."),
    duration=_describe(_STRING, "Time for which the budget applies, like 8h; required with schedule."),
)
_NODE_GROUP_STATUS: Final = _make_object_schema(
    "Nodes of the group.",
    observedGeneration=_GENERATION,
    size=_describe(_NUMBER, "Number of nodes, with those that come and without those that go."),
    ready=_describe(_NUMBER, "Number of ready nodes."),
    coming=_describe(_NUMBER, "Number of nodes that were ordered and have not registered."),
    unneeded=_describe(_NUMBER, "Number of nodes that are not needed at present."),
    leaving=_describe(_NUMBER, "Number of nodes that are being removed."),
    consolidated=_describe(_NUMBER, "Number of nodes that consolidation removed."),
    pricePerHour=_describe(_STRING, "Price of all registered nodes per hour."),
)
DEFINITIONS: Final[Mapping[str, Object]] = {
    f"{_PREFIX}{name}": schema
    for name, schema in (
        ("Condition", _CONDITION),
        ("Component", _make_kind_schema("Component", "Component is a component of the control plane, or a kubelet.")),
        ("ComponentSpec", _COMPONENT_SPEC),
        ("ComponentStatus", _COMPONENT_STATUS),
        ("Clock", _make_kind_schema("Clock", "Clock is the time of the cluster.")),
        ("ClockSpec", _CLOCK_SPEC),
        ("ClockStatus", _CLOCK_STATUS),
        ("Snapshot", _make_kind_schema("Snapshot", "Snapshot is the saved state of the cluster at one moment.")),
        ("SnapshotSpec", _SNAPSHOT_SPEC),
        ("SnapshotStatus", _SNAPSHOT_STATUS),
        (
            "Fault",
            _make_kind_schema(
                "Fault", "Fault is an error injected between the cluster's API servers and their clients."
            ),
        ),
        ("FaultSpec", _FAULT_SPEC),
        ("FaultMatch", _FAULT_MATCH),
        ("FaultInjection", _FAULT_INJECTION),
        ("FaultStatusAnswer", _FAULT_ANSWER),
        ("FaultStatus", _FAULT_STATUS),
        (
            "NodeGroup",
            _make_kind_schema("NodeGroup", "NodeGroup is a group of nodes that grows and shrinks with the pods."),
        ),
        ("NodeGroupSpec", _NODE_GROUP_SPEC),
        ("NodeGroupInstanceType", _NODE_GROUP_INSTANCE_TYPE),
        ("NodeGroupTaint", _NODE_GROUP_TAINT),
        ("NodeGroupScaleDown", _NODE_GROUP_SCALE_DOWN),
        ("NodeGroupDisruption", _NODE_GROUP_DISRUPTION),
        ("NodeGroupDisruptionBudget", _NODE_GROUP_DISRUPTION_BUDGET),
        ("NodeGroupStatus", _NODE_GROUP_STATUS),
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
        ("NodeGroupSpec", ("minSize", "provisionSeconds", "scaleDown", "disruption")),
        ("NodeGroupInstanceType", ("pricePerHour",)),
        ("NodeGroupScaleDown", ("utilizationThreshold", "unneededSeconds", "delayAfterAddSeconds")),
        ("NodeGroupStatus", ("size", "ready", "coming", "unneeded", "leaving", "consolidated")),
    )
}


class ControlSchema(Schema):
    """Types of the control kinds, in addition to those of one Kubernetes version."""

    @cached_property
    def definitions(self) -> LazyTable:
        """JSON schemas of types by full name."""
        return Schema(self.version).definitions.with_entries(DEFINITIONS)

    def get_type(self, definition: str) -> TypeNode:
        """Return the type of a full name."""
        node = super().get_type(definition)
        for name in _POINTERS.get(definition, ()):
            node.fields[name] = replace(node.fields[name], pointer=True)
        return node


def make_published_schema(kind: str) -> Object:
    """Return the OpenAPI schema of a kind with its references inlined, as a CRD has it."""
    inlined = _inline_references(DEFINITIONS[_PREFIX + kind])
    properties = {name: schema for name, schema in inlined["properties"].items() if name in ("spec", "status")}
    return {"description": inlined["description"], "type": "object", "properties": properties}


def _inline_references(schema: Mapping[str, Any]) -> Object:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        # Only metadata refers to a foreign type; `make_published_schema` drops it anyway.
        return _inline_references(DEFINITIONS[name]) if name in DEFINITIONS else {"type": "object"}
    out = dict(schema)
    if "properties" in schema:
        out["properties"] = {name: _inline_references(value) for name, value in schema["properties"].items()}
    if "items" in schema:
        out["items"] = _inline_references(schema["items"])
    return out
