"""Owners of pods: find the controller of a pod, the pods of a workload, and a workload by name."""

from collections.abc import Mapping
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Client, Key, Selection, key_of

# Kinds that create pods, and their names in kubectl.
WORKLOAD_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "Deployment.apps": ("deployment", "deployments", "deploy"),
    "ReplicaSet.apps": ("replicaset", "replicasets", "rs"),
    "StatefulSet.apps": ("statefulset", "statefulsets", "sts"),
    "DaemonSet.apps": ("daemonset", "daemonsets", "ds"),
    "CronJob.batch": ("cronjob", "cronjobs", "cj"),
    "Job.batch": ("job", "jobs"),
    "ReplicationController": ("replicationcontroller", "replicationcontrollers", "rc"),
}
_SHOWN_MAX: Final = 5


async def find_owner(client: Client, obj: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the controller of an object; None if it has none, or if it is gone or not readable."""
    for one in obj["metadata"].get("ownerReferences") or ():
        if one.get("controller"):
            group = one["apiVersion"].rpartition("/")[0]
            kind = f"{one['kind']}.{group}" if group else one["kind"]
            try:
                owner = await client.get(kind, Key(obj["metadata"].get("namespace", ""), one["name"]))
            except ApiError:
                return None
            # An object of the same name may have replaced the owner; the uid tells them apart.
            return owner if owner["metadata"].get("uid") == one.get("uid") else None
    return None


async def suggest_pods(client: Client, key: Key) -> str:
    """Return a hint for a pod that does not exist: the workload of that name and its pods."""
    maker = await find_workload(client, key)
    return ": name a pod, and its namespace with -n" if maker is None else await _format_suggestion(client, maker)


async def find_workload(client: Client, key: Key, kind_name: str = "") -> ReadOnlyObject | None:
    """Return the workload with this name; if a kind is given, only of that kind."""
    for kind, names in WORKLOAD_KINDS.items():
        if kind_name and kind_name.partition(".")[0] not in names:
            continue
        try:
            return await client.get(kind, key)
        except ApiError:  # not there, or not to be read
            continue
    return None


async def _format_suggestion(client: Client, workload: ReadOnlyObject) -> str:
    """Return the hint: names of the workload's pods, or why it has none."""
    title = f"{workload['kind'].lower()} {workload['metadata']['name']}"
    pods = [key_of(pod).name for pod in await list_pods(client, workload)]
    if pods:
        more = ", ..." if len(pods) > _SHOWN_MAX else ""
        return (
            f": {title} is no pod, but has some: ask for {', '.join(f'pod/{name}' for name in pods[:_SHOWN_MAX])}{more}"
        )
    return f": {title} has no pods{_failure_message(workload)}"


async def list_pods(client: Client, workload: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the pods that belong to a workload, directly or through a ReplicaSet or Job."""
    space = Selection(workload["metadata"].get("namespace", ""))
    uids = {workload["metadata"]["uid"]}
    # Deployments own ReplicaSets and CronJobs own Jobs; no workload is further away from its pods than that.
    for kind in ("ReplicaSet.apps", "Job.batch"):
        uids |= {
            one["metadata"]["uid"] for one in (await client.list(kind, space)).items if _controller_uids(one) & uids
        }
    return [pod for pod in (await client.list("Pod", space)).items if _controller_uids(pod) & uids]


def _controller_uids(obj: ReadOnlyObject) -> set[str]:
    """Return the uids of the controllers of an object."""
    return {one["uid"] for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")}


def _failure_message(workload: ReadOnlyObject) -> str:
    """Return what the conditions of a workload say about pods that could not be created."""
    for one in (workload.get("status") or {}).get("conditions") or ():
        if one["type"] in ("ReplicaFailure", "FailureTarget", "Failed") and one["status"] == "True":
            return f": {one.get('message') or one.get('reason', '')}"
    return ""
