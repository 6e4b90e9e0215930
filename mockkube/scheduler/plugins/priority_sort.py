"""PrioritySort plugin: sort the queue by priority, then by time of arrival.

upstream 1.36: pkg/scheduler/framework/plugins/queuesort/priority_sort.go
"""

from typing import Any

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.scheduler.framework.interface import PluginDependencies, QueueSortPlugin, SortablePod


class PrioritySort(QueueSortPlugin):
    """Sorts by priority."""

    name = "PrioritySort"

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        """Accept and ignore arguments."""

    def sort_key(self, queued: SortablePod) -> tuple[Any, ...]:
        """Return the negative priority and the time at which the pod was queued."""
        return (-queued.pod.priority, queued.queued_at)
