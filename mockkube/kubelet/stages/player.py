"""Takes objects from stage to stage: which one is next, when, and what it writes.

upstream: github.com/kubernetes-sigs/kwok, pkg/kwok/controllers/stage_controller.go, pkg/utils/lifecycle/lifecycle.go
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Deletion, Key, PatchType
from mockkube.kubelet.containers import Note
from mockkube.kubelet.reporting import Reporter
from mockkube.kubelet.stages.book import StageBook
from mockkube.kubelet.stages.stage import Stage, StageError, rendered, without_finalizers
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock

_LOG: Final = logging.getLogger("mockkube.kubelet")
_MEDIA: Final = {"json": PatchType.JSON, "merge": PatchType.MERGE, "strategic": PatchType.STRATEGIC}


@dataclass(frozen=True, slots=True)
class _Awaited:
    """The stage an object waits for, and until when."""

    stage: str
    due: float


class StagePlayer:
    """Plays the stages of objects of one kind. What it waits for is lost with a restart: delays begin anew."""

    def __init__(
        self, client: Client, clock: Clock, chance: Chance, book: StageBook, reporter: Reporter, kind: str
    ) -> None:
        self._client, self._clock, self._chance = client, clock, chance
        self._book, self._reporter, self._kind = book, reporter, kind
        self._awaited: dict[str, _Awaited] = {}

    def governs(self, obj: ReadOnlyObject) -> bool:
        """Whether the life of an object is up to stages."""
        return self._book.governs(self._kind, obj)

    def forget(self, uid: str) -> None:
        """Forget an object that is gone."""
        self._awaited.pop(uid, None)

    async def play(self, key: Key, obj: ReadOnlyObject) -> float | None:
        """Take an object to its next stage if it is time; return in how many seconds it will be, None if never.

        Raises what the server answers.
        """
        uid, now = obj["metadata"]["uid"], self._clock.monotonic()
        stage = self._next(uid, obj, now)
        if stage is None:
            self.forget(uid)
            return None
        left = self._awaited[uid].due - now
        if left > 0:
            return left
        self.forget(uid)
        try:
            await self._enter(stage, key, obj)
        except StageError as error:
            _LOG.warning("stage %s of %s %s: %s", stage.name, self._kind, key, error)
        return 0.0 if stage.changes_nothing else None

    def _next(self, uid: str, obj: ReadOnlyObject, now: float) -> Stage | None:
        stages = self._book.selecting(self._kind, obj)
        awaited = self._awaited.get(uid)
        if awaited is not None and (known := [stage for stage in stages if stage.name == awaited.stage]):
            return known[0]
        if not stages:
            return None
        stage = self._draw(stages, obj)
        seconds = stage.delay.seconds(obj, self._clock.now(), self._chance.random.random)
        self._awaited[uid] = _Awaited(stage.name, now + seconds)
        return stage

    def _draw(self, stages: Sequence[Stage], obj: ReadOnlyObject) -> Stage:
        if len(stages) == 1:
            return stages[0]
        weights = [stage.weight_of(obj) for stage in stages]
        if not any(weights):
            weights = [1] * len(stages)
        return self._chance.random.choices(stages, weights)[0]

    async def _enter(self, stage: Stage, key: Key, obj: ReadOnlyObject) -> None:
        if stage.event is not None:
            self._reporter.tell(obj, Note(stage.event.type, stage.event.reason, stage.event.message))
        finalizers = without_finalizers(obj, stage.finalizers)
        if finalizers is not None:
            change: Object = {"metadata": {"uid": obj["metadata"]["uid"], "finalizers": finalizers}}
            await self._client.patch(self._kind, key, change, media=PatchType.MERGE)
        if stage.delete:
            await self._client.delete(self._kind, key, Deletion(uid=obj["metadata"]["uid"], grace_seconds=0))
            return
        for patch in stage.patches:
            body = rendered(patch, obj)
            media = _MEDIA.get(patch.media, PatchType.STRATEGIC)
            await self._client.patch(self._kind, key, body, media=media, subresource=patch.subresource)
