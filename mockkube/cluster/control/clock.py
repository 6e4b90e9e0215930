"""Clock: validation and printer columns. Time passes in real time, or stands still until the clock is advanced."""

from datetime import datetime, timedelta
from typing import Final

from mockkube_cel.golang import gotime

from mockkube.api.fields import FieldError, forbidden, invalid, not_supported
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.printers.ages import format_time_since
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.times import parse_time, render_micro_time, render_time
from mockkube.cluster.configuration.values import REAL_CLOCK, VIRTUAL_CLOCK

# Name of the only clock.
CLOCK_NAME: Final = "cluster"
# Condition: no worker has a step left at the present time.
AT_REST_CONDITION: Final = "AtRest"
# Message of the condition when time has reached its target.
ARRIVED_MESSAGE: Final = "no component has work left until time passes"


def format_moment(moment: datetime) -> str:
    """Return a time in whole seconds if it has no fraction, else with microseconds."""
    return render_micro_time(moment) if moment.microsecond else render_time(moment)


def format_now(now: datetime, mode: str) -> str:
    """Return the present time as a clock of this mode shows it: real time in whole seconds."""
    return render_time(now) if mode == REAL_CLOCK else format_moment(now)


def get_target(obj: ReadOnlyObject) -> datetime | None:
    """Return the time that a valid clock is to advance to."""
    target = obj["spec"].get("advanceTo")
    return None if target is None else parse_time(target)


class ClockStrategy(StatusStrategy):
    """Strategy of clocks: time moves forward only, and only in virtual mode, which is fixed at the cluster's start."""

    def __init__(self, mode: str) -> None:
        self._mode = mode

    def default(self, obj: Object) -> None:
        """Set the default mode."""
        obj["spec"].setdefault("mode", self._mode)

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Reject all names but that of the only clock."""
        return [] if name == CLOCK_NAME else [f"the one clock is called {CLOCK_NAME!r}"]

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Replace `advance` by a time."""
        _resolve_advance(obj["spec"], context.now)
        super().prepare_for_create(obj, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Replace `advance` by a time, before the generation is computed from the spec."""
        if context.subresource != "status":
            _resolve_advance(new["spec"], context.now)
        super().prepare_for_update(new, old, context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate mode and time."""
        return self._validate(obj["spec"], {}, context.now)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate mode and time if they change."""
        return [] if new["spec"] == old["spec"] else self._validate(new["spec"], old["spec"], context.now)

    def _validate(self, spec: ReadOnlyObject, before: ReadOnlyObject, now: datetime) -> list[FieldError]:
        mode = spec["mode"]
        if mode not in (REAL_CLOCK, VIRTUAL_CLOCK):
            return [not_supported("spec.mode", mode, (REAL_CLOCK, VIRTUAL_CLOCK))]
        if mode != self._mode:
            why = f"the cluster runs in {self._mode.lower()} time: start it with --clock {mode.lower()}"
            return [forbidden("spec.mode", why)]
        if "advance" in spec:
            wrong = "must be a duration that leads into the future, like 90s or 1h30m"
            return [invalid("spec.advance", spec["advance"], wrong)]
        target = spec.get("advanceTo")
        if target is None or target == before.get("advanceTo"):
            return []
        if mode == REAL_CLOCK:
            why = "real time passes by itself: start the cluster with --clock virtual to move it"
            return [forbidden("spec.advanceTo", why)]
        return _validate_target(target, now)


def _resolve_advance(spec: Object, now: datetime) -> None:
    """Replace a valid `advance` by the time that it leads to, counted from a pending target."""
    given = spec.get("advance")
    duration = None if given is None else gotime.parse_duration(given)
    if duration is None or duration.nanos <= 0:
        return
    try:
        # Two advances in quick succession add up, also if the first has not been carried out.
        start = max(now, parse_time(spec.get("advanceTo", render_time(now))))
        spec["advanceTo"] = format_moment(start + timedelta(microseconds=duration.nanos // 1000))
    # An invalid value stays in the spec, where validation finds it.
    except (ValueError, OverflowError):
        return
    del spec["advance"]


def _validate_target(target: str, now: datetime) -> list[FieldError]:
    try:
        moment = parse_time(target)
    except ValueError as error:
        return [invalid("spec.advanceTo", target, str(error))]
    if moment < now:
        return [invalid("spec.advanceTo", target, f"time does not go back: it is {format_moment(now)}")]
    return []


def _make_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    mode = obj.get("spec", {}).get("mode", "")
    return [
        obj["metadata"].get("name", ""),
        mode,
        format_now(now, mode),
        obj.get("spec", {}).get("advanceTo", ""),
        format_time_since(obj["metadata"].get("creationTimestamp", ""), now),
    ]


PRINTER: Final = Printer(
    (
        NAME_COLUMN,
        text_column("Mode", "Real or Virtual."),
        text_column("Now", "Present time."),
        text_column("Advance To", "Time of the last request to advance."),
        AGE_COLUMN,
    ),
    _make_cells,
)
