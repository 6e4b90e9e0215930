"""Pods made from templates and deleted again, with the events that tell of it.

upstream 1.36: pkg/controller/controller_utils.go (RealPodControl)
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mockkube.api import names
from mockkube.api.errors import NAMESPACE_TERMINATING, ApiError, NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.events import NORMAL, WARNING
from mockkube.client.protocol import Client, Key
from mockkube.client.recorder import EventRecorder
from mockkube.controllers.framework.controller_ref_manager import reference_to


def pod_from(
    template: ReadOnlyObject, owner: ReadOnlyObject, api_version: str, kind: str, *, labels: Mapping[str, str] = {}
) -> Object:
    """Return a pod as the template of an owner wants it, named after the owner; `labels` are added."""
    metadata = template.get("metadata") or {}
    name = owner["metadata"]["name"]
    prefix = f"{name}-"
    made: Object = {
        "generateName": name if names.dns_subdomain(prefix, prefix=True) else prefix,
        "namespace": owner["metadata"]["namespace"],
        "labels": {**(metadata.get("labels") or {}), **labels},
        "ownerReferences": [reference_to(owner, api_version, kind)],
    }
    if annotations := metadata.get("annotations"):
        made["annotations"] = dict(annotations)
    if finalizers := metadata.get("finalizers"):
        made["finalizers"] = list(finalizers)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": dict(template["spec"])}


def is_namespace_terminating(error: ApiError) -> bool:
    """Whether something could not be made because its namespace is going."""
    return error.has_cause(NAMESPACE_TERMINATING)


@dataclass(frozen=True, slots=True)
class PodHand:
    """Makes and deletes the pods of one controller."""

    client: Client
    events: EventRecorder

    async def create(self, pod: Object, owner: ReadOnlyObject) -> ReadOnlyObject:
        """Create a pod and tell of it, or of why it could not be."""
        try:
            made = await self.client.create("Pod", pod)
        except ApiError as error:
            if not is_namespace_terminating(error):
                self.events.record(owner, WARNING, "FailedCreate", f"Error creating: {error.message}")
            raise
        self.events.record(owner, NORMAL, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
        return made

    async def delete(self, key: Key, owner: ReadOnlyObject) -> None:
        """Delete a pod and tell of it; NotFound when it has gone already."""
        try:
            await self.client.delete("Pod", key)
        except NotFound:
            raise
        except ApiError as error:
            self.events.record(owner, WARNING, "FailedDelete", f"Error deleting: {error.message}")
            raise
        self.events.record(owner, NORMAL, "SuccessfulDelete", f"Deleted pod: {key.name}")
