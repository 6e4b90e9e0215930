"""The order of the queue: what matters more goes first, then what has waited longer.

upstream 1.36: pkg/scheduler/framework/plugins/queuesort/priority_sort.go
"""

from typing import Any

from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.interface import Context, QueueSortPlugin, Waiting


class PrioritySort(QueueSortPlugin):
    """Sorts by priority."""

    name = "PrioritySort"

    def __init__(self, context: Context, args: ReadOnlyObject) -> None:
        """Take no arguments."""

    def sort_key(self, waiting: Waiting) -> tuple[Any, ...]:
        """Return the negative priority and the time it was queued."""
        return (-waiting.pod.priority, waiting.queued_at)
