"""Status of DeviceTaintRules: whether pods are pending eviction, and how many were evicted.

upstream 1.36: pkg/controller/devicetainteviction/device_taint_eviction.go, maybeUpdateRuleStatus
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, Protocol

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.api.times import parse_time, render_time
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue

# The status of a rule is updated at most this often, however many pods are evicted.
PERIOD_SECONDS: Final = 10.0
_CONDITION: Final = "EvictionInProgress"


class EvictionSource(Protocol):
    """Source of the pods and devices that rules affect."""

    def pods_pending_eviction(self, rule: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
        """Return the pods that a rule evicts, or would evict if its effect were NoExecute."""
        ...

    def count_selected_devices(self, rule: ReadOnlyObject) -> tuple[int, int]:
        """Return the numbers of published and of allocated devices that a rule selects."""
        ...


def _pluralize(count: int, one: str, many: str) -> str:
    return f"1 {one}" if count == 1 else f"{count} {many}"


class DeviceTaintRuleStatusController(Controller):
    """Controller of the status of DeviceTaintRules; keys are rules. Evicted pods are counted since the start."""

    name: ClassVar[str] = "device-taint-eviction-controller/rules"
    event_source: ClassVar[str] = "device-taint-eviction-controller"

    def __init__(self, dependencies: ControllerDependencies, evictions: EvictionSource) -> None:
        super().__init__(dependencies)
        self._evictions = evictions
        self._evicted_pods: Counter[str] = Counter()
        self.rules = self.watched_informer("DeviceTaintRule", self._on_rule_change)

    def _on_rule_change(self, change: ObjectChange) -> None:
        rule, old = change.object, change.old
        if change.type is WatchEventType.DELETED:
            del self._evicted_pods[rule["metadata"]["uid"]]
        elif old is None or old["spec"] != rule["spec"]:
            self.work_queue.add(key_of(rule))

    def queue_rules(self, rules: Iterable[str]) -> None:
        """Queue rules (by uid) with pending evictions for the next status update."""
        wanted = set(rules)
        for rule in self.rules.list() if wanted else ():
            if rule["metadata"]["uid"] in wanted:
                self.work_queue.add_after(key_of(rule), PERIOD_SECONDS)

    def count_eviction(self, rules: Iterable[str]) -> None:
        """Count an evicted pod for the rules that caused it."""
        self._evicted_pods.update(rules)
        self.queue_rules(rules)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Update the condition of a rule, unless that was done within the last period."""
        rule = self.rules.get(key)
        if rule is None:
            return DONE
        old = find_condition(rule.get("status", {}).get("conditions") or (), _CONDITION)
        generation = rule["metadata"].get("generation", 0)
        # A changed spec is reported immediately.
        if old is not None and old.get("observedGeneration", 0) == generation:
            since = (self.clock.now() - parse_time(old["lastTransitionTime"])).total_seconds()
            if since < PERIOD_SECONDS:
                return Requeue(after=PERIOD_SECONDS - since)
        new = {"type": _CONDITION, "observedGeneration": generation, **self._build_condition(rule)}
        if old is None or any(old.get(name, "") != value for name, value in new.items()):
            others = [one for one in rule.get("status", {}).get("conditions") or () if one is not old]
            new["lastTransitionTime"] = render_time(self.clock.now())
            metadata = {"uid": rule["metadata"]["uid"]}
            patch = {"metadata": metadata, "status": {"conditions": [*others, new]}}
            await self.client.patch("DeviceTaintRule", key, patch, patch_type=PatchType.MERGE, subresource="status")
        return DONE

    def _build_condition(self, rule: ReadOnlyObject) -> Object:
        effect, done = rule["spec"]["taint"]["effect"], self._evicted_pods[rule["metadata"]["uid"]]
        status, reason, message = "False", "OtherEffect", "Eviction only happens for the NoExecute effect."
        if effect == "NoExecute":
            status, reason, message = self._describe_progress(rule, done)
        elif effect == "None":
            reason, message = "NoEffect", self._describe_dry_run(rule)
        if done:
            message = f"{message} {_pluralize(done, 'pod', 'pods')} evicted since starting the controller.".lstrip()
        return {"status": status, "reason": reason, "message": message}

    def _describe_progress(self, rule: ReadOnlyObject, done: int) -> tuple[str, str, str]:
        pods = self._evictions.pods_pending_eviction(rule)
        if not pods:
            return "False", "Completed" if done else "NotStarted", ""
        need = "1 pod needs" if len(pods) == 1 else f"{len(pods)} pods need"
        return "True", "PodsPendingEviction", f"{need} to be evicted in {_count_namespaces(pods)}."

    def _describe_dry_run(self, rule: ReadOnlyObject) -> str:
        published, allocated = self._evictions.count_selected_devices(rule)
        pods = self._evictions.pods_pending_eviction(rule)
        return (
            f"{_pluralize(published, 'published device', 'published devices')} selected. "
            f"{_pluralize(allocated, 'allocated device', 'allocated devices')} selected. "
            f"{_pluralize(len(pods), 'pod', 'pods')} would be evicted in {_count_namespaces(pods)} "
            "if the effect was NoExecute. This information will not be updated again. "
            "Recreate the DeviceTaintRule to trigger an update."
        )


def _count_namespaces(pods: Sequence[ReadOnlyObject]) -> str:
    count = len({pod["metadata"]["namespace"] for pod in pods})
    return _pluralize(count, "namespace", "different namespaces")
