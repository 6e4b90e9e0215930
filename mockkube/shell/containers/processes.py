"""A command that runs beside the command of a container, as `kubectl exec` starts it.

The interpreter is synchronous: each time more input has arrived, or more time has passed than was interpreted, the
command is interpreted again from its start. The result is the same up to the point that was reached before.
"""

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers import interpreter
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import UNKNOWN, FileError, FileSystem, FileWrite
from mockkube.shell.machine.machine import ContainerEnvironment, ContainerRun, Endless, PastHorizon, PrintedLine
from mockkube.shell.machine.standard_input import InputPending, InputReader, StandardInput
from mockkube.shell.programs import programs
from mockkube.shell.scripts.expansion import ParameterError
from mockkube.shell.scripts.shell import ControlFlow, Program, Shell, ShellExit, sort_by_time

_NOT_FOUND_CODE: Final = 127


class ProcessState(StrEnum):
    """State of a command at the time up to which it was interpreted."""

    EXITED = "exited"
    RUNNING = "running"
    WAITING = "waiting for input"
    UNSUPPORTED = "not simulated"


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """Output and state of a command up to a time."""

    state: ProcessState
    printed: tuple[PrintedLine, ...]
    writes: Sequence[FileWrite]
    code: int = 0
    seconds: float = 0.0
    """Time of the last known moment: that of the end, if the command has exited."""
    needs_end: bool = False
    """True if a waiting command needs the end of its input."""
    unsupported: str = ""
    """Command that is not simulated, at which the interpretation has stopped."""

    @property
    def is_over(self) -> bool:
        """True if the command has exited, or the interpretation has stopped."""
        return self.state in (ProcessState.EXITED, ProcessState.UNSUPPORTED)

    @property
    def is_running(self) -> bool:
        """True if the command continues without further input."""
        return self.state is ProcessState.RUNNING


@dataclass(slots=True)
class Process:
    """Command with its input, and the environment and files that it starts with."""

    words: Sequence[str]
    environment: ContainerEnvironment
    files: FileSystem
    input: StandardInput = field(default_factory=StandardInput)

    def run(self, until: float) -> ProcessResult:
        """Interpret the command up to a time in seconds after its start."""
        machine = ContainerRun(self.environment, until, self.files.copy(), input=InputReader(self.input))
        machine.prints_bytes = True
        program = programs.find_executable(self.words[0])
        assert program is not None, "the caller has looked for the executable"
        shell = Shell(machine, _find_program, self.environment.variables)
        shell.name = self.words[0]
        state, code, needs_end = ProcessState.EXITED, 0, False
        try:
            code = program(shell, self.words[1:])
        except ShellExit as end:
            code = end.code
        except InputPending as pending:
            state, needs_end = ProcessState.WAITING, pending.needs_end
        except (Endless, PastHorizon):
            state = ProcessState.RUNNING
        # RecursionError: deeply nested scripts pass the bound on depth of the parser but not that of Python's stack.
        except (Unsupported, ParameterError, ControlFlow, FileError, RecursionError):
            state = ProcessState.UNSUPPORTED
        printed, seconds = tuple(sort_by_time(machine.output)), machine.now
        for index, one in enumerate(printed):
            # Output after an unknown part may be wrong, so nothing of it is shown.
            if UNKNOWN in one.text:
                printed, state, seconds = printed[:index], ProcessState.UNSUPPORTED, one.at
                break
        unsupported = ""
        if state is ProcessState.UNSUPPORTED:
            unsupported = machine.unsupported_command or " ".join(self.words)
        return ProcessResult(state, printed, tuple(machine.files.journal), code & 255, seconds, needs_end, unsupported)


@dataclass(slots=True)
class ContainerCommand:
    """Command of a container, which its kubelet has started. Times are seconds since the container started."""

    pod: ReadOnlyObject
    container: ReadOnlyObject
    start: ContainerStart
    input: StandardInput

    def run(self, until: float) -> ProcessResult:
        """Interpret the command up to a time; what is not known of it counts as running."""
        result = interpreter.interpret(self.pod, self.container, self.start, until=until)
        has_exited = result.end is interpreter.ContainerEnd.EXITS
        state = ProcessState.EXITED if has_exited else ProcessState.RUNNING
        return ProcessResult(state, result.printed, (), result.code, result.seconds)


def _find_program(name: str) -> Program | None:
    """Return a program; one that is not known says so, as a shell does for a command that it does not find."""
    return programs.find_program(name) or (lambda shell, words: _report_missing(shell, name))


def _report_missing(shell: Shell, name: str) -> int:
    shell.print(f"{shell.name}: {name}: not found (mockkube does not simulate this program)\n", 2)
    return _NOT_FOUND_CODE


def is_executable(name: str) -> bool:
    """Return whether a command can be started by this name or path."""
    return programs.find_executable(name) is not None
