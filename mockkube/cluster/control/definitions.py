"""What the control kinds hold: their fields, as decoders and as `kubectl explain` want to know them."""

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
_SPEC: Final = _part(
    "What a component is told. A change of version or gates is a restart.",
    version=_said(_TEXT, "The Kubernetes version it is of, like 1.36; by default that of the cluster."),
    featureGates=_said(_GATES, "What --feature-gates would say; other gates are as the version has them."),
    running={"type": "boolean", "description": "Whether it is to run; true by default."},
)
_STATUS: Final = _part(
    "What a component does.",
    observedGeneration={"type": "integer", "format": "int64", "description": "The generation this is about."},
    phase=_said(_TEXT, "Running, Stopped or Failed."),
    running={"type": "boolean", "description": "Whether it runs."},
    version=_said(_TEXT, "The version it is of."),
    featureGates=_said(_GATES, "Every gate it knows, on or off."),
    url=_said(_TEXT, "Where an API server answers."),
    conditions=_CONDITIONS,
)
DEFINITIONS: Final[Mapping[str, Object]] = {
    f"{_PREFIX}Condition": _CONDITION,
    f"{_PREFIX}Component": _whole("Component", "Component is a part of the control plane, or a kubelet."),
    f"{_PREFIX}ComponentSpec": _SPEC,
    f"{_PREFIX}ComponentStatus": _STATUS,
}
_POINTERS: Final = {f"{_PREFIX}ComponentSpec": ("running",), f"{_PREFIX}ComponentStatus": ("running",)}
"""Fields whose empty value says something."""


class ControlSchema(Schema):
    """The types of the control kinds, beside those of one Kubernetes version."""

    @cached_property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """The JSON schema of each type by its full name."""
        return {**Schema(self.version).definitions, **DEFINITIONS}

    def node(self, definition: str) -> Node:
        """The type with this full name."""
        node = super().node(definition)
        for name in _POINTERS.get(definition, ()):
            node.fields[name] = replace(node.fields[name], pointer=True)
        return node


def published(kind: str) -> Object:
    """Return the OpenAPI schema of a kind, what it refers to written out, as a definition of custom resources would."""
    whole = _written_out(DEFINITIONS[_PREFIX + kind])
    properties = {name: schema for name, schema in whole["properties"].items() if name in ("spec", "status")}
    return {"description": whole["description"], "type": "object", "properties": properties}


def _written_out(schema: Mapping[str, Any]) -> Object:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _written_out(DEFINITIONS[name]) if name in DEFINITIONS else {"type": "object"}
    out = dict(schema)
    if "properties" in schema:
        out["properties"] = {name: _written_out(value) for name, value in schema["properties"].items()}
    if "items" in schema:
        out["items"] = _written_out(schema["items"])
    return out
