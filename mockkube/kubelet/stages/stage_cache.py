"""Compiled stages, kept current by informers; empty while the CRD of stages does not exist."""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from mockkube.api.errors import ApiError, Forbidden
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.bad_objects import BadObjects
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Client, Selection, WatchEventType
from mockkube.client.unreachable_servers import UnreachableServers
from mockkube.kubelet.stages.crd import CRD_NAME
from mockkube.kubelet.stages.stage import STAGE_KIND, Stage, StageError, parse_stage
from mockkube.kubelet.stages.template_functions import TemplateFactory
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal, Worker

# Kinds whose objects stages may select.
SUPPORTED_KINDS: Final = ("Pod", "Node")

_LOG: Final = logging.getLogger("mockkube.kubelet")


class _GatedInformer:
    """Informer that is stepped only while it is open, so that a kind that is not served is not listed."""

    def __init__(self, informer: Informer) -> None:
        self._informer = informer
        self.is_open = False

    @property
    def name(self) -> str:
        return self._informer.name

    @property
    def signal(self) -> Signal:
        return self._informer.signal

    def is_ready(self) -> bool:
        return self.is_open and self._informer.is_ready()

    def wake_at(self) -> float | None:
        return self._informer.wake_at() if self.is_open else None

    async def step(self) -> None:
        await self._informer.step()


class _PermissionCheckedInformer(_GatedInformer):
    """Informer that closes itself if the server forbids the list."""

    def __init__(self, informer: Informer, client: Client, selection: Selection) -> None:
        super().__init__(informer)
        self.is_open = True
        # Signals to notify when it closes.
        self.closed_signals: list[Signal] = []
        self._client, self._selection = client, selection
        self._is_checked = False

    async def step(self) -> None:
        """List once to learn whether that is allowed, then step the informer."""
        if not self._is_checked:
            try:
                await self._client.list(self._informer.kind, self._selection)
            except Forbidden as error:
                _LOG.warning("%s: %s: stages are not used", self.name, error)
                self.is_open = False
                # Those who wait for the stages to be listed must learn that there will be none.
                for signal in self.closed_signals:
                    signal.notify()
                return
            except ApiError as error:
                _LOG.debug("%s: %s: the cache asks again", self.name, error)
            self._is_checked = True
        await super().step()


class StageCache:
    """Compiled stages by name; calls `change_handlers` after each change."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        template_factory: TemplateFactory,
        *,
        owner: str,
        unreachable_servers: UnreachableServers,
        bad_objects: BadObjects,
    ) -> None:
        self._template_factory = template_factory
        self._bad_objects = bad_objects
        self._stages: dict[str, Stage] = {}
        self._stage_informer = Informer(
            client, STAGE_KIND, clock, owner=owner, unreachable_servers=unreachable_servers, bad=bad_objects
        )
        self._gated_stages = _GatedInformer(self._stage_informer)
        selection = Selection(fields=f"metadata.name={CRD_NAME}")
        self._crd_informer = Informer(
            client,
            "CustomResourceDefinition",
            clock,
            selection=selection,
            owner=owner,
            unreachable_servers=unreachable_servers,
            bad=bad_objects,
        )
        self._gated_crds = _PermissionCheckedInformer(self._crd_informer, client, selection)
        self._crd_informer.add_event_handler(self._handle_crd)
        self._stage_informer.add_event_handler(self._handle_stage)
        self.change_handlers: list[Callable[[], None]] = []
        # Called with each parsed stage and its error, empty if it is valid.
        self.result_handlers: list[Callable[[ReadOnlyObject, str], None]] = []

    @property
    def workers(self) -> Sequence[Worker]:
        """Informers of the CRD and of stages."""
        return (self._gated_crds, self._gated_stages)

    @property
    def has_synced(self) -> bool:
        """True once all stages are listed, or cannot be."""
        known = self._crd_informer.has_synced or not self._gated_crds.is_open
        return known and (self._stage_informer.has_synced or not self._gated_stages.is_open)

    def notify_when_synced(self, signal: Signal) -> None:
        """Notify a signal once all stages are listed."""
        self._gated_crds.closed_signals.append(signal)
        self._crd_informer.notify_when_synced(signal)
        self._stage_informer.notify_when_synced(signal)

    async def close(self) -> None:
        """Close all watches."""
        await self._crd_informer.close()
        await self._stage_informer.close()

    def has_stages_for(self, kind: str, obj: ReadOnlyObject) -> bool:
        """Return whether stages decide about an object: one matches its labels and annotations."""
        # A copy: a stage that fails on the object is removed meanwhile.
        stages = list(self._stages.items())
        return any(stage.kind == kind and self._evaluate(name, stage.matches_metadata, obj) for name, stage in stages)

    def find_selecting(self, kind: str, obj: ReadOnlyObject) -> list[Stage]:
        """Return the stages that select an object in its present state, by name."""
        stages = list(self._stages.items())
        return [stage for name, stage in stages if stage.kind == kind and self._evaluate(name, stage.selects, obj)]

    def _evaluate(self, name: str, predicate: Callable[[ReadOnlyObject], bool], obj: ReadOnlyObject) -> bool:
        """Evaluate a stage on an object; a stage that fails is dropped until it changes."""
        try:
            return predicate(obj)
        except Exception as error:
            self._stages.pop(name, None)
            self._bad_objects.record_failure("stages", STAGE_KIND, name, error)
            return False

    def _handle_crd(self, change: ObjectChange) -> None:
        """Open the informer of stages while their CRD is established."""
        conditions = (change.object.get("status") or {}).get("conditions") or ()
        established = any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
        self._gated_stages.is_open = established and change.type is not WatchEventType.DELETED
        if not self._gated_stages.is_open:
            self._stages = {}
        self._gated_stages.signal.notify()
        self._notify_changed()

    def _handle_stage(self, change: ObjectChange) -> None:
        """Update a changed stage; a change of its status alone is ignored."""
        if (
            change.type is WatchEventType.MODIFIED
            and change.old
            and change.old.get("spec") == change.object.get("spec")
        ):
            return
        name = change.object["metadata"]["name"]
        stages = {other: stage for other, stage in self._stages.items() if other != name}
        if change.type is not WatchEventType.DELETED and (stage := self._parse_stage(change.object)) is not None:
            stages[name] = stage
        self._stages = dict(sorted(stages.items()))
        self._notify_changed()

    def _parse_stage(self, obj: ReadOnlyObject) -> Stage | None:
        """Parse a stage and report its error."""
        error_text = ""
        try:
            stage = parse_stage(obj, self._template_factory)
        except StageError as error:
            stage, error_text = None, str(error)
        else:
            error_text = _find_misuse(stage)
        if error_text:
            _LOG.warning("stage %s is ignored: %s", obj["metadata"]["name"], error_text)
        for handle in self.result_handlers:
            handle(obj, error_text)
        return None if error_text else stage

    def _notify_changed(self) -> None:
        for handle in self.change_handlers:
            handle()


def _find_misuse(stage: Stage | None) -> str:
    """Return why a valid stage is never played; empty if it is."""
    if stage is None:
        return "it has no selector, so it selects no object"
    return (
        ""
        if stage.kind in SUPPORTED_KINDS
        else f"only {' and '.join(SUPPORTED_KINDS)} are played, not {stage.kind or 'no kind'}"
    )
