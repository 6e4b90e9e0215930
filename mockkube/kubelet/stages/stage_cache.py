"""Compiled stages, kept current by informers; empty while the CRD of stages does not exist."""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from mockkube.api.errors import ApiError, Forbidden
from mockkube.api.types import ReadOnlyObject
from mockkube.client.bad_objects import BadObjects
from mockkube.client.cache import Informer, ObjectChange
from mockkube.client.outages import UnreachableServers
from mockkube.client.protocol import Client, EventType, Selection
from mockkube.kubelet.stages.definition import NAME
from mockkube.kubelet.stages.functions import Surroundings
from mockkube.kubelet.stages.stage import KIND, Stage, StageError, read_stage
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal, Worker

# Kinds whose objects stages may select.
PLAYED: Final = ("Pod", "Node")

_LOG: Final = logging.getLogger("mockkube.kubelet")


class _Gated:
    """Informer that is stepped only while it is open, so that a kind that is not served is not listed."""

    def __init__(self, cache: Informer) -> None:
        self._cache = cache
        self.open = False

    @property
    def name(self) -> str:
        return self._cache.name

    @property
    def signal(self) -> Signal:
        return self._cache.signal

    def is_ready(self) -> bool:
        return self.open and self._cache.is_ready()

    def wake_at(self) -> float | None:
        return self._cache.wake_at() if self.open else None

    async def step(self) -> None:
        await self._cache.step()


class _Permitted(_Gated):
    """Informer that closes itself if the server forbids the list."""

    def __init__(self, cache: Informer, client: Client, selection: Selection) -> None:
        super().__init__(cache)
        self.open = True
        # Signals to notify when it closes.
        self.refused: list[Signal] = []
        self._client, self._selection = client, selection
        self._asked = False

    async def step(self) -> None:
        """List once to learn whether that is allowed, then step the informer."""
        if not self._asked:
            try:
                await self._client.list(self._cache.kind, self._selection)
            except Forbidden as error:
                _LOG.warning("%s: %s: stages are not used", self.name, error)
                self.open = False
                # Those who wait for the stages to be listed must learn that there will be none.
                for signal in self.refused:
                    signal.notify()
                return
            except ApiError as error:
                _LOG.debug("%s: %s: the cache asks again", self.name, error)
            self._asked = True
        await super().step()


class StageBook:
    """Compiled stages by name; calls `change_handlers` after each change."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        surroundings: Surroundings,
        *,
        owner: str,
        outages: UnreachableServers,
        bad: BadObjects,
    ) -> None:
        self._surroundings = surroundings
        self._bad = bad
        self._stages: dict[str, Stage] = {}
        self._cache = Informer(client, KIND, clock, owner=owner, unreachable_servers=outages, bad=bad)
        self._gate = _Gated(self._cache)
        selection = Selection(fields=f"metadata.name={NAME}")
        self._definitions = Informer(
            client,
            "CustomResourceDefinition",
            clock,
            selection=selection,
            owner=owner,
            unreachable_servers=outages,
            bad=bad,
        )
        self._asking = _Permitted(self._definitions, client, selection)
        self._definitions.add_event_handler(self._defined)
        self._cache.add_event_handler(self._heed)
        self.changed: list[Callable[[], None]] = []
        # Called with each parsed stage and its error, empty if it is valid.
        self.judged: list[Callable[[ReadOnlyObject, str], None]] = []

    @property
    def workers(self) -> Sequence[Worker]:
        """Informers of the CRD and of stages."""
        return (self._asking, self._gate)

    @property
    def has_synced(self) -> bool:
        """True once all stages are listed, or cannot be."""
        known = self._definitions.has_synced or not self._asking.open
        return known and (self._cache.has_synced or not self._gate.open)

    def notify_when_synced(self, bell: Signal) -> None:
        """Notify a signal once all stages are listed."""
        self._asking.refused.append(bell)
        self._definitions.notify_when_synced(bell)
        self._cache.notify_when_synced(bell)

    async def close(self) -> None:
        """Close all watches."""
        await self._definitions.close()
        await self._cache.close()

    def governs(self, kind: str, obj: ReadOnlyObject) -> bool:
        """Return whether stages decide about an object: one matches its labels and annotations."""
        # A copy: a stage that fails on the object is removed meanwhile.
        stages = list(self._stages.items())
        return any(stage.kind == kind and self._ask(name, stage.is_for, obj) for name, stage in stages)

    def selecting(self, kind: str, obj: ReadOnlyObject) -> list[Stage]:
        """Return the stages that select an object in its present state, by name."""
        stages = list(self._stages.items())
        return [stage for name, stage in stages if stage.kind == kind and self._ask(name, stage.selects, obj)]

    def _ask(self, name: str, ask: Callable[[ReadOnlyObject], bool], obj: ReadOnlyObject) -> bool:
        """Evaluate a stage on an object; a stage that fails is dropped until it changes."""
        try:
            return ask(obj)
        except Exception as error:
            self._stages.pop(name, None)
            self._bad.record_failure("stages", KIND, name, error)
            return False

    def _defined(self, change: ObjectChange) -> None:
        """Open the informer of stages while their CRD is established."""
        conditions = (change.object.get("status") or {}).get("conditions") or ()
        established = any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
        self._gate.open = established and change.type is not EventType.DELETED
        if not self._gate.open:
            self._stages = {}
        self._gate.signal.notify()
        self._tell()

    def _heed(self, change: ObjectChange) -> None:
        """Update a changed stage; a change of its status alone is ignored."""
        if change.type is EventType.MODIFIED and change.old and change.old.get("spec") == change.object.get("spec"):
            return
        name = change.object["metadata"]["name"]
        stages = {other: stage for other, stage in self._stages.items() if other != name}
        if change.type is not EventType.DELETED and (stage := self._read(change.object)) is not None:
            stages[name] = stage
        self._stages = dict(sorted(stages.items()))
        self._tell()

    def _read(self, obj: ReadOnlyObject) -> Stage | None:
        """Parse a stage and report its error."""
        error_text = ""
        try:
            stage = read_stage(obj, self._surroundings)
        except StageError as error:
            stage, error_text = None, str(error)
        else:
            error_text = _out_of_place(stage)
        if error_text:
            _LOG.warning("stage %s is ignored: %s", obj["metadata"]["name"], error_text)
        for handle in self.judged:
            handle(obj, error_text)
        return None if error_text else stage

    def _tell(self) -> None:
        for handle in self.changed:
            handle()


def _out_of_place(stage: Stage | None) -> str:
    """Return why a valid stage is never played; empty if it is."""
    if stage is None:
        return "it has no selector, so it selects no object"
    return "" if stage.kind in PLAYED else f"only {' and '.join(PLAYED)} are played, not {stage.kind or 'no kind'}"
