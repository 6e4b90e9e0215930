"""resourceclaim-controller: creates claims from the templates of pods, and frees claims of finished pods.

Two queues: `ResourceClaimController` by pod, `ResourceClaimReservationController` by claim.
upstream 1.36: pkg/controller/resourceclaim/controller.go
differs: claims shared by a PodGroup (DRAWorkloadResourceClaims, alpha) are not created.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from cachetools import LRUCache

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.framework.write_through_cache import WriteThroughCache
from mockkube.controllers.resourceclaim.pod_resource_claims import (
    can_reserve,
    claim_name_prefix,
    is_pod_done,
    owner_pod_uid,
    with_reservation,
)
from mockkube.controllers.volume.protection import without_finalizer
from mockkube.matching.pod_claims import device_claim

CLAIM: Final = "ResourceClaim"
TEMPLATE: Final = "ResourceClaimTemplate"
POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
_DELETED_MAX: Final = 500


class ResourceClaimController(Controller):
    """Controller of claims of pods; keys are pods."""

    name: ClassVar[str] = "resourceclaim-controller"
    event_source: ClassVar[str] = "resource_claim"
    queue_name: ClassVar[str] = "resource_claim"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        claims = self.informer(CLAIM)
        self.claims = WriteThroughCache(claims)
        self.templates = self.watched_informer(TEMPLATE, self._on_template_change)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self._by_claim = self.pods.index("resource claims", _index_by_claim)
        self._by_template = self.pods.index("resource claim templates", _index_by_template)
        claims.add_event_handler(self._on_claim_change)
        self.reservations = ResourceClaimReservationController(dependencies, self)
        self._admin_access = dependencies.capabilities.enabled("DRAAdminAccess")
        self._prioritized_list = dependencies.capabilities.enabled("DRAPrioritizedList")

    def _on_pod_change(self, change: ObjectChange) -> None:
        """Queue the pod for its claims, or its claims once the pod is done."""
        pod, is_deleted = change.object, change.type is WatchEventType.DELETED
        names = _claim_names(pod)
        # The scheduler creates this claim for extended resources; the pod's spec does not name it.
        extended = pod.get("status", {}).get("extendedResourceClaimStatus")
        if not pod["spec"].get("resourceClaims") and not extended:
            return
        if is_deleted:
            self.reservations.remember_deleted_pod(pod)
        if is_deleted or is_pod_done(pod):
            made = [extended["resourceClaimName"]] if extended else []
            for name in (*names, *made):
                self.reservations.work_queue.add(Key(pod["metadata"]["namespace"], name))
        if not is_deleted and not has_deletion_timestamp(pod):
            self.work_queue.add(key_of(pod))

    def _on_template_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED:
            self._enqueue(self._by_template.get(str(key_of(change.object))))

    def _on_claim_change(self, change: ObjectChange) -> None:
        self._enqueue(self._by_claim.get(str(key_of(change.object))))

    def _enqueue(self, pods: Iterable[ReadOnlyObject]) -> None:
        for pod in pods:
            self.work_queue.add(key_of(pod))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Create missing claims, write their names to the pod's status, reserve those of a bound pod."""
        pod = self.pods.get(key)
        if pod is None or has_deletion_timestamp(pod):
            return DONE
        statuses: list[Object] = []
        for wanted in pod["spec"].get("resourceClaims", ()):
            try:
                name = await self._handle_claim(pod, wanted)
            except ApiError as error:
                text = f"PodResourceClaim {wanted['name']}: {error.message}"
                self.events.record(pod, "Warning", "FailedResourceClaimCreation", text)
                raise ApiError(f"pod {key}, {text}") from error
            if name:
                statuses.append({"name": wanted["name"], "resourceClaimName": name})
        if statuses:
            pod = await self.client.patch(
                "Pod", key, {"status": {"resourceClaimStatuses": statuses}}, subresource="status"
            )
        # A pod that was bound without the scheduler has nobody else to reserve its claims.
        if pod["spec"].get("nodeName"):
            await self._reserve_claims(pod)
        return DONE

    async def _handle_claim(self, pod: ReadOnlyObject, wanted: ReadOnlyObject) -> str:
        """Return the name of a claim to write to the pod's status; empty if there is none to write."""
        known = device_claim(pod, wanted)
        if known.unneeded or not wanted.get("resourceClaimTemplateName"):
            return ""
        claim = self.claims.get(Key(pod["metadata"]["namespace"], known.name)) if known.name else None
        if claim is not None and owner_pod_uid(claim) == pod["metadata"]["uid"]:
            return ""
        claim = self._find_pod_claim(pod, wanted["name"]) or await self._create_claim(pod, wanted)
        name: str = claim["metadata"]["name"]
        return name

    def _find_pod_claim(self, pod: ReadOnlyObject, name: str) -> ReadOnlyObject | None:
        """Return a claim that was created for the pod but is not in its status."""
        uid = pod["metadata"]["uid"]
        # The controller may have been interrupted between creating the claim and writing its name: a second claim would
        # be a leak.
        owned = (one for one in self.claims.all(pod["metadata"]["namespace"]) if owner_pod_uid(one) == uid)
        return next((one for one in owned if one["metadata"].get("annotations", {}).get(POD_CLAIM) == name), None)

    async def _create_claim(self, pod: ReadOnlyObject, wanted: ReadOnlyObject) -> ReadOnlyObject:
        """Create a claim from a template, owned by the pod."""
        template = self._get_template(pod, wanted["resourceClaimTemplateName"])
        metadata, given = pod["metadata"], template["spec"].get("metadata", {})
        owner = {
            "apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": True,
        }  # fmt: skip
        new: Object = {
            "generateName": claim_name_prefix(metadata["name"], wanted["name"]),
            "namespace": metadata["namespace"],
            "ownerReferences": [owner],
            "annotations": {**given.get("annotations", {}), POD_CLAIM: wanted["name"]},
            "labels": given.get("labels", {}),
        }
        try:
            created = await self.client.create(CLAIM, {"metadata": new, "spec": template["spec"]["spec"]})
        except ApiError as error:
            raise ApiError(f"create ResourceClaim : {error.message}") from error
        return self.claims.record_write(created)

    def _get_template(self, pod: ReadOnlyObject, name: str) -> ReadOnlyObject:
        template = self.templates.get(Key(pod["metadata"]["namespace"], name))
        if template is None:
            missing = f'resourceclaimtemplate.resource.k8s.io "{name}" not found'
            raise ApiError(f'resource claim template "{name}": {missing}')
        requests = template["spec"]["spec"].get("devices", {}).get("requests", ())
        if not self._admin_access and any(one.get("exactly", {}).get("adminAccess") for one in requests):
            raise ApiError("admin access is requested, but the feature is disabled")
        if not self._prioritized_list and any(one.get("firstAvailable") for one in requests):
            raise ApiError("template includes a prioritized list of subrequests, but the feature is disabled")
        return template

    async def _reserve_claims(self, pod: ReadOnlyObject) -> None:
        """Reserve the allocated claims of a bound pod."""
        for wanted in pod["spec"].get("resourceClaims", ()):
            known = device_claim(pod, wanted)
            claim = self.claims.get(Key(pod["metadata"]["namespace"], known.name)) if known.name else None
            if known.unneeded:
                continue
            if claim is None:
                return
            if known.generated and owner_pod_uid(claim) != pod["metadata"]["uid"]:
                name = key_of(claim)
                raise ApiError(f"ResourceClaim {name} was not created for pod {key_of(pod)} (pod is not owner)")
            if can_reserve(claim, pod):
                self.claims.record_write(
                    await self.client.update(CLAIM, with_reservation(claim, pod), subresource="status")
                )


def _claim_names(pod: ReadOnlyObject) -> list[str]:
    entries = pod["spec"].get("resourceClaims", ())
    return [known.name for wanted in entries if (known := device_claim(pod, wanted)).name]


def _index_by_claim(pod: ReadOnlyObject) -> list[str]:
    return [str(Key(pod["metadata"]["namespace"], name)) for name in _claim_names(pod)]


def _index_by_template(pod: ReadOnlyObject) -> list[str]:
    names = (one.get("resourceClaimTemplateName") for one in pod["spec"].get("resourceClaims", ()))
    return [str(Key(pod["metadata"]["namespace"], name)) for name in names if name]


class ResourceClaimReservationController(Controller):
    """Controller of reservations; keys are claims. Removes those of finished pods, and unused claims."""

    name: ClassVar[str] = "resourceclaim-controller/claims"
    event_source: ClassVar[str] = "resource_claim"

    def __init__(self, dependencies: ControllerDependencies, pods: ResourceClaimController) -> None:
        super().__init__(dependencies)
        self._claims, self._pods = pods.claims, self.informer("Pod")
        self._deleted: LRUCache[str, None] = LRUCache(_DELETED_MAX)
        self.watched_informer(CLAIM, self._on_claim_change)

    def remember_deleted_pod(self, pod: ReadOnlyObject) -> None:
        """Remember that a pod was deleted."""
        self._deleted[pod["metadata"]["uid"]] = None

    def _on_claim_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED:
            self.work_queue.add(key_of(change.object))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Remove outdated reservations; deallocate or delete a claim without any."""
        claim = self._claims.get(key)
        if claim is None:
            return DONE
        reserved = claim.get("status", {}).get("reservedFor", [])
        remaining = [one for one in reserved if await self._is_needed(key.namespace, one)]
        if len(remaining) < len(reserved):
            await self._remove_reservations(claim, remaining)
        elif not remaining and has_deletion_timestamp(claim) and _has_finalizer(claim):
            if "allocation" in claim.get("status", {}):
                claim = await self._write_status(claim, [], allocated=False)
            await self._remove_finalizer(claim)
        if not remaining:
            await self._delete_unused(claim)
        return DONE

    async def _is_needed(self, namespace: str, consumer: ReadOnlyObject) -> bool:
        """Return whether the consumer of a reservation still needs the claim."""
        if consumer.get("apiGroup") or consumer["resource"] != "pods":
            return True
        # Saves a request for each pod that was observed to be deleted.
        if consumer["uid"] in self._deleted:
            return False
        pod = self._pods.get(Key(namespace, consumer["name"]))
        if pod is not None:
            return bool(pod["metadata"]["uid"] == consumer["uid"]) and not is_pod_done(pod)
        # The informer of pods may lag behind that of claims, so a missing pod is looked up on the server.
        try:
            pod = await self.client.get("Pod", Key(namespace, consumer["name"]))
        except NotFound:
            return False
        return bool(pod["metadata"]["uid"] == consumer["uid"])

    async def _remove_reservations(self, claim: ReadOnlyObject, remaining: Sequence[ReadOnlyObject]) -> None:
        # Without the finalizer the allocation was not made by a scheduler, so it is not undone here.
        allocated = bool(remaining) or not _has_finalizer(claim)
        claim = await self._write_status(claim, remaining, allocated=allocated)
        if _has_finalizer(claim) and "allocation" not in claim.get("status", {}):
            await self._remove_finalizer(claim)

    async def _write_status(
        self, claim: ReadOnlyObject, remaining: Sequence[ReadOnlyObject], *, allocated: bool
    ) -> ReadOnlyObject:
        dropped = ("reservedFor",) if allocated else ("reservedFor", "allocation")
        status: Object = {name: value for name, value in claim.get("status", {}).items() if name not in dropped}
        if remaining:
            status["reservedFor"] = list(remaining)
        written = await self.client.update(CLAIM, {**claim, "status": status}, subresource="status")
        return self._claims.record_write(written)

    async def _remove_finalizer(self, claim: ReadOnlyObject) -> None:
        self._claims.record_write(await self.client.update(CLAIM, without_finalizer(claim, FINALIZER)))

    async def _delete_unused(self, claim: ReadOnlyObject) -> None:
        """Delete a claim whose pod will not run; for a deleted pod the garbage collector does this."""
        for owner in claim["metadata"].get("ownerReferences", ()):
            if owner.get("controller") and (owner["apiVersion"], owner["kind"]) == ("v1", "Pod"):
                pod = self._pods.get(Key(claim["metadata"]["namespace"], owner["name"]))
                if pod is not None and (pod["metadata"]["uid"] != owner["uid"] or is_pod_done(pod)):
                    await self.client.delete(CLAIM, key_of(claim))


def _has_finalizer(claim: ReadOnlyObject) -> bool:
    return FINALIZER in claim["metadata"].get("finalizers", ())


def build(dependencies: ControllerDependencies) -> Iterable[Controller]:
    """Return the queue of pods and the queue of claims."""
    pods = ResourceClaimController(dependencies)
    yield pods
    yield pods.reservations
