"""Write allocations and reservations into claims, and undo them.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/{dynamicresources,extendeddynamicresources}.go
"""

from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.api.times import render_time
from mockkube.client.protocol import Client, key_of
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_tracker import ClaimTracker
from mockkube.scheduler.plugins.dynamic_resources.claims.pod_claims import allocation_of, is_reserved_for
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures
from mockkube.scheduler.plugins.dynamic_resources.state import DynamicResourcesState

FINALIZER: Final = "resource.kubernetes.io/delete-protection"

_KIND: Final = "ResourceClaim"
# Attempts of a write that ends in a conflict.
_ATTEMPTS_MAX: Final = 5


class ClaimWriteError(Exception):
    """Raised when a claim cannot be written as decided; the pod is scheduled again."""


@dataclass(frozen=True, slots=True)
class ClaimWriter:
    """Writes the claims of assumed pods."""

    client: Client
    claim_tracker: ClaimTracker
    clock: Clock
    features: DynamicResourcesFeatures

    async def bind_claim(self, claim_state: DynamicResourcesState, index: int, pod: PodInfo, node_name: str) -> None:
        """Write a claim's allocation and its reservation for the pod; raise ClaimWriteError if that fails."""
        allocation = claim_state.chosen_allocations.get(index)
        extended = claim_state.is_extended_claim(index)
        claim = claim_state.claims[index]
        if extended and allocation is None and not (claim["spec"].get("devices") or {}).get("requests"):
            return
        promised = claim_state.extended_claim_uid if extended else claim["metadata"]["uid"]
        try:
            if extended and not claim_state.is_extended_claim_written:
                claim = claim_state.claims[index] = await self._create_extended_claim(claim_state, node_name)
            claim = await self._write_with_retries(claim, allocation, pod)
        except (ApiError, ClaimWriteError) as error:
            self.claim_tracker.remove_pending_allocation(promised, key_of(claim_state.claims[index]))
            raise ClaimWriteError(error.message if isinstance(error, ApiError) else str(error)) from None
        self.claim_tracker.assume_after_write(claim, promised)
        if extended:
            await self._patch_pod_status(claim_state, claim, pod, node_name)
        claim_state.claims[index] = claim

    async def deallocate(self, claim: ReadOnlyObject) -> None:
        """Remove a claim's allocation, so that other devices can be found for it."""
        status = {
            name: value
            for name, value in (claim.get("status") or {}).items()
            if name not in ("allocation", "reservedFor", "devices")
        }
        await self.client.update(_KIND, {**claim, "status": status}, subresource="status")

    async def unreserve(self, claim: ReadOnlyObject, pod: PodInfo) -> None:
        """Remove the pod from the claim's reservations."""
        removed = {"$patch": "delete", "uid": pod.uid}
        # A strategic merge patch removes one entry, whatever else was added meanwhile.
        patch = {"metadata": {"uid": claim["metadata"]["uid"]}, "status": {"reservedFor": [removed]}}
        await self.client.patch(_KIND, key_of(claim), patch, patch_type=PatchType.STRATEGIC, subresource="status")

    async def delete(self, claim: ReadOnlyObject) -> None:
        """Remove the finalizer of a special claim, and delete the claim."""
        key = key_of(claim)
        for attempt in range(_ATTEMPTS_MAX):
            current = claim if attempt == 0 else await self.client.get(_KIND, key)
            metadata = current["metadata"]
            # With the finalizer, the claim would only be marked as deleted.
            finalizers = [one for one in metadata.get("finalizers") or () if one != FINALIZER]
            try:
                await self.client.update(_KIND, {**current, "metadata": {**metadata, "finalizers": finalizers}})
                break
            except Conflict:
                continue
        await self.client.delete(_KIND, key)

    async def clean_up(self, claim_state: DynamicResourcesState, pod: PodInfo) -> None:
        """Undo what was written for a pod that is not bound after all."""
        for index, claim in enumerate(claim_state.claims):
            if claim_state.is_extended_claim(index):
                if claim_state.is_extended_claim_written:
                    await self.delete(claim)
            elif allocation_of(claim) is not None and is_reserved_for(claim, pod):
                await self.unreserve(claim, pod)

    async def _create_extended_claim(self, claim_state: DynamicResourcesState, node_name: str) -> ReadOnlyObject:
        node_allocation = claim_state.node_allocations.get(node_name)
        if node_allocation is None or node_allocation.extended_claim is None:
            raise ClaimWriteError(f"extended resource claim not found for node {node_name}")
        claim = node_allocation.extended_claim
        metadata = {name: value for name, value in claim["metadata"].items() if name not in ("name", "uid")}
        try:
            return await self.client.create(_KIND, {**claim, "metadata": metadata})
        except ApiError as error:
            name = f"{metadata['namespace']}/"
            raise ClaimWriteError(f"create claim for extended resources {name}: {error.message}") from None

    async def _write_with_retries(
        self, claim: ReadOnlyObject, allocation: Object | None, pod: PodInfo
    ) -> ReadOnlyObject:
        """Write the claim, after a conflict starting from its latest revision."""
        for attempt in range(1, _ATTEMPTS_MAX + 1):
            try:
                return await self._write_status(claim, allocation, pod)
            except Conflict:
                if attempt == _ATTEMPTS_MAX:
                    raise
            try:
                claim = await self.client.get(_KIND, key_of(claim))
            except NotFound as error:
                raise ClaimWriteError(f"get updated claim {key_of(claim)} after conflict: {error.message}") from None
        raise AssertionError("the last attempt returns or raises")

    async def _write_status(self, claim: ReadOnlyObject, allocation: Object | None, pod: PodInfo) -> ReadOnlyObject:
        name = key_of(claim)
        if claim["metadata"].get("deletionTimestamp"):
            raise ClaimWriteError(f"claim {name} got deleted in the meantime")
        if allocation is not None:
            # After a conflict the claim is checked again: another scheduler may have allocated it.
            if allocation_of(claim) is not None:
                raise ClaimWriteError(f"claim {name} got allocated elsewhere in the meantime")
            # The finalizer comes first, so that an allocated claim can never be deleted without being deallocated.
            claim = await self._add_finalizer(claim)
        status = self._build_status(claim, allocation, pod)
        try:
            return await self.client.update(_KIND, {**claim, "status": status}, subresource="status")
        except Conflict:
            raise
        except ApiError as error:
            doing = "add allocation and reservation" if allocation is not None else "add reservation"
            raise ClaimWriteError(f"{doing} to claim {name}: {error.message}") from None

    async def _add_finalizer(self, claim: ReadOnlyObject) -> ReadOnlyObject:
        metadata = claim["metadata"]
        finalizers = metadata.get("finalizers") or []
        if FINALIZER in finalizers:
            return claim
        try:
            added = {**metadata, "finalizers": [*finalizers, FINALIZER]}
            return await self.client.update(_KIND, {**claim, "metadata": added})
        except Conflict:
            raise
        except ApiError as error:
            raise ClaimWriteError(f"add finalizer to claim {key_of(claim)}: {error.message}") from None

    def _build_status(self, claim: ReadOnlyObject, allocation: Object | None, pod: PodInfo) -> Object:
        status = dict(claim.get("status") or {})
        if allocation is not None:
            status["allocation"] = allocation
        user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
        status["reservedFor"] = [*(status.get("reservedFor") or ()), user]
        if self.features.binding_conditions:
            if "allocation" not in status:
                raise ClaimWriteError(f"claim {key_of(claim)} got deallocated elsewhere in the meantime")
            stamp = {"allocationTimestamp": render_time(self.clock.now())}
            status["allocation"] = {**stamp, **status["allocation"]}
        return status

    async def _patch_pod_status(
        self, claim_state: DynamicResourcesState, claim: ReadOnlyObject, pod: PodInfo, node_name: str
    ) -> None:
        """Write the name of the special claim and its mappings into the pod's status."""
        mappings = claim_state.node_allocations[node_name].mappings if node_name in claim_state.node_allocations else ()
        if not mappings:
            text = f"no update of pod {pod.key} ExtendedResourceClaimStatus"
            raise ClaimWriteError(f"nil or empty request mappings, {text}")
        status = {"resourceClaimName": claim["metadata"]["name"], "requestMappings": list(mappings)}
        patch = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": status}}
        try:
            await self.client.patch("Pod", pod.key, patch, patch_type=PatchType.STRATEGIC, subresource="status")
        except ApiError as error:
            raise ClaimWriteError(f"update pod {pod.key} ExtendedResourceClaimStatus: {error.message}") from None
