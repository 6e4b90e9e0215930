"""device-taint-eviction-controller: deletes pods that use a device with a NoExecute taint they do not tolerate.

Times count from when the taint was added, so a restart changes nothing. A second queue reports progress in the status
of DeviceTaintRules. upstream 1.36: pkg/controller/devicetainteviction
"""

from collections.abc import Iterable
from typing import ClassVar, Final

from cachetools import LRUCache
from prometheus_client import Counter, Histogram

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import DeleteOptions, Key, WatchEventType, key_of
from mockkube.controllers.devicetainteviction.device_taints import (
    DeviceTaints,
    PendingEviction,
    find_claim_eviction,
    is_in_pool,
    merge_evictions,
    selects_device,
)
from mockkube.controllers.devicetainteviction.rule_status import DeviceTaintRuleStatusController
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.pods.pod_disruption_writer import PodDisruptionWriter
from mockkube.controllers.resourceclaim.pod_resource_claims import owner_pod_uid
from mockkube.matching.pod_claims import device_claim
from mockkube.proposals.component_extensions import make_device_taint_rules

RULES_GATE: Final = "DRADeviceTaintRules"
_REASON: Final = "DeviceTaintManagerEviction"
_EVICTED_MAX: Final = 500


class DeviceTaintEvictionController(Controller):
    """Controller of evictions for device taints; keys are pods."""

    name: ClassVar[str] = "device-taint-eviction-controller"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self.claims = self.watched_informer("ResourceClaim", self._on_claim_change)
        self.slices = self.watched_informer("ResourceSlice", self._on_slice_change)
        rules = dependencies.capabilities.enabled(RULES_GATE)
        self.rules = self.watched_informer("DeviceTaintRule", self._on_rule_change) if rules else None
        self.rule_status = DeviceTaintRuleStatusController(dependencies, self) if rules else None
        self.taint_rules = make_device_taint_rules(dependencies.capabilities)
        self._status_writer = PodDisruptionWriter(self.client, dependencies.capabilities)
        self._pending: dict[Key, PendingEviction] = {}
        self._evicted: LRUCache[str, None] = LRUCache(_EVICTED_MAX)
        self._deletions = Counter(
            "device_taint_eviction_controller_pod_deletions",
            "Total number of Pods deleted by DeviceTaintEvictionController since its start.",
            registry=dependencies.metrics,
        )
        self._duration = Histogram(
            "device_taint_eviction_controller_pod_deletion_duration_seconds",
            "Latency, in seconds, between the time when a device taint effect has been activated and a Pod's deletion "
            "via DeviceTaintEvictionController.",
            buckets=(0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240),
            registry=dependencies.metrics,
        )

    def _on_pod_change(self, change: ObjectChange) -> None:
        pod, old, key = change.object, change.old, key_of(change.object)
        if change.type is WatchEventType.DELETED:
            self._pending.pop(key, None)
        elif old is None or _eviction_inputs(pod) != _eviction_inputs(old):
            self.work_queue.add(key)

    def _on_claim_change(self, change: ObjectChange) -> None:
        # Pods that a claim is no longer reserved for may have their eviction cancelled.
        for claim in (change.object, change.old):
            if claim is not None:
                self._enqueue_users(claim)

    def _on_slice_change(self, change: ObjectChange) -> None:
        spec = change.object["spec"]
        driver, pool = spec["driver"], spec["pool"]["name"]
        for claim in self.claims.list():
            if any((one["driver"], one["pool"]) == (driver, pool) for one in allocation_results(claim)):
                self._enqueue_users(claim)

    def _on_rule_change(self, change: ObjectChange) -> None:
        # Status updates come from this controller itself.
        if change.old is not None and change.old["spec"] == change.object["spec"]:
            return
        for claim in self.claims.list():
            if allocation_results(claim):
                self._enqueue_users(claim)

    def _enqueue_users(self, claim: ReadOnlyObject) -> None:
        for consumer in claim.get("status", {}).get("reservedFor", ()):
            if consumer["resource"] == "pods" and not consumer.get("apiGroup"):
                self.work_queue.add(Key(claim["metadata"]["namespace"], consumer["name"]))

    def taints(self, more: Iterable[ReadOnlyObject] = ()) -> DeviceTaints:
        """Return the present device taints, with those of additional rules."""
        rules = [] if self.rules is None else self.rules.list()
        return DeviceTaints(self.slices.list(), [*rules, *more])

    def find_eviction(self, pod: ReadOnlyObject, taints: DeviceTaints) -> PendingEviction | None:
        """Return when and why a pod must be evicted; None if it may stay."""
        # A pod without a node uses no device yet; the scheduler respects the taints.
        if not pod["spec"].get("nodeName"):
            return None
        claims = (self._reserved_claim(pod, wanted) for wanted in pod["spec"].get("resourceClaims", ()))
        due = (find_claim_eviction(claim, taints, self.taint_rules) for claim in claims if claim is not None)
        return merge_evictions(one for one in due if one is not None)

    def _reserved_claim(self, pod: ReadOnlyObject, wanted: ReadOnlyObject) -> ReadOnlyObject | None:
        """Return the claim for an entry of `resourceClaims`, if it is reserved for the pod."""
        known, uid = device_claim(pod, wanted), pod["metadata"]["uid"]
        claim = self.claims.get(Key(pod["metadata"]["namespace"], known.name)) if known.name else None
        if claim is None or (known.generated and owner_pod_uid(claim) != uid):
            return None
        reserved = claim.get("status", {}).get("reservedFor", ())
        return claim if any(one["uid"] == uid for one in reserved) else None

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Evict the pod if it is due, or cancel a pending eviction."""
        pod = self.pods.get(key)
        if pod is None or pod["metadata"]["uid"] in self._evicted:
            return DONE
        eviction = self.find_eviction(pod, self.taints())
        if eviction is None:
            if self._pending.pop(key, None) is not None:
                self._record_event(pod, "Cancelling deletion")
            return DONE
        self._pending[key] = eviction
        self._notify_rule_status(eviction)
        left = (eviction.when - self.clock.now()).total_seconds()
        if left > 0:
            return Requeue(after=left)
        await self._evict(pod, eviction)
        self._pending.pop(key, None)
        # The pod stays in the informer until its grace period is over, and must not be evicted or counted again.
        self._evicted[pod["metadata"]["uid"]] = None
        return DONE

    def _record_event(self, pod: ReadOnlyObject, message: str) -> None:
        metadata = pod["metadata"]
        about = {"apiVersion": "v1", "kind": "Pod", **{one: metadata[one] for one in ("name", "namespace", "uid")}}
        self.events.record(about, "Normal", _REASON, message)

    def _notify_rule_status(self, eviction: PendingEviction) -> None:
        if self.rule_status is not None:
            self.rule_status.queue_rules(eviction.rules)

    async def _evict(self, observed: ReadOnlyObject, eviction: PendingEviction) -> None:
        """Delete a pod after writing its condition, and count the eviction."""
        key, uid = key_of(observed), observed["metadata"]["uid"]
        try:
            pod = await self.client.get("Pod", key)
            # A pod of the same name was created since.
            if pod["metadata"]["uid"] != uid:
                return
            if not has_deletion_timestamp(pod):
                self._record_event(pod, "Marking for deletion")
                await self._write_condition(pod)
                await self.client.delete("Pod", key, DeleteOptions(uid=uid))
        except NotFound:
            return
        self._deletions.inc()
        self._duration.observe((self.clock.now() - eviction.when).total_seconds())
        if self.rule_status is not None:
            self.rule_status.count_eviction(eviction.rules)

    async def _write_condition(self, pod: ReadOnlyObject) -> None:
        status = self._status_writer.with_disruption_target(
            pod,
            self.clock.now(),
            reason="DeletionByDeviceTaintManager",
            message="Device Taint manager: deleting due to NoExecute taint",
            observe_generation=False,
        )
        await self._status_writer.write(pod, status)

    def pods_pending_eviction(self, rule: ReadOnlyObject) -> list[ReadOnlyObject]:
        """Return the pods that a rule evicts, or would evict if its effect were NoExecute."""
        # Only the effect is replaced: for effect None the rule's status tells what NoExecute would do.
        taint = {"timeAdded": rule["metadata"]["creationTimestamp"], **rule["spec"]["taint"], "effect": "NoExecute"}
        hypothetical = {**rule, "spec": {**rule["spec"], "taint": taint}}
        taints, uid = self.taints([hypothetical]), rule["metadata"]["uid"]
        alive = (pod for pod in self.pods.list() if not has_deletion_timestamp(pod))
        return [pod for pod in alive if (due := self.find_eviction(pod, taints)) is not None and uid in due.rules]

    def count_selected_devices(self, rule: ReadOnlyObject) -> tuple[int, int]:
        """Return the numbers of published and of allocated devices that a rule selects."""
        taints, published = self.taints(), 0
        for one in taints.slices:
            spec = one["spec"]
            pool = {"driver": spec["driver"], "pool": spec["pool"]["name"]}
            if any(is_in_pool(other, **pool) and other is one for other in taints.current_slices(**pool)):
                published += sum(
                    selects_device(rule, {**pool, "device": device["name"]}) for device in spec.get("devices", ())
                )
        allocated = sum(
            selects_device(rule, result) for claim in self.claims.list() for result in allocation_results(claim)
        )
        return published, allocated


def _eviction_inputs(pod: ReadOnlyObject) -> object:
    return pod["spec"].get("nodeName"), pod.get("status", {}).get("resourceClaimStatuses", [])


def allocation_results(claim: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the devices allocated to a claim."""
    allocation = claim.get("status", {}).get("allocation", {})
    return list(allocation.get("devices", {}).get("results", ()))


def build(dependencies: ControllerDependencies) -> Iterable[Controller]:
    """Return the eviction queue, and the queue for rule status if rules are enabled."""
    eviction = DeviceTaintEvictionController(dependencies)
    yield eviction
    if eviction.rule_status is not None:
        yield eviction.rule_status
