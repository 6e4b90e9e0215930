"""Count pods that were created and ended soon: the sign of a hot loop, not of a large rollout."""

from collections.abc import Iterable

from mockkube.cluster.execution.step_trace import OPERATOR, TraceStep
from mockkube.explore.observation.stored_objects import PODS
from mockkube.explore.observation.workload_kinds import find_pod_spec


def count_wasted_pods(steps: Iterable[TraceStep]) -> int:
    """Return how many pods were created and ended in these steps, beyond those that operators replaced or deleted."""
    created: set[str] = set()
    over: set[str] = set()
    replaced = 0
    for step in steps:
        for write in step.writes:
            by_operator = step.worker == OPERATOR
            if write.resource != PODS:
                if by_operator and write.verb == "update":
                    obj = write.load_object()
                    if find_pod_spec(obj) is not None:
                        # An edited pod template replaces each pod once: these ends are the rollout that the operator
                        # asked for.
                        replaced += int((obj.get("spec") or {}).get("replicas", 1))
                continue
            pod = write.load_object()
            uid = pod["metadata"]["uid"]
            if write.verb == "create":
                created.add(uid)
            elif by_operator and (write.verb == "delete" or pod["metadata"].get("deletionTimestamp")):
                created.discard(uid)
            elif (
                write.verb == "delete"
                or pod["metadata"].get("deletionTimestamp")
                or (pod.get("status") or {}).get("phase") == "Failed"
            ):
                over.add(uid)
    return max(0, len(created & over) - replaced)
