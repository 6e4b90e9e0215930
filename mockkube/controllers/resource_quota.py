"""resourcequota-controller: counts the objects of a namespace into the status of its quotas.

upstream 1.36: pkg/controller/resourcequota/resource_quota_controller.go
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from mockkube.api import quota_usage
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.pod_quantities import Quantities
from mockkube.api.quantities.quantity import parse
from mockkube.client.filtered_informer import HiddenObjects
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import (
    DONE,
    RESYNC,
    Controller,
    ControllerDependencies,
    ReconcileResult,
    Requeue,
)
from mockkube.controllers.framework.served_kinds import ServedKind
from mockkube.runtime.steps import Signal

_QUOTA: Final = "ResourceQuota"


def scope_requirements(quota: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the scopes and the scope selector of a quota as one list of requirements."""
    spec = quota["spec"]
    plain = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes", ())]
    return [*plain, *spec.get("scopeSelector", {}).get("matchExpressions", ())]


class ResourceQuotaController(Controller):
    """Controller of ResourceQuotas; keys are quotas. All are recalculated every few minutes."""

    name: ClassVar[str] = "resourcequota-controller"
    queue_name: ClassVar[str] = "resourcequota_primary"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self._monitors = dependencies.resource_monitors
        self._hidden = HiddenObjects()
        self.quotas = self.watched_informer(_QUOTA, self._on_quota_change)
        self.informers.append(self._monitors.add_event_handler(self._on_object_change))
        self.work_queue.add(RESYNC)

    def has_synced(self) -> bool:
        """Return whether the informers of all countable kinds have synced."""
        return super().has_synced() and self._monitors.has_synced()

    def notify_when_synced(self, signal: Signal) -> None:
        """Notify the signal once the informers of all countable kinds have synced."""
        self._monitors.synced_signals.append(signal)

    def hide_bad_object(self, obj: ReadOnlyObject, error: Exception) -> bool:
        """Stop counting an object that cannot be read until it changes."""
        # Looked up first: hiding the object removes it from the informer.
        kind = self._monitors.find_kind_of_object(obj)
        if super().hide_bad_object(obj, error):
            return True
        if kind is None or not self._hidden.add(obj):
            return False
        self.dependencies.informers.bad.record_failure(self.name, kind.name, key_of(obj), error)
        return True

    def _on_quota_change(self, change: ObjectChange) -> None:
        quota, old = change.object, change.old
        if change.type is not WatchEventType.MODIFIED or old is None or quota["spec"] != old["spec"]:
            self.work_queue.add(key_of(quota))
        if change.type is WatchEventType.DELETED:
            # A quota may count quotas, and those that are counted are this informer's.
            self._on_object_change(change)

    def _on_object_change(self, change: ObjectChange) -> None:
        """Recalculate quotas when usage may have dropped."""
        # Additions are charged by the quota admission plugin when they are admitted; only replenishment needs a
        # recount.
        if change.type is WatchEventType.ADDED or not self.quotas.objects:  # hot: per change of any object
            return
        namespace = change.object["metadata"].get("namespace", "")
        quotas = self.quotas.list(namespace) if namespace else ()
        if not quotas:
            return
        kind = self._monitors.find_kind(change.object["apiVersion"], change.object["kind"])
        if kind is None or not self._may_reduce_usage(kind, change):
            return
        for quota in quotas:
            if quota_usage.matching_resources(kind.group, kind.plural, quota.get("status", {}).get("hard", ())):
                self.work_queue.add(key_of(quota))

    def _may_reduce_usage(self, kind: ServedKind, change: ObjectChange) -> bool:
        if change.type is WatchEventType.DELETED or change.old is None:
            return True
        if kind.group or kind.plural not in ("pods", "services", "persistentvolumeclaims"):
            return False
        # A scope of the quota depends on it: a pod with a deadline moves from NotTerminating to Terminating.
        has_scope = quota_usage.has_terminating_scope
        if kind.plural == "pods" and has_scope(change.object) != has_scope(change.old):
            return True
        return self._compute_usage(kind, change.object) != self._compute_usage(kind, change.old)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Recalculate a quota; the resync key queues all of them."""
        if key == RESYNC:
            for quota in self.quotas.list():
                self.work_queue.add(key_of(quota))
            return Requeue(after=self.dependencies.options.quota_sync_seconds)
        found = self.quotas.get(key)
        if found is not None:
            await self._sync_quota(found)
        return DONE

    async def _sync_quota(self, quota: ReadOnlyObject) -> None:
        """Write limits and usage into the status if they differ from it."""
        hard, old = quota["spec"].get("hard", {}), quota.get("status", {})
        # Usage of a kind that is not served at the moment keeps its last value instead of dropping to nothing.
        used = {**old.get("used", {}), **self._calculate_usage(quota, hard)}
        used = {name: text for name, text in used.items() if name in hard}
        new: Object = {"hard": hard, "used": used}
        if old.get("hard") != hard or "used" not in old or not _equal_amounts(old["used"], used):
            await self.client.update(_QUOTA, {**quota, "status": new}, subresource="status")

    def _calculate_usage(self, quota: ReadOnlyObject, hard: Iterable[str]) -> dict[str, str]:
        """Return the usage of all resources of a quota whose kinds are served."""
        total: Quantities = {}
        for kind in self._monitors.kinds():
            names = quota_usage.matching_resources(kind.group, kind.plural, hard) if kind.namespaced else []
            for name in names:
                total.setdefault(name, parse("0"))
            # Tracked names start at zero even without objects, or a status would lack what admission compares with.
            for obj in self._objects_in_scope(kind, quota) if names else ():
                usage = self._compute_usage(kind, obj)
                for name in names:
                    if name in usage:
                        total[name] = total[name] + usage[name]
        return {name: str(amount) for name, amount in total.items()}

    def _objects_in_scope(self, kind: ServedKind, quota: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
        """Yield the objects of a kind that match all scopes of a quota."""
        requirements, capabilities = scope_requirements(quota), self.dependencies.capabilities
        namespace = quota["metadata"]["namespace"]
        # A quota counts itself as soon as it is known here: the monitor of quotas has a watch of its own, which may be
        # behind.
        is_quota = kind.name == _QUOTA
        found = self.quotas.list(namespace) if is_quota else self._monitors.objects(kind, namespace)
        for obj in self._hidden.visible(found):
            matches = (
                quota_usage.matches_scope(one, kind.group, kind.plural, obj, capabilities) for one in requirements
            )
            if all(matches):
                yield obj

    def _compute_usage(self, kind: ServedKind, obj: ReadOnlyObject) -> Quantities:
        moment = quota_usage.UsageContext(self.dependencies.capabilities, self.clock.now())
        return quota_usage.calculate_usage(kind.group, kind.plural, obj, moment)


def _equal_amounts(one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    # Compared as amounts: "1000m" and "1" are equal, and a write for the notation would loop.
    return one.keys() == other.keys() and all(parse(text) == parse(other[name]) for name, text in one.items())
