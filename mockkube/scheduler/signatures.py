"""Pod signatures: pods with equal signatures get equal cached verdicts from filters and scores.

Upstream's opportunistic batching (KEP-5598) has the same idea, with signatures made of fragments from each plugin.
"""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.pod_info import PodInfo

_OF_CONTAINERS: Final = ("image", "ports", "resources", "restartPolicy", "restartPolicyRules")
# Fields of the pod spec that no plugin of scope NODE or LOAD reads.
_NOT_OF_PODS: Final = frozenset((
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
_ANYWHERE: Final = frozenset(("configMap", "downwardAPI", "emptyDir", "hostPath", "projected", "secret"))


def signature(pod: PodInfo) -> bytes:
    """Return the signature of a pod; labels and annotations are not part of it."""
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
    # Bytes hash and compare much faster than nested structures, and they do not keep the pod alive.
    return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)


def _containers(containers: Iterable[ReadOnlyObject]) -> list[list[Any]]:
    return [[*(one.get(name) for name in _OF_CONTAINERS), _mounted_specially(one)] for one in containers]


def _mounted_specially(container: ReadOnlyObject) -> bool:
    """Return whether a container has a mount that not every kubelet supports."""
    return any("bindMountOptions" in mount for mount in container.get("volumeMounts") or ())
