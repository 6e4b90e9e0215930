"""Play KWOK stages on objects of one kind: choose the next stage, wait for its delay, take its steps.

upstream: github.com/kubernetes-sigs/kwok, pkg/kwok/controllers, pkg/utils/lifecycle
"""

import logging
from collections.abc import Sequence
from typing import Any, Final

from mockkube.api.errors import AlreadyExists
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Client, DeleteOptions, Key, key_of
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.kubelet.events.event_reporter import EventReporter
from mockkube.kubelet.stages.stage import Stage, StageError, StagePatch, StageStep, apply_finalizers
from mockkube.kubelet.stages.stage_cache import StageCache
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random

_LOG: Final = logging.getLogger("mockkube.kubelet")
_PATCH_TYPES: Final = {
    "json": PatchType.JSON,
    "merge": PatchType.MERGE,
    "strategic": PatchType.STRATEGIC,
    "apply": PatchType.APPLY,
}


@dataclass(frozen=True, slots=True)
class _PendingStage:
    """Stage that one revision of an object waits for, and when it is due."""

    revision: str
    stage: str
    due: float


class StageController:
    """Plays stages on objects of one kind; delays start over after a restart."""

    def __init__(
        self, client: Client, clock: Clock, random: Random, stage_cache: StageCache, events: EventReporter, kind: str
    ) -> None:
        self._client, self._clock, self._random = client, clock, random
        self._stage_cache, self._events, self._kind = stage_cache, events, kind
        self._pending: dict[str, _PendingStage] = {}

    def has_stages(self, obj: ReadOnlyObject) -> bool:
        """Return whether stages decide about the life of an object."""
        return self._stage_cache.has_stages_for(self._kind, obj)

    def forget(self, uid: str) -> None:
        """Forget a deleted object."""
        self._pending.pop(uid, None)

    async def play_next_stage(self, key: Key, obj: ReadOnlyObject) -> float | None:
        """Apply an object's next stage if it is due; return the seconds until then, None if no stage selects it.

        Raises errors of the API server.
        """
        uid, now = obj["metadata"]["uid"], self._clock.monotonic()
        stage = self._find_next_stage(uid, obj, now)
        if stage is None:
            self.forget(uid)
            return None
        left = self._pending[uid].due - now
        if left > 0:
            return left
        self.forget(uid)
        # The choice was forgotten before the stage runs: if a request fails, the retry chooses a stage again.
        try:
            await self._apply_stage(stage, key, obj)
        except StageError as error:
            _LOG.warning("stage %s of %s %s: %s", stage.name, self._kind, key, error)
            self._events.record_event(obj, KubeletEvent("Warning", "StageFailed", f"Stage {stage.name}: {error}"))
        return None

    def _find_next_stage(self, uid: str, obj: ReadOnlyObject, now: float) -> Stage | None:
        stages = self._stage_cache.find_selecting(self._kind, obj)
        revision = obj["metadata"]["resourceVersion"]
        awaited = self._pending.get(uid)
        # The choice is random, so it is kept for one revision of the object: a resync must not choose again.
        if awaited is not None and awaited.revision == revision:
            known = [stage for stage in stages if stage.name == awaited.stage]
            if known:
                return known[0]
        if not stages:
            return None
        stage = choose_stage(stages, obj, self._random)
        seconds = stage.delay.compute_seconds(obj, self._clock.now(), self._random.generator.random)
        self._pending[uid] = _PendingStage(revision, stage.name, now + seconds)
        return stage

    async def _apply_stage(self, stage: Stage, key: Key, obj: ReadOnlyObject) -> None:
        """Take the steps of a stage; after a deletion only events follow."""
        deleted = False
        for step in stage.steps:
            if step.event is not None:
                self._events.record_event(obj, KubeletEvent(step.event.type, step.event.reason, step.event.message))
            if not deleted:
                deleted = await self._take_step(stage, step, key, obj)

    async def _take_step(self, stage: Stage, step: StageStep, key: Key, obj: ReadOnlyObject) -> bool:
        """Take all of a step but its event; return whether it deleted the object."""
        uid = obj["metadata"]["uid"]
        if step.finalizers is not None and (left := apply_finalizers(obj, step.finalizers)) is not None:
            # The uid makes the patch fail with a conflict if another object has the name by now.
            change: Object = {"metadata": {"uid": uid, "finalizers": left}}
            await self._client.patch(self._kind, key, change, patch_type=PatchType.MERGE)
        if step.delete:
            await self._client.delete(self._kind, key, DeleteOptions(uid=uid, grace_seconds=0))
            return True
        if step.patch is not None:
            body = stage.render(step.patch, obj)
            patch_type = _PATCH_TYPES.get(step.patch.patch_type, PatchType.STRATEGIC)
            await self._client.patch(self._kind, key, body, patch_type=patch_type, subresource=step.patch.subresource)
        if step.apply is not None:
            await self._create_or_patch(stage.render(step.apply, obj), step.apply, obj)
        return False

    async def _create_or_patch(self, manifest: Any, how: StagePatch, obj: ReadOnlyObject) -> None:
        """Create the object of an apply step, or patch it if it exists."""
        if not isinstance(manifest, dict) or not manifest.get("kind") or not manifest.get("apiVersion"):
            raise StageError("what is applied must have apiVersion and kind")
        metadata = {**(manifest.get("metadata") or {})}
        if "namespace" in obj["metadata"]:
            metadata.setdefault("namespace", obj["metadata"]["namespace"])
        manifest_object: Object = {**manifest, "metadata": metadata}
        group = str(manifest_object["apiVersion"]).rpartition("/")[0]
        kind = f"{manifest_object['kind']}.{group}" if group else str(manifest_object["kind"])
        if not how.subresource:
            try:
                await self._client.create(kind, manifest_object)
                return
            except AlreadyExists:
                pass
        patch_type = _PATCH_TYPES.get(how.patch_type, PatchType.APPLY)
        await self._client.patch(
            kind, key_of(manifest_object), manifest_object, patch_type=patch_type, subresource=how.subresource
        )


def choose_stage(stages: Sequence[Stage], obj: ReadOnlyObject, random: Random) -> Stage:
    """Return one of several selecting stages at random, by weight."""
    if len(stages) == 1:
        return stages[0]
    weights = [stage.find_weight(obj) for stage in stages]
    valid = [(stage, weight) for stage, weight in zip(stages, weights, strict=True) if weight is not None]
    weighted = [(stage, weight) for stage, weight in valid if weight > 0]
    # As in KWOK, weight 0 means only if there is no other, and a stage whose weight is invalid comes last.
    if weighted:
        return random.generator.choices([stage for stage, _ in weighted], [weight for _, weight in weighted])[0]
    return random.generator.choice([stage for stage, _ in valid] or list(stages))
