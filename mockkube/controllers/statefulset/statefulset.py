"""statefulset-controller: runs pods with stable names and claims, in order or in parallel.

upstream 1.36: pkg/controller/statefulset
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, Conflict
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Key, key_of
from mockkube.controllers.deployment.scaling import wanted
from mockkube.controllers.framework.consistency_store import OwnWrites, Watched
from mockkube.controllers.framework.controller import DONE, Again, Controller, Outcome, Setting
from mockkube.controllers.framework.controller_ref_manager import Claims, terminating
from mockkube.controllers.framework.owner_index import Heirs, candidates, selector_of
from mockkube.controllers.framework.slow_start import Batches, slow_start
from mockkube.controllers.pods.readiness import seconds_to_availability, seconds_to_prove
from mockkube.controllers.statefulset.claims import CLAIM
from mockkube.controllers.statefulset.identity import (
    API_VERSION,
    KIND,
    identity_matches,
    parent_of,
    revision_of,
    storage_matches,
)
from mockkube.controllers.statefulset.pod_control import StatefulHand
from mockkube.controllers.statefulset.revisions import StatefulArchive, StatefulHistory, restored, same_meaning
from mockkube.controllers.statefulset.rollout import Editions, Need, Roster, Rules, completed, is_news, roster_of
from mockkube.features.versions import Version

# From this version on the controller requeues a set for the exact time at which a pod becomes available.
_EXACT_AVAILABILITY: Final = Version(1, 35)
# From this version on verbs in messages are capitalized.
_TITLED_EVENTS: Final = Version(1, 35)


class StatefulSets(Controller):
    """Controller of StatefulSets; keys are StatefulSets."""

    name: ClassVar[str] = "statefulset-controller"
    queue: ClassVar[str] = "statefulset"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        version = setting.capabilities.version
        self.sets = self.follow(KIND)
        pod_handler = Heirs(self.sets, KIND, added=self._changed, updated=self._pod_updated, deleted=self._changed)
        self.pods = self.follow("Pod", pod_handler.heed)
        revisions = self.cache("ControllerRevision")
        self._archive = StatefulArchive(self.client, revisions, KIND, same=same_meaning(setting.capabilities))
        spelled = str.title if version >= _TITLED_EVENTS else str.lower
        claims = self.cache(CLAIM)
        tracked = [Watched(self.pods, "", "pods"), Watched(claims, "", "persistentvolumeclaims")]
        tracked.append(Watched(self.sets, "apps", "statefulsets"))
        checks_consistency = setting.capabilities.enabled("StaleControllerConsistencyStatefulSet")
        self._writes = OwnWrites(
            self.clock, "statefulset_controller", setting.metrics, tracked if checks_consistency else ()
        )
        self._hand = StatefulHand(self.client, self.events, self.pods, claims, self._writes, spelled)
        self._rules = Rules.of(setting.capabilities)
        self._exact = version >= _EXACT_AVAILABILITY

    def _changed(self, key: Key, pod: ReadOnlyObject) -> None:
        self.keys.add(key)

    def _pod_updated(self, key: Key, pod: ReadOnlyObject, old: ReadOnlyObject | None) -> None:
        self.keys.add(key)
        if seconds := seconds_to_prove(self.sets.get(key), pod, old):
            self.keys.add_after(key, seconds if self._exact else seconds + 1)

    async def reconcile(self, key: Key) -> Outcome:
        """Create, update and delete pods as their order allows, and write the status."""
        # A stale informer may not show a pod that was created just now, or still show a deleted one.
        if self._writes.behind(key):
            return Again()
        owner = self.sets.get(key)
        if owner is None:
            self._writes.forget(key)
            return DONE
        selector = selector_of(owner)
        claims = Claims(self.client, "Pod", owner, KIND, API_VERSION)
        pods = await claims.claim(
            candidates(self.pods, owner),
            lambda pod: selector.matches(pod["metadata"].get("labels") or {}) and parent_of(pod) == key.name,
        )
        history = await self._archive.history_of(owner)
        try:
            status = await self._sync(owner, history, pods)
        finally:
            await self._archive.forget(owner, history, (revision_of(pod) for pod in pods))
        return self._next_look(owner, status, pods)

    async def _sync(self, owner: ReadOnlyObject, history: StatefulHistory, pods: Sequence[ReadOnlyObject]) -> Object:
        """Process the pods of a set by plan, write the status and return it."""
        revisioned_sets = Editions(
            current=restored(owner, history.current),
            current_name=history.current["metadata"]["name"],
            update=restored(owner, history.update),
            update_name=history.update["metadata"]["name"],
        )
        plan = roster_of(owner, revisioned_sets, pods, self.clock.now(), self._rules)
        status, error = plan.status(pods), None
        if not terminating(owner):
            done = await self._move(plan)
            status, error = plan.status((*plan.replicas, *plan.condemned)), done.error
            # Pods deleted for the update are still in the plan, but no longer count.
            status["currentReplicas"] -= done.successes
        status = completed(owner, status)
        await self._report(owner, status)
        if error is not None:
            raise error
        return status

    async def _move(self, roster: Roster) -> Batches:
        """Process all pods; return the number deleted for an update, and the first error."""
        try:
            held_up = (
                await self._for_all(roster, roster.replicas, self._see_to)
                or await self._for_all(roster, roster.condemned, self._pass_on)
                or await self._for_all(roster, roster.condemned, self._dismiss)
            )
        except ApiError as error:
            return Batches(0, error)
        taken = 0
        # An update goes on only while no pod is waited for; otherwise a bad revision would spread.
        for pod in () if held_up else roster.outdated():
            try:
                await self._hand.delete(roster.owner, pod)
            except ApiError as error:
                return Batches(taken, error)
            taken += 1
        return Batches(taken)

    async def _for_all(
        self,
        roster: Roster,
        pods: Sequence[ReadOnlyObject],
        act: Callable[[Roster, ReadOnlyObject], Awaitable[bool]],
    ) -> bool:
        """Process pods; return whether an ordered set must wait for one, at which it stops."""
        if roster.ordered:
            for pod in pods:
                if await act(roster, pod):
                    return True
            return False
        done = await slow_start(len(pods), lambda index: act(roster, pods[index]))
        if done.error is not None:
            raise done.error
        return False

    async def _see_to(self, roster: Roster, pod: ReadOnlyObject) -> bool:
        """Process one wanted pod; return whether an ordered set must wait for it."""
        owner, need = roster.owner, roster.need_of(pod)
        if need is Need.DELETION:
            await self._hand.delete(owner, pod)
            return True
        if need is Need.CREATION:
            # As upstream, nothing else is done in this round while claims of the former pod are still to be deleted.
            if not self._hand.waits_for_claims(owner, pod):
                await self._hand.create(owner, dict(pod))
            return True
        # A claim may have been deleted between the creation of claims and pod.
        if pod["status"]["phase"] == "Pending":
            await self._hand.complete_claims(owner, pod)
        if need is Need.TIME and roster.ordered:
            return True
        fits = identity_matches(owner, pod) and storage_matches(owner, pod)
        if not fits or not self._hand.owners_match(owner, pod):
            await self._hand.mend(owner, pod)
        return False

    async def _pass_on(self, roster: Roster, pod: ReadOnlyObject) -> bool:
        if not self._hand.owners_match(roster.owner, pod):
            await self._hand.pass_on(roster.owner, pod)
        return False

    async def _dismiss(self, roster: Roster, pod: ReadOnlyObject) -> bool:
        if roster.may_go(pod):
            await self._hand.delete(roster.owner, pod)
        return True

    async def _report(self, owner: ReadOnlyObject, status: Object) -> None:
        """Write the status if it changed; on a conflict retry once with the stored object."""
        if not is_news(owner, status):
            return
        try:
            written = await self.client.update(KIND, {**owner, "status": status}, subresource="status")
        except Conflict:
            fresh = await self.client.get(KIND, key_of(owner))
            written = await self.client.update(KIND, {**fresh, "status": status}, subresource="status")
        self._writes.wrote(key_of(owner), KIND, written)

    def _next_look(self, owner: ReadOnlyObject, status: ReadOnlyObject, pods: Sequence[ReadOnlyObject]) -> Outcome:
        min_ready_seconds, available = owner["spec"].get("minReadySeconds", 0), status["availableReplicas"]
        if not self._exact:
            return (
                Again(after=float(min_ready_seconds)) if min_ready_seconds > 0 and available != wanted(owner) else DONE
            )
        if min_ready_seconds == 0 or status["readyReplicas"] == available:
            return DONE
        left = seconds_to_availability(pods, min_ready_seconds, self.clock.now())
        return Again(after=float(min_ready_seconds) if left is None else left)
