"""Marks pods not ready because their node is lost.

upstream 1.36: pkg/controller/util/node/controller_utils.go, MarkPodsNotReady
"""

from collections.abc import Iterable
from datetime import datetime

from mockkube.api.conditions import find_condition, with_condition
from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.protocol import Client


async def mark_pods_not_ready(
    client: Client, events: EventRecorder, pods: Iterable[ReadOnlyObject], now: datetime
) -> None:
    """Set Ready to False on all pods that have the condition; raise the first failure at the end."""
    failure: ApiError | None = None
    for pod in pods:
        status = pod.get("status", {})
        ready = find_condition(status.get("conditions", ()), "Ready")
        if ready is None or ready["status"] == "False":
            continue
        conditions = with_condition(status["conditions"], {**ready, "status": "False"}, render_time(now))
        changed: Object = {**pod, "status": {**status, "conditions": conditions}}
        try:
            await client.update("Pod", changed, subresource="status")
        except NotFound:
            continue
        except ApiError as error:
            failure = failure or error
        # As upstream, the event is recorded even if the update failed, unless the pod is gone.
        events.record(pod, "Warning", "NodeNotReady", "Node is not ready")
    if failure is not None:
        raise failure
