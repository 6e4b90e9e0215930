"""Status of an autoscaler during one reconciliation."""

from collections.abc import Sequence
from datetime import datetime

from mockkube.api.conditions import find_condition, make_condition, with_condition
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time

SCALED_TO_ZERO = "ScaledToZero"


class AutoscalerStatus:
    """Status that an autoscaler gets: the stored one with changed conditions and numbers."""

    def __init__(self, autoscaler: ReadOnlyObject, now: datetime, *, tracks_generation: bool) -> None:
        self._stored: ReadOnlyObject = autoscaler.get("status") or {}
        self._generation = autoscaler["metadata"].get("generation", 0) if tracks_generation else None
        self._now = render_time(now)
        self._fields: Object = {name: value for name, value in self._stored.items() if name != "conditions"}
        self._conditions: list[ReadOnlyObject] = list(self._stored.get("conditions") or ())

    @property
    def current_replicas(self) -> int:
        """Replicas of the workload as of the last reconciliation."""
        replicas: int = self._stored.get("currentReplicas", 0)
        return replicas

    @property
    def desired_replicas(self) -> int:
        """Replicas that the last reconciliation asked for."""
        replicas: int = self._stored.get("desiredReplicas", 0)
        return replicas

    def holds(self, kind: str) -> bool:
        """Return whether a condition is True."""
        condition = find_condition(self._conditions, kind)
        return condition is not None and condition["status"] == "True"

    def set_condition(self, kind: str, *, holds: bool, reason: str, message: str) -> None:
        """Set a condition; its time changes only with its status."""
        condition = make_condition(kind, holds=holds, reason=reason, message=message)
        self._conditions = with_condition(self._conditions, condition, self._now)

    def remove_condition(self, kind: str) -> None:
        """Remove a condition."""
        self._conditions = [one for one in self._conditions if one["type"] != kind]

    def set_numbers(
        self, current: int, desired: int, metrics: Sequence[ReadOnlyObject] | None, *, rescaled: bool = False
    ) -> None:
        """Set replicas and metrics, and the time of a scaling."""
        last = self._now if rescaled else self._stored.get("lastScaleTime")
        self._fields = {
            "currentReplicas": current,
            "desiredReplicas": desired,
            "currentMetrics": None if metrics is None else list(metrics),
            **({"lastScaleTime": last} if last else {}),
            **({"observedGeneration": self._generation} if self._generation is not None else {}),
        }

    def find_change(self) -> Object | None:
        """Return the status to write; None if it is the stored one."""
        status = {**self._fields, "conditions": self._conditions}
        return None if _without_empty(status) == _without_empty(self._stored) else status


def _without_empty(status: ReadOnlyObject) -> Object:
    # A Go server leaves some empty fields out, and writes others.
    return {name: value for name, value in status.items() if value}
