"""End and output of a container, derived from its command."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.shell.entrypoints import entrypoint_of, has_command
from mockkube.shell.environment import ContainerStart, environment_of, expand_words
from mockkube.shell.expansion import Failed
from mockkube.shell.machine import ENDLESS, UNKNOWN, Endless, Machine, PastHorizon, Printed
from mockkube.shell.programs import executable, program_of
from mockkube.shell.shell import Exits, Leaves, Shell, in_order
from mockkube.shell.syntax import Unsupported

# Earlier runs interpreted for the files that they left; later ones rarely change them any more.
RUNS_MAX: Final = 16
_MESSAGE_PATH: Final = "/dev/termination-log"
_MESSAGE_MAX: Final = 4096
_FALLBACK_MAX: Final = 2048
_FALLBACK_LINES_MAX: Final = 80


class ContainerEnd(StrEnum):
    """Known facts about the end of a container."""

    EXITS = "exits"
    RUNS = "runs until it is stopped"
    UNSAID = "not said"


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of interpreting a command."""

    end: ContainerEnd
    code: int = 0
    seconds: float = 0.0
    """Time of the end; without an end, the time from which nothing more is known."""
    printed: tuple[Printed, ...] = ()
    message: str = ""
    """Termination message."""


_NOTHING: Final = CommandResult(ContainerEnd.UNSAID)


def interpret(
    pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, *, until: float = ENDLESS
) -> CommandResult:
    """Interpret the command of one run of a container, up to a time in seconds after its start."""
    if not has_command(container):
        return _NOTHING
    files: dict[str, str] = {}
    # A restarted container finds the files of its earlier runs in emptyDir volumes, so those runs are interpreted
    # again.
    for earlier in range(min(start.run, RUNS_MAX)):
        machine = Machine(
            environment_of(pod, container, ContainerStart(earlier, None, start.lookup)), files=dict(files)
        )
        _follow(container, machine)
        # A run that changed nothing leaves the next one the same files: further runs would repeat it.
        if machine.files_kept() == files:
            break
        files = machine.files_kept()
    machine = Machine(environment_of(pod, container, start), until, files)
    return _printed_until(container, machine, _follow(container, machine))


def words_of(container: ReadOnlyObject, variables: dict[str, str]) -> list[str]:
    """Return the words of the command line, as far as known: the command of an unknown image is not."""
    command = expand_words(container.get("command") or (), variables)
    args = expand_words(container.get("args") or (), variables)
    if command:
        return [*command, *args]
    if entrypoint := entrypoint_of(container.get("image", "")):
        return [entrypoint, *args]
    return args if args and executable(args[0]) is not None else []


def _follow(container: ReadOnlyObject, machine: Machine) -> CommandResult:
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
    except (Endless, PastHorizon):
        return CommandResult(ContainerEnd.RUNS)
    # RecursionError: deeply nested scripts pass the bound on depth of the parser but not that of Python's stack.
    except (Unsupported, Failed, Leaves, RecursionError):
        return CommandResult(ContainerEnd.UNSAID, seconds=machine.now)
    return CommandResult(ContainerEnd.EXITS, code & 255, machine.now)


def _printed_until(container: ReadOnlyObject, machine: Machine, said: CommandResult) -> CommandResult:
    printed, end = tuple(in_order(machine.output)), said.end
    for index, one in enumerate(printed):
        # Output after an unknown part may be wrong, so the log ends before it.
        if UNKNOWN in one.text:
            printed = printed[:index]
            break
    message = ""
    if end is ContainerEnd.EXITS:
        message = machine.files.get(container.get("terminationMessagePath") or _MESSAGE_PATH, "")[:_MESSAGE_MAX]
        if not message and said.code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            message = _last(printed)
    return CommandResult(end, said.code, said.seconds, printed, "" if UNKNOWN in message else message)


def _last(printed: tuple[Printed, ...]) -> str:
    """Return the end of the output, as a fallback for the termination message."""
    lines = "".join(one.text for one in printed).splitlines(keepends=True)
    return "".join(lines[-_FALLBACK_LINES_MAX:])[-_FALLBACK_MAX:]
