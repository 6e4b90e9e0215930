"""Files of a container's control group: the CPU and memory that the kubelet has given it.

upstream 1.36: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, pkg/kubelet/cm/helpers_linux.go
"""

import math
from collections.abc import Mapping
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse

CGROUP_DIRECTORY: Final = "/sys/fs/cgroup"
_PERIOD_MICROSECONDS: Final = 100_000
_QUOTA_MIN: Final = 1000
_SHARES_MIN: Final = 2
_SHARES_MAX: Final = 262_144
_WEIGHT_MAX: Final = 10_000
_STATUS_FIELDS: Final = ("containerStatuses", "initContainerStatuses")


def render_cgroup_files(pod: ReadOnlyObject, container: ReadOnlyObject) -> dict[str, str]:
    """Return the texts of the files for limits and CPU weight."""
    resources = _find_actual_resources(pod, container)
    requests: Mapping[str, str] = resources.get("requests") or {}
    # A container without a limit of its own has that of its pod.
    pod_limits = (pod["spec"].get("resources") or {}).get("limits") or {}
    limits: Mapping[str, str] = {**pod_limits, **(resources.get("limits") or {})}
    cpu, memory = _parse_milli(limits.get("cpu")), limits.get("memory")
    quota = str(max(cpu * _PERIOD_MICROSECONDS // 1000, _QUOTA_MIN)) if cpu else "max"
    memory_bytes = parse(memory).value() if memory else 0
    files = {
        "cpu.max": f"{quota} {_PERIOD_MICROSECONDS}",
        "cpu.weight": str(_to_weight(_parse_milli(requests.get("cpu")) or cpu)),
        "memory.max": str(memory_bytes) if memory_bytes else "max",
    }
    return {f"{CGROUP_DIRECTORY}/{name}": f"{text}\n" for name, text in files.items()}


def _find_actual_resources(pod: ReadOnlyObject, container: ReadOnlyObject) -> ReadOnlyObject:
    """Return the resources that the kubelet has given a container, which lag behind its spec during a resize."""
    status = pod.get("status") or {}
    shown = (one for key in _STATUS_FIELDS for one in status.get(key) or () if one["name"] == container["name"])
    actual = next(shown, None)
    return (actual and actual.get("resources")) or container.get("resources") or {}


def _parse_milli(text: str | None) -> int:
    return parse(text).milli() if text else 0


def _to_weight(milli_cpu: int) -> int:
    """Return the weight of CPU in a control group of version 2, as runc converts it from that of version 1."""
    shares = milli_cpu * 1024 // 1000
    if shares <= _SHARES_MIN:
        return 1
    if shares >= _SHARES_MAX:
        return _WEIGHT_MAX
    # A quadratic function of the logarithm, through minimum, default and maximum of both scales.
    logarithm = math.log2(shares)
    return math.ceil(10 ** ((logarithm * logarithm + 125 * logarithm) / 612 - 7 / 34))
