"""CustomResourceDefinition of `stages.kwok.x-k8s.io`, with the validation that an OpenAPI schema can do.

upstream: github.com/kubernetes-sigs/kwok, kustomize/crd/bases/kwok.x-k8s.io_stages.yaml. Unknown fields are preserved.
Kubelets judge expressions and templates and report the result in the status; CEL rules would be no stricter, and cost
every start 8 MB.
"""

from collections.abc import Mapping
from typing import Final

from mockkube.api.json_objects import Object

GROUP: Final = "kwok.x-k8s.io"
CRD_NAME: Final = f"stages.{GROUP}"

_STRING: Final = {"type": "string"}
_BOOLEAN: Final = {"type": "boolean"}
_NUMBER: Final = {"type": "integer", "format": "int64", "minimum": 0}
_STRING_MAP: Final = {"type": "object", "additionalProperties": {"type": "string"}}


def _object_schema(properties: Mapping[str, Object], *required: str) -> Object:
    part: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": dict(properties)}
    return {**part, "required": list(required)} if required else part


def _list_schema(items: Object) -> Object:
    return {"type": "array", "items": items}


_COMPARISON: Final[dict[str, Object]] = {
    "key": _STRING,
    "operator": {"type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
    "values": _list_schema(_STRING),
}
_CEL: Final = _object_schema({"expression": _STRING})
_EXPRESSION_FROM: Final = _object_schema(
    {"expressionFrom": _STRING, "cel": _CEL, "jq": _object_schema({"expression": _STRING})}
)
_EVENT: Final = _object_schema({"type": _STRING, "reason": _STRING, "message": _STRING})
_FINALIZER_LIST: Final = _list_schema(_object_schema({"value": _STRING}, "value"))
_FINALIZERS: Final = _object_schema({"add": _FINALIZER_LIST, "remove": _FINALIZER_LIST, "empty": _BOOLEAN})
_PATCH_FIELDS: Final[dict[str, Object]] = {"subresource": _STRING, "root": _STRING, "template": _STRING}
_PATCH: Final = _object_schema({**_PATCH_FIELDS, "type": {"type": "string", "enum": ["json", "merge", "strategic"]}})
_APPLY: Final = _object_schema({**_PATCH_FIELDS, "type": {"type": "string", "enum": ["apply", "merge", "strategic"]}})
_REQUIREMENT: Final = _object_schema({**_COMPARISON, "cel": _CEL, "jq": _object_schema(_COMPARISON)})
_SELECTOR: Final = _object_schema(
    {
        "matchLabels": _STRING_MAP,
        "matchAnnotations": _STRING_MAP,
        "matchExpressions": _list_schema(_REQUIREMENT),
    }
)
_DELAY: Final = _object_schema(
    {
        "durationMilliseconds": _NUMBER,
        "durationFrom": _EXPRESSION_FROM,
        "jitterDurationMilliseconds": _NUMBER,
        "jitterDurationFrom": _EXPRESSION_FROM,
    }
)
_NEXT_FIELDS: Final[dict[str, Object]] = {"event": _EVENT, "finalizers": _FINALIZERS, "delete": _BOOLEAN}
_SPEC: Final = _object_schema(
    {
        "resourceRef": _object_schema({"apiGroup": _STRING, "kind": {"type": "string", "minLength": 1}}, "kind"),
        "selector": _SELECTOR,
        "weight": {"type": "integer", "minimum": 0},
        "weightFrom": _EXPRESSION_FROM,
        "delay": _DELAY,
        "next": _object_schema(
            {**_NEXT_FIELDS, "patches": _list_schema(_PATCH), "statusTemplate": _STRING, "statusSubresource": _STRING}
        ),
        "steps": _list_schema(_object_schema({**_NEXT_FIELDS, "patch": _PATCH, "apply": _APPLY})),
    },
    "resourceRef",
)
_STATUS: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
STAGE_CRD: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": CRD_NAME},
    "spec": {
        "group": GROUP,
        "names": {"kind": "Stage", "listKind": "StageList", "plural": "stages", "singular": "stage"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "description": "Stage says how an object goes on from one stage of its life to the next.",
                        "type": "object",
                        "required": ["spec"],
                        "properties": {"spec": _SPEC, "status": _STATUS},
                    }
                },
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "For", "type": "string", "jsonPath": ".spec.resourceRef.kind"},
                    {
                        "name": "Accepted",
                        "type": "string",
                        "jsonPath": ".status.conditions[?(@.type=='Accepted')].status",
                    },
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
            }
        ],
    },
}
