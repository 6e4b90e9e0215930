"""Trace of a cluster: every step, its time and worker, and the writes to the store in it."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson
from mockkube_storage.model import Entry, Event, EventType
from mockkube_storage.watch import Watch

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry import encoding
from mockkube.lazy_dataclasses import dataclass

OPERATOR: Final = "operator"
_ROOT: Final = "/registry/"
_IGNORED: Final = ("managedFields", "resourceVersion", "generation")
_VERBS: Final = {EventType.PUT: "update", EventType.DELETE: "delete"}


@dataclass(frozen=True, slots=True)
class TraceWrite:
    """One write to the store."""

    event: Event

    @property
    def verb(self) -> str:
        """Verb of the write: create, update or delete."""
        if self.event.type is EventType.PUT and self.event.previous is None:
            return "create"
        return _VERBS[self.event.type]

    @property
    def resource(self) -> str:
        """Resource as in the store's keys, like `core/pods`."""
        group, _, rest = self.event.entry.key.removeprefix(_ROOT).partition("/")
        return f"{group}/{rest.partition('/')[0]}"

    @property
    def name(self) -> str:
        """Object as `NAMESPACE/NAME`, or `NAME`."""
        return self.event.entry.key.removeprefix(_ROOT).split("/", 2)[2]

    def load_object(self) -> Object:
        """Return the stored object; of a deletion, its last state."""
        return _load(self.event.entry)

    def load_previous(self) -> Object | None:
        """Return the object as it was before; None for a creation."""
        before = self.event.previous
        return None if before is None else _load(before)

    def compute_difference(self) -> Any:
        """Return the change as a merge patch without resource versions and managed fields."""
        new, old = _drop_bookkeeping(self.load_object()), _drop_bookkeeping(self.load_previous() or {})
        return {} if self.event.type is EventType.DELETE else _compute_difference(old, new)

    def __str__(self) -> str:
        difference = self.compute_difference()
        shown = f" {orjson.dumps(difference, option=orjson.OPT_SORT_KEYS).decode()}" if difference else ""
        return f"{self.verb} {self.resource} {self.name}{shown}"


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of a worker, or writes from outside between steps."""

    number: int
    # Seconds since the start of the cluster's time.
    at: float
    worker: str
    writes: tuple[TraceWrite, ...]

    def __str__(self) -> str:
        head = f"{self.number} {self.at:.3f}s {self.worker}"
        return "\n".join([head, *(f"  {write}" for write in self.writes)])


class StepTrace:
    """Steps in order. Recording is cheap: objects are decoded when they are read."""

    def __init__(self, watch: Watch, *, steps_max: int = 0) -> None:
        """Keep at least the last `steps_max` steps, or all for 0; the digest covers all in either case."""
        self.steps: list[TraceStep] = []
        self._watch, self._steps_max = watch, steps_max
        # Number of steps that are not kept any more, and the hash of these.
        self._dropped = 0
        self._dropped_hash = hashlib.sha256()

    def __iter__(self) -> Iterator[TraceStep]:
        return iter(self.steps)

    async def record_outside_writes(self, at: float, worker: str = OPERATOR) -> None:
        """Record writes since the last step as one of `worker`, if there are any."""
        if self._watch.is_ready():
            await self.record_step(at, worker)

    async def record_step(self, at: float, worker: str) -> None:
        """Record a step with all writes since the last one."""
        writes: list[TraceWrite] = []
        while self._watch.is_ready():
            writes += [TraceWrite(event) for event in await anext(self._watch)]
        self._append(at, worker, tuple(writes))

    async def record_note(self, at: float, worker: str, text: str) -> None:
        """Record an event that is no write to the store."""
        await self.record_outside_writes(at)
        self._append(at, f"{worker}: {text}", ())

    def _append(self, at: float, worker: str, writes: tuple[TraceWrite, ...]) -> None:
        self.steps.append(TraceStep(self._dropped + len(self.steps) + 1, at, worker, writes))
        # Twice as many, so that the list is shifted once per `steps_max` steps.
        if self._steps_max and len(self.steps) >= 2 * self._steps_max:
            _add_to_hash(self._dropped_hash, self.steps[: self._steps_max])
            del self.steps[: self._steps_max]
            self._dropped += self._steps_max

    def compute_digest(self) -> str:
        """Return a hash of the trace, the same for the same run; cheaper than the text."""
        digest = self._dropped_hash.copy()
        _add_to_hash(digest, self.steps)
        return digest.hexdigest()

    def render(self) -> str:
        """Return the steps that are kept as text, identical byte for byte for the same run."""
        return "\n".join([*map(str, self.steps), ""])


def _add_to_hash(digest: "hashlib._Hash", steps: Iterable[TraceStep]) -> None:
    for step in steps:
        parts = [f"{step.at!r} {step.worker}\n".encode()]
        for write in step.writes:
            # Stored bytes, so nothing is decoded.
            parts += (f"{write.verb} {write.event.entry.key} ".encode(), write.event.entry.value)
        digest.update(b"".join(parts))


def _load(entry: Entry) -> Object:
    loaded: Object = encoding.loads(encoding.decode_stored(entry.value, entry.revision)[1])
    return loaded


def _drop_bookkeeping(obj: ReadOnlyObject) -> Object:
    metadata = {name: value for name, value in obj.get("metadata", {}).items() if name not in _IGNORED}
    return {**obj, "metadata": metadata}


def _compute_difference(old: Any, new: Any) -> Any:
    """Return the merge patch from old to new: changed members of objects, null for removed ones."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    changed = {name: _compute_difference(old.get(name), value) for name, value in new.items() if old.get(name) != value}
    return changed | {name: None for name in old if name not in new}
