"""Pod control: creates pods from templates and deletes them, with upstream's events.

upstream 1.36: pkg/controller/controller_utils.go (RealPodControl)
"""

from collections.abc import Mapping

from mockkube.api import names
from mockkube.api.errors import NAMESPACE_TERMINATING, ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL, WARNING
from mockkube.client.protocol import Client, Key
from mockkube.controllers.framework.controller_ref_manager import new_controller_ref
from mockkube.lazy_dataclasses import dataclass


def pod_from_template(
    template: ReadOnlyObject, owner: ReadOnlyObject, api_version: str, kind: str, *, labels: Mapping[str, str] = {}
) -> Object:
    """Return a pod from an owner's template, with generateName after the owner; `labels` are added."""
    metadata = template.get("metadata") or {}
    name = owner["metadata"]["name"]
    prefix = f"{name}-"
    new_metadata: Object = {
        # A name that no longer fits with a dash is used without one, as upstream.
        "generateName": name if names.check_dns_subdomain(prefix, prefix=True) else prefix,
        "namespace": owner["metadata"]["namespace"],
        "labels": {**(metadata.get("labels") or {}), **labels},
        "ownerReferences": [new_controller_ref(owner, api_version, kind)],
    }
    if annotations := metadata.get("annotations"):
        new_metadata["annotations"] = dict(annotations)
    if finalizers := metadata.get("finalizers"):
        new_metadata["finalizers"] = list(finalizers)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": new_metadata, "spec": dict(template["spec"])}


def is_namespace_terminating(error: ApiError) -> bool:
    """Return whether an object was rejected because its namespace is terminating."""
    return error.has_cause(NAMESPACE_TERMINATING)


@dataclass(frozen=True, slots=True)
class PodControl:
    """Creates and deletes the pods of one controller."""

    client: Client
    events: EventRecorder

    async def create(self, pod: Object, owner: ReadOnlyObject) -> ReadOnlyObject:
        """Create a pod and record an event about the success or failure."""
        try:
            created = await self.client.create("Pod", pod)
        except ApiError as error:
            # Events cannot be created in a terminating namespace either.
            if not is_namespace_terminating(error):
                self.events.record(owner, WARNING, "FailedCreate", f"Error creating: {error.message}")
            raise
        self.events.record(owner, NORMAL, "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")
        return created

    async def delete(self, key: Key, owner: ReadOnlyObject) -> None:
        """Delete a pod and record an event; NotFound if it is gone already."""
        try:
            await self.client.delete("Pod", key)
        except NotFound:
            raise
        except ApiError as error:
            self.events.record(owner, WARNING, "FailedDelete", f"Error deleting: {error.message}")
            raise
        self.events.record(owner, NORMAL, "SuccessfulDelete", f"Deleted pod: {key.name}")
