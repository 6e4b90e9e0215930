"""Writing what was decided for claims, and undoing it.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/{dynamicresources,extendeddynamicresources}.go
"""

from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, PatchType, key_of
from mockkube.runtime.clock import Clock
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.dynamic_resources.ledger import Ledger
from mockkube.scheduler.plugins.dynamic_resources.note import Note
from mockkube.scheduler.plugins.dynamic_resources.pod_claims import allocation_of, reserved_for
from mockkube.scheduler.plugins.dynamic_resources.rules import Rules

FINALIZER: Final = "resource.kubernetes.io/delete-protection"

_KIND: Final = "ResourceClaim"
_ATTEMPTS_MAX: Final = 5
"""How often a write that others were faster with is tried."""


class WriteFailed(Exception):
    """A claim cannot be written as was decided; the pod is scheduled anew."""


@dataclass(frozen=True, slots=True)
class ClaimWriter:
    """Writes claims for pods on their way to a node."""

    client: Client
    ledger: Ledger
    clock: Clock
    rules: Rules

    async def bind(self, note: Note, index: int, pod: PodInfo, node_name: str) -> None:
        """Write a claim's devices, and that the pod may use it; WriteFailed if that cannot be."""
        allocation = note.decided.get(index)
        extended = note.is_extended(index)
        claim = note.claims[index]
        if extended and allocation is None and not (claim["spec"].get("devices") or {}).get("requests"):
            return
        promised = note.promised_uid if extended else claim["metadata"]["uid"]
        try:
            if extended and not note.extended_written:
                claim = note.claims[index] = await self._create(note, node_name)
            claim = await self._retried(claim, allocation, pod)
        except (ApiError, WriteFailed) as error:
            self.ledger.withdraw(promised, key_of(note.claims[index]))
            raise WriteFailed(error.message if isinstance(error, ApiError) else str(error)) from None
        self.ledger.written(claim, promised)
        if extended:
            await self._tell_pod(note, claim, pod, node_name)
        note.claims[index] = claim

    async def deallocate(self, claim: ReadOnlyObject) -> None:
        """Take a claim's devices away, so that others can be looked for."""
        status = {
            name: value
            for name, value in (claim.get("status") or {}).items()
            if name not in ("allocation", "reservedFor", "devices")
        }
        await self.client.update(_KIND, {**claim, "status": status}, subresource="status")

    async def unreserve(self, claim: ReadOnlyObject, pod: PodInfo) -> None:
        """Take the pod from those that may use the claim."""
        removed = {"$patch": "delete", "uid": pod.uid}
        patch = {"metadata": {"uid": claim["metadata"]["uid"]}, "status": {"reservedFor": [removed]}}
        await self.client.patch(_KIND, key_of(claim), patch, media=PatchType.STRATEGIC, subresource="status")

    async def delete(self, claim: ReadOnlyObject) -> None:
        """Delete a claim that the scheduler made, past its finalizer."""
        key = key_of(claim)
        for attempt in range(_ATTEMPTS_MAX):
            current = claim if attempt == 0 else await self.client.get(_KIND, key)
            metadata = current["metadata"]
            finalizers = [one for one in metadata.get("finalizers") or () if one != FINALIZER]
            try:
                await self.client.update(_KIND, {**current, "metadata": {**metadata, "finalizers": finalizers}})
                break
            except Conflict:
                continue
        await self.client.delete(_KIND, key)

    async def clean_up(self, note: Note, pod: PodInfo) -> None:
        """Undo what was written for a pod that does not reach its node after all."""
        for index, claim in enumerate(note.claims):
            if note.is_extended(index):
                if note.extended_written:
                    await self.delete(claim)
            elif allocation_of(claim) is not None and reserved_for(claim, pod):
                await self.unreserve(claim, pod)

    async def _create(self, note: Note, node_name: str) -> ReadOnlyObject:
        found = note.on_node.get(node_name)
        if found is None or found.extended is None:
            raise WriteFailed(f"extended resource claim not found for node {node_name}")
        claim = found.extended
        metadata = {name: value for name, value in claim["metadata"].items() if name not in ("name", "uid")}
        try:
            return await self.client.create(_KIND, {**claim, "metadata": metadata})
        except ApiError as error:
            name = f"{metadata['namespace']}/"
            raise WriteFailed(f"create claim for extended resources {name}: {error.message}") from None

    async def _retried(self, claim: ReadOnlyObject, allocation: Object | None, pod: PodInfo) -> ReadOnlyObject:
        """Write the claim, from its latest state when others were faster."""
        for attempt in range(1, _ATTEMPTS_MAX + 1):
            try:
                return await self._write(claim, allocation, pod)
            except Conflict:
                if attempt == _ATTEMPTS_MAX:
                    raise
            try:
                claim = await self.client.get(_KIND, key_of(claim))
            except NotFound as error:
                raise WriteFailed(f"get updated claim {key_of(claim)} after conflict: {error.message}") from None
        raise AssertionError("the last attempt returns or raises")

    async def _write(self, claim: ReadOnlyObject, allocation: Object | None, pod: PodInfo) -> ReadOnlyObject:
        name = key_of(claim)
        if claim["metadata"].get("deletionTimestamp"):
            raise WriteFailed(f"claim {name} got deleted in the meantime")
        if allocation is not None:
            if allocation_of(claim) is not None:
                raise WriteFailed(f"claim {name} got allocated elsewhere in the meantime")
            claim = await self._with_finalizer(claim)
        status = self._status(claim, allocation, pod)
        try:
            return await self.client.update(_KIND, {**claim, "status": status}, subresource="status")
        except Conflict:
            raise
        except ApiError as error:
            doing = "add allocation and reservation" if allocation is not None else "add reservation"
            raise WriteFailed(f"{doing} to claim {name}: {error.message}") from None

    async def _with_finalizer(self, claim: ReadOnlyObject) -> ReadOnlyObject:
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
            raise WriteFailed(f"add finalizer to claim {key_of(claim)}: {error.message}") from None

    def _status(self, claim: ReadOnlyObject, allocation: Object | None, pod: PodInfo) -> Object:
        status = dict(claim.get("status") or {})
        if allocation is not None:
            status["allocation"] = allocation
        user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
        status["reservedFor"] = [*(status.get("reservedFor") or ()), user]
        if self.rules.binding_conditions:
            if "allocation" not in status:
                raise WriteFailed(f"claim {key_of(claim)} got deallocated elsewhere in the meantime")
            stamp = {"allocationTimestamp": render_time(self.clock.now())}
            status["allocation"] = {**stamp, **status["allocation"]}
        return status

    async def _tell_pod(self, note: Note, claim: ReadOnlyObject, pod: PodInfo, node_name: str) -> None:
        """Write into the pod's status which claim stands for its extended resources."""
        mappings = note.on_node[node_name].mappings if node_name in note.on_node else ()
        if not mappings:
            text = f"no update of pod {pod.key} ExtendedResourceClaimStatus"
            raise WriteFailed(f"nil or empty request mappings, {text}")
        status = {"resourceClaimName": claim["metadata"]["name"], "requestMappings": list(mappings)}
        patch = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": status}}
        try:
            await self.client.patch("Pod", pod.key, patch, media=PatchType.STRATEGIC, subresource="status")
        except ApiError as error:
            raise WriteFailed(f"update pod {pod.key} ExtendedResourceClaimStatus: {error.message}") from None
