"""CustomResourceDefinition of `stages.kwok.x-k8s.io`, with the validation that an OpenAPI schema can do.

upstream: github.com/kubernetes-sigs/kwok, kustomize/crd/bases/kwok.x-k8s.io_stages.yaml. Unknown fields are preserved.
Kubelets judge expressions and templates and report the result in the status; CEL rules would be no stricter, and cost
every start 8 MB.
"""

from collections.abc import Mapping
from typing import Final

from mockkube.api.types import Object

GROUP: Final = "kwok.x-k8s.io"
NAME: Final = f"stages.{GROUP}"

_TEXT: Final = {"type": "string"}
_SWITCH: Final = {"type": "boolean"}
_NUMBER: Final = {"type": "integer", "format": "int64", "minimum": 0}
_TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}


def _part(properties: Mapping[str, Object], *required: str) -> Object:
    part: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": dict(properties)}
    return {**part, "required": list(required)} if required else part


def _list(items: Object) -> Object:
    return {"type": "array", "items": items}


_COMPARISON: Final[dict[str, Object]] = {
    "key": _TEXT,
    "operator": {"type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
    "values": _list(_TEXT),
}
_CEL: Final = _part({"expression": _TEXT})
_FROM: Final = _part({"expressionFrom": _TEXT, "cel": _CEL, "jq": _part({"expression": _TEXT})})
_EVENT: Final = _part({"type": _TEXT, "reason": _TEXT, "message": _TEXT})
_NAMED: Final = _list(_part({"value": _TEXT}, "value"))
_FINALIZERS: Final = _part({"add": _NAMED, "remove": _NAMED, "empty": _SWITCH})
_CHANGE: Final[dict[str, Object]] = {"subresource": _TEXT, "root": _TEXT, "template": _TEXT}
_PATCH: Final = _part({**_CHANGE, "type": {"type": "string", "enum": ["json", "merge", "strategic"]}})
_APPLY: Final = _part({**_CHANGE, "type": {"type": "string", "enum": ["apply", "merge", "strategic"]}})
_REQUIREMENT: Final = _part({**_COMPARISON, "cel": _CEL, "jq": _part(_COMPARISON)})
_SELECTOR: Final = _part(
    {
        "matchLabels": _TEXTS,
        "matchAnnotations": _TEXTS,
        "matchExpressions": _list(_REQUIREMENT),
    }
)
_DELAY: Final = _part(
    {
        "durationMilliseconds": _NUMBER,
        "durationFrom": _FROM,
        "jitterDurationMilliseconds": _NUMBER,
        "jitterDurationFrom": _FROM,
    }
)
_DONE: Final[dict[str, Object]] = {"event": _EVENT, "finalizers": _FINALIZERS, "delete": _SWITCH}
_SPEC: Final = _part(
    {
        "resourceRef": _part({"apiGroup": _TEXT, "kind": {"type": "string", "minLength": 1}}, "kind"),
        "selector": _SELECTOR,
        "weight": {"type": "integer", "minimum": 0},
        "weightFrom": _FROM,
        "delay": _DELAY,
        "next": _part({**_DONE, "patches": _list(_PATCH), "statusTemplate": _TEXT, "statusSubresource": _TEXT}),
        "steps": _list(_part({**_DONE, "patch": _PATCH, "apply": _APPLY})),
    },
    "resourceRef",
)
_STATUS: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
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
