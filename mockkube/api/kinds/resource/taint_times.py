"""Set `timeAdded` of device taints, the only default that needs the present time."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from mockkube.api.json_objects import Object

_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


def set_slice_taint_times(resource_slice: Object, now: datetime) -> None:
    """Set missing `timeAdded` of the taints in a ResourceSlice."""
    # upstream 1.36: pkg/apis/resource/v1/defaults.go, SetDefaults_DeviceTaint
    _set_missing_times(_device_taints(resource_slice.get("spec", {}).get("devices") or ()), now)


def set_taint_rule_time(rule: Object, now: datetime) -> None:
    """Set a missing `timeAdded` of the taint in a DeviceTaintRule."""
    _set_missing_times([rule.setdefault("spec", {}).setdefault("taint", {})], now)


def _device_taints(devices: Iterable[Object]) -> Iterator[Object]:
    """Yield the taints of all devices; v1beta1 nests them under `basic`."""
    for device in devices:
        yield from device.get("basic", device).get("taints") or ()


def _set_missing_times(taints: Iterable[Object], now: datetime) -> None:
    for taint in taints:
        taint.setdefault("timeAdded", now.strftime(_FORMAT))
