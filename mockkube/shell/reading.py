"""How a container ends and what it prints, as its command says."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.shell.entrypoints import entrypoint_of, has_command
from mockkube.shell.expansion import Failed
from mockkube.shell.machine import ENDLESS, UNKNOWN, Endless, Late, Machine, Printed
from mockkube.shell.programs import executable, program_of
from mockkube.shell.shell import Exits, Leaves, Shell, in_order
from mockkube.shell.surroundings import Start, expanded, surroundings_of
from mockkube.shell.syntax import Unread

RUNS_MAX: Final = 16
"""How many earlier runs are followed for the files they left."""
_MESSAGE_PATH: Final = "/dev/termination-log"
_MESSAGE_MAX: Final = 4096
_FALLBACK_MAX: Final = 2048
_FALLBACK_LINES_MAX: Final = 80


class End(StrEnum):
    """What is known of the end of a container."""

    EXITS = "exits"
    RUNS = "runs until it is stopped"
    UNSAID = "not said"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a command says."""

    end: End
    code: int = 0
    seconds: float = 0.0
    """When it ends; where nothing more is said: from when on."""
    printed: tuple[Printed, ...] = ()
    message: str = ""
    """What it leaves as its last word."""


_NOTHING: Final = Reading(End.UNSAID)


def read(pod: ReadOnlyObject, container: ReadOnlyObject, start: Start, *, until: float = ENDLESS) -> Reading:
    """Read the command of a container in one of its runs, up to a moment in seconds after its start."""
    if not has_command(container):
        return _NOTHING
    files: dict[str, str] = {}
    for earlier in range(min(start.run, RUNS_MAX)):
        machine = Machine(surroundings_of(pod, container, Start(earlier, None, start.lookup)), files=dict(files))
        _follow(container, machine)
        if machine.kept() == files:
            break
        files = machine.kept()
    machine = Machine(surroundings_of(pod, container, start), until, files)
    return _told(container, machine, _follow(container, machine))


def words_of(container: ReadOnlyObject, variables: dict[str, str]) -> list[str]:
    """Return the words of the command line, as far as it is known: an image's own command is not."""
    command = [expanded(word, variables) for word in container.get("command") or ()]
    args = [expanded(word, variables) for word in container.get("args") or ()]
    if command:
        return [*command, *args]
    if entrypoint := entrypoint_of(container.get("image", "")):
        return [entrypoint, *args]
    return args if args and executable(args[0]) is not None else []


def _follow(container: ReadOnlyObject, machine: Machine) -> Reading:
    variables = dict(machine.given.variables)
    words = words_of(container, variables)
    if not words or (program := executable(words[0])) is None:
        return _NOTHING
    shell = Shell(machine, program_of, variables)
    shell.name = words[0]
    try:
        code = program(shell, words[1:])
    except Exits as end:
        code = end.code
    except (Endless, Late):
        return Reading(End.RUNS)
    except (Unread, Failed, Leaves, RecursionError):
        return Reading(End.UNSAID, seconds=machine.now)
    return Reading(End.EXITS, code & 255, machine.now)


def _told(container: ReadOnlyObject, machine: Machine, said: Reading) -> Reading:
    printed, end = tuple(in_order(machine.output)), said.end
    for index, one in enumerate(printed):
        if UNKNOWN in one.text:
            printed = printed[:index]
            break
    message = ""
    if end is End.EXITS:
        message = machine.files.get(container.get("terminationMessagePath") or _MESSAGE_PATH, "")[:_MESSAGE_MAX]
        if not message and said.code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            message = _last(printed)
    return Reading(end, said.code, said.seconds, printed, "" if UNKNOWN in message else message)


def _last(printed: tuple[Printed, ...]) -> str:
    """Return the end of what was printed."""
    lines = "".join(one.text for one in printed).splitlines(keepends=True)
    return "".join(lines[-_FALLBACK_LINES_MAX:])[-_FALLBACK_MAX:]
