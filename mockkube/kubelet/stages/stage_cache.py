"""The stages there are, compiled and followed; none as long as nobody has defined what a stage is."""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from mockkube.api.errors import ApiError, Forbidden
from mockkube.api.types import ReadOnlyObject
from mockkube.client.bad_objects import BadObjects
from mockkube.client.cache import Change, ListWatch
from mockkube.client.outages import Outages
from mockkube.client.protocol import Client, EventType, Selection
from mockkube.kubelet.stages.definition import NAME
from mockkube.kubelet.stages.functions import Surroundings
from mockkube.kubelet.stages.stage import KIND, Stage, StageError, read_stage
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Bell, Worker

PLAYED: Final = ("Pod", "Node")
"""The kinds whose objects are taken from stage to stage."""

_LOG: Final = logging.getLogger("mockkube.kubelet")


class _Gated:
    """A cache that is only asked for while it is open: a server that does not serve its kind is left alone."""

    def __init__(self, cache: ListWatch) -> None:
        self._cache = cache
        self.open = False

    @property
    def name(self) -> str:
        """That of the cache."""
        return self._cache.name

    @property
    def bell(self) -> Bell:
        """That of the cache."""
        return self._cache.bell

    def ready(self) -> bool:
        """Whether the cache may be stepped, and wants to."""
        return self.open and self._cache.ready()

    def wake_at(self) -> float | None:
        """When the cache wants to be stepped."""
        return self._cache.wake_at() if self.open else None

    async def step(self) -> None:
        """Step the cache."""
        await self._cache.step()


class _Permitted(_Gated):
    """A cache that is given up when the server does not let us ask."""

    def __init__(self, cache: ListWatch, client: Client, selection: Selection) -> None:
        super().__init__(cache)
        self.open = True
        self.refused: list[Bell] = []
        """They ring when it is given up."""
        self._client, self._selection = client, selection
        self._asked = False

    async def step(self) -> None:
        """Ask once whether asking is allowed, then step the cache."""
        if not self._asked:
            try:
                await self._client.list(self._cache.kind, self._selection)
            except Forbidden as error:
                _LOG.warning("%s: %s: stages are left out", self.name, error)
                self.open = False
                for bell in self.refused:
                    bell.ring()
                return
            except ApiError as error:
                _LOG.debug("%s: %s: the cache asks again", self.name, error)
            self._asked = True
        await super().step()


class StageBook:
    """What stages select and do. `changed` are called when any of them has changed."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        surroundings: Surroundings,
        *,
        owner: str,
        outages: Outages,
        bad: BadObjects,
    ) -> None:
        self._surroundings = surroundings
        self._bad = bad
        self._stages: dict[str, Stage] = {}
        self._cache = ListWatch(client, KIND, clock, owner=owner, outages=outages, bad=bad)
        self._gate = _Gated(self._cache)
        selection = Selection(fields=f"metadata.name={NAME}")
        self._definitions = ListWatch(
            client, "CustomResourceDefinition", clock, selection=selection, owner=owner, outages=outages, bad=bad
        )
        self._asking = _Permitted(self._definitions, client, selection)
        self._definitions.subscribe(self._defined)
        self._cache.subscribe(self._heed)
        self.changed: list[Callable[[], None]] = []
        self.judged: list[Callable[[ReadOnlyObject, str], None]] = []
        """Called with each stage that was read, and what is wrong with it."""

    @property
    def workers(self) -> Sequence[Worker]:
        """What works in it."""
        return (self._asking, self._gate)

    @property
    def synced(self) -> bool:
        """Whether all stages are known."""
        known = self._definitions.synced or not self._asking.open
        return known and (self._cache.synced or not self._gate.open)

    def tell_synced(self, bell: Bell) -> None:
        """Ring a bell once all stages are known."""
        self._asking.refused.append(bell)
        self._definitions.tell_synced(bell)
        self._cache.tell_synced(bell)

    async def close(self) -> None:
        """Stop watching."""
        await self._definitions.close()
        await self._cache.close()

    def governs(self, kind: str, obj: ReadOnlyObject) -> bool:
        """Whether the life of an object is up to stages: one is for such objects, in whatever state."""
        stages = list(self._stages.items())
        return any(stage.kind == kind and self._ask(name, stage.is_for, obj) for name, stage in stages)

    def selecting(self, kind: str, obj: ReadOnlyObject) -> list[Stage]:
        """Return the stages that select an object as it is now, by name."""
        stages = list(self._stages.items())
        return [stage for name, stage in stages if stage.kind == kind and self._ask(name, stage.selects, obj)]

    def _ask(self, name: str, ask: Callable[[ReadOnlyObject], bool], obj: ReadOnlyObject) -> bool:
        """Ask a stage about an object; one that fails is left out until it changes."""
        try:
            return ask(obj)
        except Exception as error:
            self._stages.pop(name, None)
            self._bad.fail("stages", KIND, name, error)
            return False

    def _defined(self, change: Change) -> None:
        conditions = (change.object.get("status") or {}).get("conditions") or ()
        established = any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
        self._gate.open = established and change.type is not EventType.DELETED
        if not self._gate.open:
            self._stages = {}
        self._gate.bell.ring()
        self._tell()

    def _heed(self, change: Change) -> None:
        if change.type is EventType.MODIFIED and change.old and change.old.get("spec") == change.object.get("spec"):
            return
        name = change.object["metadata"]["name"]
        stages = {other: stage for other, stage in self._stages.items() if other != name}
        if change.type is not EventType.DELETED and (stage := self._read(change.object)) is not None:
            stages[name] = stage
        self._stages = dict(sorted(stages.items()))
        self._tell()

    def _read(self, obj: ReadOnlyObject) -> Stage | None:
        """Compile a stage, and tell what came of it."""
        wrong = ""
        try:
            stage = read_stage(obj, self._surroundings)
        except StageError as error:
            stage, wrong = None, str(error)
        else:
            wrong = _out_of_place(stage)
        if wrong:
            _LOG.warning("stage %s is left out: %s", obj["metadata"]["name"], wrong)
        for judged in self.judged:
            judged(obj, wrong)
        return None if wrong else stage

    def _tell(self) -> None:
        for told in self.changed:
            told()


def _out_of_place(stage: Stage | None) -> str:
    """Return why a stage that is understood is never played; nothing if it is."""
    if stage is None:
        return "it has no selector, so it is for nothing"
    return "" if stage.kind in PLAYED else f"only {' and '.join(PLAYED)} are played, not {stage.kind or 'no kind'}"
