"""Behavior of a pod's containers, parsed from its annotations: exits, readiness, image pulls, delays.

No process really runs, so an annotation or the container's command decides how a container exits.
`mockkube.dev/exit: "1@5s"` lets every container end with code 1 five seconds after each start; `main=1@5s,helper=0`
names them one by one. `mockkube.dev/unready` and `mockkube.dev/image-pull-error` list containers (`*`: all) that never
become ready, or whose image cannot be pulled. `mockkube.dev/start-delay` and `mockkube.dev/stop-delay` are durations.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mockkube_cel.golang.gotime import parse_duration

from mockkube.api.types import ReadOnlyObject

PREFIX: Final = "mockkube.dev/"
EXIT: Final = f"{PREFIX}exit"
UNREADY: Final = f"{PREFIX}unready"
IMAGE_PULL_ERROR: Final = f"{PREFIX}image-pull-error"
START_DELAY: Final = f"{PREFIX}start-delay"
STOP_DELAY: Final = f"{PREFIX}stop-delay"
EVERY: Final = "*"
# Run time of a job's containers when neither annotation nor command decides it.
JOB_SECONDS: Final = 1.0
_NANOSECONDS: Final = 1e9


@dataclass(frozen=True, slots=True)
class Exit:
    """Exit code of a container, and how long after its start it exits."""

    code: int = 0
    after_seconds: float = 0.0
    # Termination message.
    message: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """Behavior of the containers of one pod."""

    exits: Mapping[str, Exit] = field(default_factory=dict)
    # Exit of containers without annotation or deciding command; None: they run until stopped.
    unsaid: Exit | None = None
    unready: frozenset[str] = frozenset()
    unpullable: frozenset[str] = frozenset()
    start_seconds: float = 0.0
    stop_seconds: float = 0.0
    # Errors of annotations that cannot be parsed; those annotations are ignored.
    complaints: tuple[str, ...] = ()

    def exit_of(self, container: str) -> Exit | None:
        """Return the annotated exit of a container; None if no annotation covers it."""
        return self.exits.get(container, self.exits.get(EVERY))

    def is_ready(self, container: str) -> bool:
        """Return whether a running container is ready."""
        return container not in self.unready and EVERY not in self.unready

    def is_pullable(self, container: str) -> bool:
        """Return whether the image of a container can be pulled."""
        return container not in self.unpullable and EVERY not in self.unpullable


_PLAIN: Final = Script()
_JOB: Final = Script(unsaid=Exit(after_seconds=JOB_SECONDS))


def read_script(pod: ReadOnlyObject) -> Script:
    """Parse a pod's annotations; containers of jobs complete by default."""
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    default = _JOB if any(owner.get("kind") == "Job" for owner in metadata.get("ownerReferences") or ()) else _PLAIN
    if not any(name.startswith(PREFIX) for name in annotations):
        return default
    complaints: list[str] = []
    exits = _exits(annotations.get(EXIT, ""), complaints)
    return Script(
        exits=exits,
        # With exits for some containers, the others run until stopped, as a user who names them expects.
        unsaid=None if exits else default.unsaid,
        unready=_names(annotations.get(UNREADY, "")),
        unpullable=_names(annotations.get(IMAGE_PULL_ERROR, "")),
        start_seconds=_annotated_seconds(annotations, START_DELAY, complaints),
        stop_seconds=_annotated_seconds(annotations, STOP_DELAY, complaints),
        complaints=tuple(complaints),
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def _annotated_seconds(annotations: Mapping[str, str], name: str, complaints: list[str]) -> float:
    text = annotations.get(name)
    if text is None:
        return 0.0
    seconds = _seconds(text)
    if seconds is None:
        complaints.append(f'annotation {name}: {text!r} is no duration: write it like "1.5s" or "2m"')
        return 0.0
    return seconds


def _seconds(text: str) -> float | None:
    duration = parse_duration(text.strip())
    return None if duration is None or duration.nanos < 0 else duration.nanos / _NANOSECONDS


def _exits(text: str, complaints: list[str]) -> dict[str, Exit]:
    exits: dict[str, Exit] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, named, rest = part.rpartition("=")
        code, delayed, delay = rest.partition("@")
        seconds = _seconds(delay) if delayed else 0.0
        if seconds is None or not code.strip().isdigit() or not 0 <= int(code) <= 255:
            complaints.append(f'annotation {EXIT}: {part!r} is no exit: write it like "1@5s" or "main=0"')
            continue
        exits[name.strip() if named else EVERY] = Exit(int(code), seconds)
    return exits
