"""End and output of a container, derived from its command."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.shell.entrypoints import find_entrypoint, has_command
from mockkube.shell.environment import ContainerStart, build_environment, expand_words
from mockkube.shell.expansion import ParameterError
from mockkube.shell.machine import ENDLESS, UNKNOWN, ContainerRun, Endless, PastHorizon, PrintedLine
from mockkube.shell.programs import find_executable, find_program
from mockkube.shell.shell import ControlFlow, Shell, ShellExit, sort_by_time
from mockkube.shell.syntax import Unsupported

# Earlier runs interpreted for the files that they left; later ones rarely change them any more.
RUNS_MAX: Final = 16
_MESSAGE_PATH: Final = "/dev/termination-log"
_MESSAGE_MAX: Final = 4096
_FALLBACK_CHARACTERS_MAX: Final = 2048
_FALLBACK_LINES_MAX: Final = 80


class ContainerEnd(StrEnum):
    """Known facts about the end of a container."""

    EXITS = "exits"
    RUNS = "runs until it is stopped"
    UNKNOWN = "not said"


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of interpreting a command."""

    end: ContainerEnd
    code: int = 0
    seconds: float = 0.0
    """Time of the end; without an end, the time from which nothing more is known."""
    printed: tuple[PrintedLine, ...] = ()
    message: str = ""
    """Termination message."""


_UNKNOWN_RESULT: Final = CommandResult(ContainerEnd.UNKNOWN)


def interpret(
    pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, *, until: float = ENDLESS
) -> CommandResult:
    """Interpret the command of one run of a container, up to a time in seconds after its start."""
    if not has_command(container):
        return _UNKNOWN_RESULT
    machine, result = _interpret_run(pod, container, start, until)
    return _with_output(container, machine, result)


def find_files(pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, until: float) -> dict[str, str]:
    """Return the files that the command of a container has written so far."""
    return _interpret_run(pod, container, start, until)[0].files if has_command(container) else {}


def _interpret_run(
    pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, until: float
) -> tuple[ContainerRun, CommandResult]:
    files: dict[str, str] = {}
    # A restarted container finds the files of its earlier runs in emptyDir volumes, so those runs are interpreted
    # again.
    for earlier in range(min(start.run, RUNS_MAX)):
        machine = ContainerRun(
            build_environment(pod, container, ContainerStart(earlier, None, start.lookup)), files=dict(files)
        )
        _interpret_command(container, machine)
        # A run that changed nothing leaves the next one the same files: further runs would repeat it.
        if machine.surviving_files() == files:
            break
        files = machine.surviving_files()
    machine = ContainerRun(build_environment(pod, container, start), until, files)
    return machine, _interpret_command(container, machine)


def command_words(container: ReadOnlyObject, variables: dict[str, str]) -> list[str]:
    """Return the words of the command line, as far as known: the command of an unknown image is not."""
    command = expand_words(container.get("command") or (), variables)
    args = expand_words(container.get("args") or (), variables)
    if command:
        return [*command, *args]
    if entrypoint := find_entrypoint(container.get("image", "")):
        return [entrypoint, *args]
    return args if args and find_executable(args[0]) is not None else []


def _interpret_command(container: ReadOnlyObject, machine: ContainerRun) -> CommandResult:
    variables = dict(machine.environment.variables)
    words = command_words(container, variables)
    if not words or (program := find_executable(words[0])) is None:
        return _UNKNOWN_RESULT
    shell = Shell(machine, find_program, variables)
    shell.name = words[0]
    try:
        code = program(shell, words[1:])
    except ShellExit as end:
        code = end.code
    except (Endless, PastHorizon):
        return CommandResult(ContainerEnd.RUNS)
    # RecursionError: deeply nested scripts pass the bound on depth of the parser but not that of Python's stack.
    except (Unsupported, ParameterError, ControlFlow, RecursionError):
        return CommandResult(ContainerEnd.UNKNOWN, seconds=machine.now)
    return CommandResult(ContainerEnd.EXITS, code & 255, machine.now)


def _with_output(container: ReadOnlyObject, machine: ContainerRun, result: CommandResult) -> CommandResult:
    printed, end = tuple(sort_by_time(machine.output)), result.end
    for index, one in enumerate(printed):
        # Output after an unknown part may be wrong, so the log ends before it.
        if UNKNOWN in one.text:
            printed = printed[:index]
            break
    message = ""
    if end is ContainerEnd.EXITS:
        message = machine.files.get(container.get("terminationMessagePath") or _MESSAGE_PATH, "")[:_MESSAGE_MAX]
        if not message and result.code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            message = _last_output(printed)
    return CommandResult(end, result.code, result.seconds, printed, "" if UNKNOWN in message else message)


def _last_output(printed: tuple[PrintedLine, ...]) -> str:
    """Return the end of the output, as a fallback for the termination message."""
    lines = "".join(one.text for one in printed).splitlines(keepends=True)
    return "".join(lines[-_FALLBACK_LINES_MAX:])[-_FALLBACK_CHARACTERS_MAX:]
