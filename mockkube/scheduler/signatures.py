"""What pods have in common for those who judge nodes one by one: equal signatures, equal answers."""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.pod_info import PodInfo

_OF_CONTAINERS: Final = ("image", "ports", "resources", "restartPolicy", "restartPolicyRules")
_NOT_OF_PODS: Final = frozenset((
    "activeDeadlineSeconds",
    "automountServiceAccountToken",
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
"""What no plugin judges a node by."""
_ANYWHERE: Final = frozenset(("configMap", "downwardAPI", "emptyDir", "hostPath", "projected", "secret"))
"""The kinds of volumes that any node has."""


def signature(pod: PodInfo) -> bytes:
    """Return the signature of a pod; labels and annotations are no part of it."""
    return pod.part(signature, _read)


def _read(pod: PodInfo) -> bytes:
    spec = pod.spec
    parts = [
        pod.namespace,
        pod.node_name,
        {name: value for name, value in spec.items() if name not in _NOT_OF_PODS},
        _containers(spec.get("containers") or ()),
        _containers(spec.get("initContainers") or ()),
        [volume for volume in spec.get("volumes") or () if not _ANYWHERE.intersection(volume)],
    ]
    return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)


def _containers(containers: Iterable[ReadOnlyObject]) -> list[list[Any]]:
    return [[*(one.get(name) for name in _OF_CONTAINERS), _mounted_specially(one)] for one in containers]


def _mounted_specially(container: ReadOnlyObject) -> bool:
    """Whether a container has a mount that not every kubelet can make."""
    return any("bindMountOptions" in mount for mount in container.get("volumeMounts") or ())
