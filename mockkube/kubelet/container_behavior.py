"""What a pod's annotations say its containers do: nothing really runs, so they, or a command, say how it ends.

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
JOB_SECONDS: Final = 1.0
"""How long the containers of a job's pod work when nobody, not even their command, says otherwise."""
_NANOSECONDS: Final = 1e9


@dataclass(frozen=True, slots=True)
class Exit:
    """How a container ends: with which code, how long after its start."""

    code: int = 0
    after_seconds: float = 0.0
    message: str = ""
    """What it leaves as its last word."""


@dataclass(frozen=True, slots=True)
class Script:
    """What the containers of one pod do."""

    exits: Mapping[str, Exit] = field(default_factory=dict)
    unsaid: Exit | None = None
    """How a container ends of which neither annotation nor command says anything; None: it runs until stopped."""
    unready: frozenset[str] = frozenset()
    unpullable: frozenset[str] = frozenset()
    start_seconds: float = 0.0
    stop_seconds: float = 0.0
    complaints: tuple[str, ...] = ()
    """What could not be read, and is passed over."""

    def exit_of(self, container: str) -> Exit | None:
        """Return how a container ends; None: the annotations do not say."""
        return self.exits.get(container, self.exits.get(EVERY))

    def is_ready(self, container: str) -> bool:
        """Whether a running container is ready."""
        return container not in self.unready and EVERY not in self.unready

    def is_pullable(self, container: str) -> bool:
        """Whether the image of a container can be had."""
        return container not in self.unpullable and EVERY not in self.unpullable


_PLAIN: Final = Script()
_JOB: Final = Script(unsaid=Exit(after_seconds=JOB_SECONDS))


def read_script(pod: ReadOnlyObject) -> Script:
    """Read the annotations of a pod; the containers of a job complete unless told otherwise, here or by commands."""
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    plain = _JOB if any(owner.get("kind") == "Job" for owner in metadata.get("ownerReferences") or ()) else _PLAIN
    if not any(name.startswith(PREFIX) for name in annotations):
        return plain
    complaints: list[str] = []
    exits = _exits(annotations.get(EXIT, ""), complaints)
    return Script(
        exits=exits,
        unsaid=None if exits else plain.unsaid,
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
    span = parse_duration(text.strip())
    return None if span is None or span.nanos < 0 else span.nanos / _NANOSECONDS


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
