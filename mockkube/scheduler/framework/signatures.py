"""Pod signatures: pods with equal signatures get equal cached verdicts from filters and scores.

Upstream's opportunistic batching (KEP-5598) has the same idea, with signatures made of fragments from each plugin.
"""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.scheduler.framework.pod_info import PodInfo

_CONTAINER_FIELDS: Final = ("image", "ports", "resources", "restartPolicy", "restartPolicyRules")
# Fields of the pod spec that no plugin of scope NODE or LOAD reads.
_IGNORED_POD_FIELDS: Final = frozenset((
    "activeDeadlineSeconds",
    "automountServiceAccountToken",
    # Containers and volumes are signed separately, reduced to the fields that plugins read.
    "containers",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostname",
    "imagePullSecrets",
    "initContainers",
    "nodeName",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "restartPolicy",
    "schedulingGates",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "subdomain",
    "terminationGracePeriodSeconds",
    "volumes",
))  # fmt: skip
# Volume types that are available on any node.
_LOCAL_VOLUME_TYPES: Final = frozenset(("configMap", "downwardAPI", "emptyDir", "hostPath", "projected", "secret"))


def sign_pod(pod: PodInfo) -> bytes:
    """Return the signature of a pod; labels and annotations are not part of it."""
    return pod.derive(sign_pod, _compute_signature)


def _compute_signature(pod: PodInfo) -> bytes:
    # Neither a namespace nor the name of a node contains a slash.
    return f"{pod.namespace}/{pod.node_name}/".encode() + pod.derive_from_spec(sign_pod, _sign_spec)


def _sign_spec(spec: ReadOnlyObject) -> bytes:
    parts = [
        {name: value for name, value in spec.items() if name not in _IGNORED_POD_FIELDS},
        _sign_containers(spec.get("containers") or ()),
        _sign_containers(spec.get("initContainers") or ()),
        [volume for volume in spec.get("volumes") or () if not _LOCAL_VOLUME_TYPES.intersection(volume)],
    ]
    # Bytes hash and compare much faster than nested structures, and they do not keep the pod alive.
    return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)


def _sign_containers(containers: Iterable[ReadOnlyObject]) -> list[list[Any]]:
    return [[*(one.get(name) for name in _CONTAINER_FIELDS), _has_bind_mount_options(one)] for one in containers]


def _has_bind_mount_options(container: ReadOnlyObject) -> bool:
    """Return whether a container has a mount that not every kubelet supports."""
    return any("bindMountOptions" in mount for mount in container.get("volumeMounts") or ())
