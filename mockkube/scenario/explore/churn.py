"""Pods that are made and soon over: what tells a loop from a large rollout."""

from collections.abc import Iterable

from mockkube.api.catalogue import POD_SPEC_PATHS
from mockkube.cluster.trace import OPERATOR, Step
from mockkube.scenario.explore.mirror import PODS


def in_vain(steps: Iterable[Step]) -> int:
    """Return how many pods were made in these steps and are over, beyond those that operators asked to replace."""
    made: set[str] = set()
    over: set[str] = set()
    replaced = 0
    for step in steps:
        for write in step.writes:
            by_operator = step.worker == OPERATOR
            if write.resource != PODS:
                if by_operator and write.verb == "update":
                    obj = write.object()
                    if obj.get("kind") in POD_SPEC_PATHS:
                        replaced += int((obj.get("spec") or {}).get("replicas", 1))
                continue
            pod = write.object()
            uid = pod["metadata"]["uid"]
            if write.verb == "create":
                made.add(uid)
            elif by_operator and (write.verb == "delete" or pod["metadata"].get("deletionTimestamp")):
                made.discard(uid)
            elif (
                write.verb == "delete"
                or pod["metadata"].get("deletionTimestamp")
                or (pod.get("status") or {}).get("phase") == "Failed"
            ):
                over.add(uid)
    return max(0, len(made & over) - replaced)
