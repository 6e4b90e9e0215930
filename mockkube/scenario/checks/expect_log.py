"""Check `expectLog`: what a component has logged, and how often."""

import re
from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.component_log import LogEntry
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.fields import Seconds
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World

_SHOWN_MAX = 5


@dataclass(frozen=True)
class ExpectLogCheck(ScenarioStep):
    """Check how often a component has logged a line like this."""

    verb: ClassVar[str] = "expectLog"

    component: Annotated[str, "the component whose log is read"]
    message: Annotated[str, "a part of the line"] = ""
    matches: Annotated[str, "a regular expression that the line has"] = ""
    level: Annotated[Literal["info", "warning", "error"] | None, "its severity"] = None
    verbosity: Annotated[int, "the -v of the component: lines of a higher one are not written"] = 0
    window: Annotated[Seconds | None, "count only what was logged in the last so many seconds"] = None
    count: Annotated[int | None, "how often exactly"] = None
    min: Annotated[int | None, "how often at least; 1 if nothing else is said"] = None
    max: Annotated[int | None, "maximum number"] = None
    absent: Annotated[bool, "claim that there is no such line"] = False

    def complaint(self) -> str:
        """Return an error if no line is described, or the counts exclude each other."""
        if not self.message and not self.matches:
            return "give a part of the line as `message`, or a regular expression as `matches`"
        try:
            re.compile(self.matches)
        except re.error as error:
            return f"matches: not a regular expression: {error}"
        numbers = [one for one in (self.count, self.min, self.max) if one is not None]
        if (self.absent and numbers) or (self.count is not None and len(numbers) > 1):
            return "give `absent`, `count`, or `min` and `max`"
        return ""

    async def play(self, world: World) -> None:
        """Settle, count the matching lines and compare."""
        await world.settle()
        since = 0.0 if self.window is None else world.now - self.window
        entries = [one for one in world.read_log(self.component, since) if one.line.verbosity <= self.verbosity]
        found = sum(one.count for one in entries if self._matches(one))
        least, most = self._bounds()
        if found < least or (most is not None and found > most):
            raise StepFailed(f"{self.component} has logged such a line {found} times; {_describe_lines(entries)}")
        world.context.add_log(f"{found} lines")

    def _bounds(self) -> tuple[int, int | None]:
        if self.absent:
            return 0, 0
        if self.count is not None:
            return self.count, self.count
        # A check without any count asks for at least one line.
        least = 1 if self.min is None and self.max is None else self.min or 0
        return least, self.max

    def _matches(self, entry: LogEntry) -> bool:
        line = entry.line
        return (
            self.level in (None, line.level)
            and self.message in line.message
            and re.search(self.matches, line.message) is not None
        )


def _describe_lines(written: Iterable[LogEntry]) -> str:
    """Describe the component's most frequent lines."""
    counts: dict[str, int] = {}
    for one in written:
        text = f"{one.line.level}: {one.line.message}"
        counts[text] = counts.get(text, 0) + one.count
    shown = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_SHOWN_MAX]
    if not shown:
        return "it has logged nothing"
    return "\n  ".join(["it has logged:", *(f"{count} times {text}" for text, count in shown)])
