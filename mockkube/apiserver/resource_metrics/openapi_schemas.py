"""OpenAPI schemas of NodeMetrics and PodMetrics."""

# upstream 1.36: staging/src/k8s.io/metrics/pkg/apis/metrics/v1beta1/types.go
from typing import Final

from mockkube.api.catalogue import KindInfo
from mockkube.api.json_objects import Object, ReadOnlyObject

_VERBS: Final = ("get", "list")
_GROUP: Final = "metrics.k8s.io"
_VERSIONS: Final = ("v1beta1",)
_USAGE: Final[Object] = {
    "description": "Usage by resource: cpu in cores, memory in bytes of the working set.",
    "type": "object",
    "additionalProperties": {"type": "string"},
}
_INTERVAL: Final[Object] = {
    "timestamp": {
        "description": "End of the interval in which usage was measured.",
        "type": "string",
        "format": "date-time",
    },
    "window": {"description": "Length of the interval, a duration like 15s.", "type": "string"},
}
_NODE_METRICS: Final[ReadOnlyObject] = {
    "description": "NodeMetrics has the resource usage of a node.",
    "type": "object",
    "required": ["timestamp", "window", "usage"],
    "properties": {**_INTERVAL, "usage": _USAGE},
}
_CONTAINER_METRICS: Final[Object] = {
    "description": "Resource usage of a container.",
    "type": "object",
    "required": ["name", "usage"],
    "properties": {"name": {"description": "Name of the container.", "type": "string"}, "usage": _USAGE},
}
_POD_METRICS: Final[ReadOnlyObject] = {
    "description": "PodMetrics has the resource usage of a pod by container.",
    "type": "object",
    "required": ["timestamp", "window", "containers"],
    "properties": {
        **_INTERVAL,
        "containers": {
            "description": "Usage of all containers, measured in the same interval.",
            "type": "array",
            "items": _CONTAINER_METRICS,
        },
    },
}
KIND_SCHEMAS: Final = (
    (KindInfo(_GROUP, "NodeMetrics", "nodes", namespaced=False, verbs=_VERBS, versions=_VERSIONS), _NODE_METRICS),
    (KindInfo(_GROUP, "PodMetrics", "pods", verbs=_VERBS, versions=_VERSIONS), _POD_METRICS),
)
