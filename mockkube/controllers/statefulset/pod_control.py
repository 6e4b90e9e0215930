"""Stateful pod control: creates, updates and deletes pods and their claims, with upstream's events.

upstream 1.36: pkg/controller/statefulset/stateful_pod_control.go
"""

from collections.abc import Callable, Iterator
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL, WARNING
from mockkube.client.informer import Informer
from mockkube.client.protocol import Client, key_of
from mockkube.controllers.framework.consistency_store import ConsistencyStore
from mockkube.controllers.statefulset.claims import (
    CLAIM,
    has_stale_pod_owner,
    has_unexpected_controller,
    is_claim_owner_up_to_date,
    persistent_volume_claims,
    retains_claims_when_scaled,
    with_updated_owner_refs,
)
from mockkube.controllers.statefulset.identity import (
    identity_matches,
    ordinal_of,
    storage_matches,
    with_identity,
    with_storage,
)
from mockkube.lazy_dataclasses import dataclass

_CONFLICTING_CONTROLLER: Final = (
    "PersistentVolumeClaim {} has a conflicting OwnerReference that acts as a manging controller,"
    " the retention policy is ignored for this claim"
)
# Attempts to update a pod that others change at the same time (upstream: retry.DefaultBackoff).
TRIES_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class StatefulPodControl:
    """Creates, updates and deletes pods of stateful sets, and the claims they need."""

    client: Client
    events: EventRecorder
    pods: Informer
    claims: Informer
    consistency_store: ConsistencyStore
    # Capitalization of verbs in messages: `Create Pod`, or `create Pod` in older releases.
    format_verb: Callable[[str], str]

    async def create(self, owner: ReadOnlyObject, pod: Object) -> None:
        """Create the claims of a pod, then the pod."""
        await self._create_claims(owner, pod, "create")
        error: ApiError | None = None
        try:
            self.consistency_store.wrote_at(key_of(owner), "Pod", await self.client.create("Pod", pod))
        # The informer lags behind; upstream records no event for this.
        except AlreadyExists:
            raise
        except ApiError as failure:
            error = failure
        await self._update_claim_owners(owner, pod)
        self._record_event("create", owner, pod, error)
        if error is not None:
            raise error

    async def delete(self, owner: ReadOnlyObject, pod: ReadOnlyObject) -> None:
        """Delete a pod; a missing one counts as deleted."""
        try:
            await self.client.delete("Pod", key_of(pod))
        except NotFound:
            pass
        except ApiError as error:
            self._record_event("delete", owner, pod, error)
            raise
        self._record_event("delete", owner, pod, None)

    async def update(self, owner: ReadOnlyObject, pod: ReadOnlyObject) -> None:
        """Restore the labels, volumes and claim owners of a pod."""
        error: ApiError | None = None
        wrote = False
        for _ in range(TRIES_MAX):
            updated_pod = await self._build_update(owner, pod)
            error = None if updated_pod is None else await self._write_pod(owner, updated_pod)
            wrote = wrote or updated_pod is not None
            if not isinstance(error, Conflict):
                break
            # As upstream, the retry starts from the informer's object and not from the server's.
            pod = self.pods.get(key_of(pod)) or pod
        if wrote:
            self._record_event("update", owner, pod, error)
        if error is not None:
            raise error

    async def create_missing_claims(self, owner: ReadOnlyObject, pod: ReadOnlyObject) -> None:
        """Create the missing claims of a pending pod."""
        await self._create_claims(owner, pod, "")
        await self._update_claim_owners(owner, pod)

    def claims_match_retention_policy(self, owner: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
        """Return whether the claims of a pod have the owners of the retention policy."""
        return all(is_claim_owner_up_to_date(claim, owner, pod) for claim in self._existing_claims(owner, pod))

    async def update_claims_for_retention_policy(self, owner: ReadOnlyObject, pod: ReadOnlyObject) -> None:
        """Set the owners of a pod's claims by the retention policy."""
        for claim in self._existing_claims(owner, pod):
            if has_unexpected_controller(claim, owner, pod):
                message = _CONFLICTING_CONTROLLER.format(claim["metadata"]["name"])
                self.events.record(owner, WARNING, "ConflictingController", message)
            if not is_claim_owner_up_to_date(claim, owner, pod):
                await self._update_claim_owner(claim, owner, pod)

    def has_stale_claims(self, owner: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
        """Return whether claims of an earlier pod of this name must be deleted first."""
        if retains_claims_when_scaled(owner):
            return False
        return any(has_stale_pod_owner(claim, pod) for claim in self._existing_claims(owner, pod))

    def _existing_claims(self, owner: ReadOnlyObject, pod: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
        for wanted in persistent_volume_claims(owner, pod):
            if (claim := self.claims.get(key_of(wanted))) is not None:
                yield claim

    async def _write_pod(self, owner: ReadOnlyObject, pod: Object) -> ApiError | None:
        try:
            self.consistency_store.wrote_at(key_of(owner), "Pod", await self.client.update("Pod", pod))
        except ApiError as error:
            return error
        return None

    async def _build_update(self, owner: ReadOnlyObject, pod: ReadOnlyObject) -> Object | None:
        """Return the pod with the right identity and storage; None if nothing is to be written."""
        mended: Object | None = None
        if not identity_matches(owner, pod):
            mended = with_identity(owner, pod, ordinal_of(pod))
        if not storage_matches(owner, pod):
            mended = with_storage(owner, mended or pod)
            await self._create_claims(owner, pod, "update")
        if not self.claims_match_retention_policy(owner, pod):
            await self._update_claim_owners(owner, pod)
            # As upstream, the pod is written after its claims changed, even if it has not changed itself.
            mended = mended or dict(pod)
        return mended

    async def _update_claim_owners(self, owner: ReadOnlyObject, pod: ReadOnlyObject) -> None:
        try:
            await self.update_claims_for_retention_policy(owner, pod)
        except ApiError as error:
            self._record_event("update", owner, pod, error)
            raise

    async def _update_claim_owner(self, claim: ReadOnlyObject, owner: ReadOnlyObject, pod: ReadOnlyObject) -> None:
        try:
            written = await self.client.update(CLAIM, with_updated_owner_refs(claim, owner, pod))
        except ApiError as error:
            name = claim["metadata"]["name"]
            raise ApiError(f"could not update claim {name} for delete policy ownerRefs: {error.message}") from error
        self.consistency_store.wrote_at(key_of(owner), CLAIM, written)

    async def _create_claims(self, owner: ReadOnlyObject, pod: ReadOnlyObject, verb: str) -> None:
        """Create missing claims; on failure record an event of the verb, if one is given, and raise."""
        messages = [
            text
            for claim in persistent_volume_claims(owner, pod)
            if (text := await self._create_claim(owner, pod, claim))
        ]
        if messages:
            # One error is shown plainly, several as Go's aggregate prints them.
            error = ApiError(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
            if verb:
                self._record_event(verb, owner, pod, error)
            raise error

    async def _create_claim(self, owner: ReadOnlyObject, pod: ReadOnlyObject, claim: Object) -> str:
        """Create a claim if it is missing; return why it cannot be used, or an empty string."""
        name, present = claim["metadata"]["name"], self.claims.get(key_of(claim))
        if present is not None:
            return f"pvc {name} is being deleted" if present["metadata"].get("deletionTimestamp") else ""
        about = f"Pod {pod['metadata']['name']} in StatefulSet {owner['metadata']['name']}"
        try:
            self.consistency_store.wrote_at(key_of(owner), CLAIM, await self.client.create(CLAIM, claim))
        except ApiError as error:
            if not isinstance(error, AlreadyExists):
                message = f"{self.format_verb('create')} Claim {name} for {about} failed error: {error.message}"
                self.events.record(owner, WARNING, "FailedCreate", message)
            return f"failed to create PVC {name}: {error.message}"
        message = f"{self.format_verb('create')} Claim {name} {about} success"
        self.events.record(owner, NORMAL, "SuccessfulCreate", message)
        return ""

    def _record_event(self, verb: str, owner: ReadOnlyObject, pod: ReadOnlyObject, error: ApiError | None) -> None:
        about = f"{self.format_verb(verb)} Pod {pod['metadata']['name']} in StatefulSet {owner['metadata']['name']}"
        if error is None:
            self.events.record(owner, NORMAL, f"Successful{verb.title()}", f"{about} successful")
        else:
            self.events.record(owner, WARNING, f"Failed{verb.title()}", f"{about} failed error: {error.message}")
