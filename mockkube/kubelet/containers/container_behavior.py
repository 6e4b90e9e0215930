"""Behavior of a pod's containers, parsed from its annotations: exits, readiness, image pulls, delays.

No process really runs, so an annotation or the container's command decides how a container exits.
`mockkube.dev/exit: "1@5s"` lets every container end with code 1 five seconds after each start; `main=1@5s,helper=0`
names them one by one. `mockkube.dev/unready` and `mockkube.dev/image-pull-error` list containers (`*`: all) that never
become ready, or whose image cannot be pulled. `mockkube.dev/start-delay` and `mockkube.dev/stop-delay` are durations.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from mockkube_cel.golang.gotime import parse_duration

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

PREFIX: Final = "mockkube.dev/"
EXIT: Final = f"{PREFIX}exit"
UNREADY: Final = f"{PREFIX}unready"
IMAGE_PULL_ERROR: Final = f"{PREFIX}image-pull-error"
START_DELAY: Final = f"{PREFIX}start-delay"
STOP_DELAY: Final = f"{PREFIX}stop-delay"
_USAGE_PREFIXES: Final = (f"{PREFIX}usage-", f"{PREFIX}load-")
EVERY: Final = "*"
# Run time of a job's containers when neither annotation nor command decides it.
JOB_SECONDS: Final = 1.0
_NANOSECONDS: Final = 1e9


@dataclass(frozen=True, slots=True)
class ContainerExit:
    """Exit code of a container, and how long after its start it exits."""

    code: int = 0
    after_seconds: float = 0.0
    # Termination message.
    message: str = ""


@dataclass(frozen=True, slots=True)
class ContainerBehavior:
    """Behavior of the containers of one pod."""

    exits: Mapping[str, ContainerExit] = field(default_factory=dict)
    # Exit of containers without annotation or deciding command; None: they run until stopped.
    default_exit: ContainerExit | None = None
    unready_containers: frozenset[str] = frozenset()
    # Containers whose image cannot be pulled; None: the names of the images decide.
    unpullable_containers: frozenset[str] | None = None
    start_seconds: float = 0.0
    stop_seconds: float = 0.0
    # Errors of annotations that cannot be parsed; those annotations are ignored.
    errors: tuple[str, ...] = ()

    def find_exit(self, container: str) -> ContainerExit | None:
        """Return the annotated exit of a container; None if no annotation covers it."""
        return self.exits.get(container, self.exits.get(EVERY))

    def is_ready(self, container: str) -> bool:
        """Return whether a running container is ready."""
        return container not in self.unready_containers and EVERY not in self.unready_containers

    def is_pullable(self, container: str) -> bool | None:
        """Return whether the image of a container can be pulled; None if no annotation says so."""
        if self.unpullable_containers is None:
            return None
        return container not in self.unpullable_containers and EVERY not in self.unpullable_containers


_DEFAULT_BEHAVIOR: Final = ContainerBehavior()
_JOB_BEHAVIOR: Final = ContainerBehavior(default_exit=ContainerExit(after_seconds=JOB_SECONDS))


def parse_behavior(pod: ReadOnlyObject) -> ContainerBehavior:
    """Parse a pod's annotations; containers of jobs complete by default."""
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    default = (
        _JOB_BEHAVIOR
        if any(owner.get("kind") == "Job" for owner in metadata.get("ownerReferences") or ())
        else _DEFAULT_BEHAVIOR
    )
    if not any(name.startswith(PREFIX) for name in annotations):
        return default
    complaints = _find_usage_errors(pod)
    exits = _parse_exits(annotations.get(EXIT, ""), complaints)
    return ContainerBehavior(
        exits=exits,
        # With exits for some containers, the others run until stopped, as a user who names them expects.
        default_exit=None if exits else default.default_exit,
        unready_containers=_parse_names(annotations.get(UNREADY, "")),
        unpullable_containers=_parse_names(annotations[IMAGE_PULL_ERROR]) if IMAGE_PULL_ERROR in annotations else None,
        start_seconds=_parse_annotated_seconds(annotations, START_DELAY, complaints),
        stop_seconds=_parse_annotated_seconds(annotations, STOP_DELAY, complaints),
        errors=tuple(complaints),
    )


def _find_usage_errors(pod: ReadOnlyObject) -> list[str]:
    if not any(name.startswith(_USAGE_PREFIXES) for name in pod["metadata"].get("annotations") or {}):
        return []
    from mockkube.matching.usage.annotations import find_annotation_errors  # few pods have such annotations

    return [f"annotation {error}" for error in find_annotation_errors(pod)]


def _parse_names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def _parse_annotated_seconds(annotations: Mapping[str, str], name: str, errors: list[str]) -> float:
    text = annotations.get(name)
    if text is None:
        return 0.0
    seconds = _parse_seconds(text)
    if seconds is None:
        errors.append(f'annotation {name}: {text!r} is no duration: write it like "1.5s" or "2m"')
        return 0.0
    return seconds


def _parse_seconds(text: str) -> float | None:
    duration = parse_duration(text.strip())
    return None if duration is None or duration.nanos < 0 else duration.nanos / _NANOSECONDS


def _parse_exits(text: str, errors: list[str]) -> dict[str, ContainerExit]:
    exits: dict[str, ContainerExit] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, named, rest = part.rpartition("=")
        code, delayed, delay = rest.partition("@")
        seconds = _parse_seconds(delay) if delayed else 0.0
        if seconds is None or not code.strip().isdigit() or not 0 <= int(code) <= 255:
            errors.append(f'annotation {EXIT}: {part!r} is no exit: write it like "1@5s" or "main=0"')
            continue
        exits[name.strip() if named else EVERY] = ContainerExit(int(code), seconds)
    return exits
