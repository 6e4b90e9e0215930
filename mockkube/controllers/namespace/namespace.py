"""namespace-controller: deletes the content of terminating namespaces, then removes their finalizer.

upstream 1.36: pkg/controller/namespace
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, Conflict, MethodNotAllowed, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import DeleteOptions, Key, Propagation, Selection, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.framework.served_kinds import BUILT_IN, CRD_KIND, ServedKind, custom_kinds
from mockkube.controllers.namespace.conditions import RemainingContent, updated_conditions
from mockkube.matching.pods import is_finished
from mockkube.runtime.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
)

# Delay after a change of a namespace, as upstream: objects admitted just before its deletion may still be written.
GRACE_SECONDS: Final = 5.0
FINALIZER: Final = "kubernetes"
ORDERED_GATE: Final = "OrderedNamespaceDeletion"
# Estimated time that objects with finalizers remain, as upstream.
_FINALIZER_SECONDS: Final = 15
_BACKOFF_SECONDS: Final = (0.005, 60.0)
_BACKGROUND: Final = DeleteOptions(propagation=Propagation.BACKGROUND)


class NamespaceController(Controller):
    """Controller of terminating namespaces; keys are namespaces, requeued until they are empty."""

    name: ClassVar[str] = "namespace-controller"
    queue_name: ClassVar[str] = "namespace"
    # Upstream raises the limits of this client too: deleting a namespace takes several requests for each kind.
    rate_factor: ClassVar[float] = 20.0

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.watched_informer("Namespace", self._on_namespace_change)
        self._crds = self.informer(CRD_KIND)
        self._pods_first = dependencies.capabilities.enabled(ORDERED_GATE)

    def rate_limiter(self) -> RateLimiter:
        """Return upstream's rate limiter: a namespace is retried at least once a minute."""
        return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(*_BACKOFF_SECONDS), BucketRateLimiter(self.clock))

    def _on_namespace_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED and has_deletion_timestamp(change.object):
            self.work_queue.add_after(key_of(change.object), GRACE_SECONDS)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Delete the content of a namespace; remove the finalizer when nothing is left."""
        try:
            # Read from the server: deleting all content must not be based on a stale object.
            namespace = await self.client.get("Namespace", key)
            if not has_deletion_timestamp(namespace):
                return DONE
            namespace = await self._ensure_terminating_phase(namespace)
            if not namespace["spec"].get("finalizers"):
                return DONE
            remains = await self._delete_all_content(namespace)
            if remains.errors:
                raise ApiError(", ".join(remains.errors))
            if remains.estimate_seconds:
                # Half of the estimate, as upstream: pods often end before their grace period does.
                return Requeue(after=remains.estimate_seconds // 2 + 1)
            await self._finalize(key)
        except NotFound:
            return DONE
        return DONE

    async def _ensure_terminating_phase(self, namespace: ReadOnlyObject) -> ReadOnlyObject:
        """Set phase Terminating if needed and return the namespace."""
        while namespace.get("status", {}).get("phase") != "Terminating":
            status: Object = {**namespace.get("status", {}), "phase": "Terminating"}
            try:
                namespace = await self.client.update("Namespace", {**namespace, "status": status}, subresource="status")
            except Conflict:
                namespace = await self.client.get("Namespace", key_of(namespace))
        return namespace

    async def _finalize(self, key: Key) -> None:
        while True:
            namespace = await self.client.get("Namespace", key)
            kept = [name for name in namespace["spec"].get("finalizers", ()) if name != FINALIZER]
            try:
                changed: Object = {**namespace, "spec": {**namespace["spec"], "finalizers": kept}}
                await self.client.update("Namespace", changed, subresource="finalize")
            except Conflict:
                continue
            return

    async def _delete_all_content(self, namespace: ReadOnlyObject) -> RemainingContent:
        """Delete all content, pods first, and write the conditions."""
        remains, counted = RemainingContent(), True
        for kind in self._ordered_kinds():
            try:
                await self._delete_kind(kind, namespace, remains)
            except (NotFound, MethodNotAllowed):
                continue  # the server does not serve this kind
            except ApiError as error:
                remains.errors.append(self._format_error(kind, namespace, error))
            if kind.name == "Pod" and self._pods_first and remains.resources:
                # With ordered deletion nothing else is deleted while pods remain: NetworkPolicies must protect them
                # until they are gone.
                counted = False
                break
        await self._update_conditions(namespace, remains, counted=counted)
        return remains

    def _ordered_kinds(self) -> Iterator[ServedKind]:
        kinds = [kind for kind in (*BUILT_IN, *custom_kinds(self._crds)) if kind.namespaced]
        yield from sorted(kinds, key=lambda kind: kind.name != "Pod")

    def _format_error(self, kind: ServedKind, namespace: ReadOnlyObject, error: ApiError) -> str:
        if kind.name == "Pod" and self._pods_first:
            return f"failed to delete pods for namespace: {namespace['metadata']['name']}, err: {error.message}"
        return error.message

    async def _delete_kind(self, kind: ServedKind, namespace: ReadOnlyObject, remaining: RemainingContent) -> None:
        """Delete all objects of one kind, and add what remains to `remaining`."""
        selection = Selection(namespace=namespace["metadata"]["name"])
        found = (await self.client.list(kind.name, selection)).items
        if not found:
            return
        estimate = self._estimate_grace_seconds(namespace, found) if kind.name == "Pod" else 0
        remaining.estimate_seconds = max(remaining.estimate_seconds, estimate)
        await self.client.delete_collection(kind.name, selection, _BACKGROUND)
        left = (await self.client.list(kind.name, selection)).items
        if not left:
            return
        remaining.resources[f"{kind.plural}.{kind.group}"] += len(left)
        finalizers = [name for obj in left for name in obj["metadata"].get("finalizers", ())]
        remaining.finalizers.update(finalizers)
        if not estimate and finalizers:
            remaining.estimate_seconds = max(remaining.estimate_seconds, _FINALIZER_SECONDS)
        # Without pods or finalizers the content should be gone, so this is an error that is retried with backoff.
        elif not estimate:
            version = kind.versions[0]
            raise ApiError(
                f"unexpected items still remain in namespace: {selection.namespace} "
                f"for gvr: {kind.group}/{version}, Resource={kind.plural}"
            )

    def _estimate_grace_seconds(self, namespace: ReadOnlyObject, pods: Sequence[ReadOnlyObject]) -> int:
        """Return the longest grace period of running pods; zero if the deletion has lasted longer."""
        running = [pod for pod in pods if not is_finished(pod)]
        longest = max((pod["spec"].get("terminationGracePeriodSeconds") or 0 for pod in running), default=0)
        since = self.clock.now() - parse_time(namespace["metadata"]["deletionTimestamp"])
        return 0 if since.total_seconds() >= longest else longest

    async def _update_conditions(
        self, namespace: ReadOnlyObject, remaining: RemainingContent, *, counted: bool
    ) -> None:
        conditions = updated_conditions(namespace, remaining, self.clock.now(), counted=counted)
        status = namespace.get("status", {})
        if conditions == status.get("conditions", []):
            return
        changed: Object = {**namespace, "status": {**status, "conditions": conditions}}
        try:
            await self.client.update("Namespace", changed, subresource="status")
        except ApiError as error:
            self.hot_loops.record_failure(self.name, key_of(namespace), error.message)
