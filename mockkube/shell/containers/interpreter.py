"""End and output of a container, derived from its command."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_files import (
    MESSAGE_PATH,
    OtherWrites,
    build_files,
    may_write,
    seconds_between,
    shared_volumes,
    shift,
)
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.environment import ConfigError, build_environment, expand_words
from mockkube.shell.containers.volumes import VolumeError
from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import UNKNOWN, FileError, FileSystem, FileWrite
from mockkube.shell.machine.machine import ENDLESS, ContainerRun, Endless, PastHorizon, PrintedLine
from mockkube.shell.machine.standard_input import InputPending, InputReader
from mockkube.shell.programs.entrypoints import find_image, has_command
from mockkube.shell.programs.programs import find_executable, find_program
from mockkube.shell.scripts.expansion import ParameterError
from mockkube.shell.scripts.shell import ControlFlow, Shell, ShellExit, sort_by_time

# Earlier runs interpreted for the files that they left; later ones rarely change them any more.
RUNS_MAX: Final = 16
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
    writes: tuple[FileWrite, ...] = ()
    """Writes to volumes."""


_UNKNOWN_RESULT: Final = CommandResult(ContainerEnd.UNKNOWN)


def interpret(
    pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, *, until: float = ENDLESS
) -> CommandResult:
    """Interpret the command of one run of a container, up to a time in seconds after its start."""
    if not has_command(container):
        return _UNKNOWN_RESULT
    try:
        machine = _PodInterpreter(pod, start, until).make_run(container)
    except (ConfigError, VolumeError):
        return _UNKNOWN_RESULT
    return _with_output(container, machine, _interpret_command(container, machine))


def find_files(pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, until: float) -> FileSystem:
    """Return the files of a container as its command and the other containers have left them at a time."""
    try:
        machine = _PodInterpreter(pod, start, until).make_run(container)
    except (ConfigError, VolumeError):
        return FileSystem()
    if has_command(container):
        _interpret_command(container, machine)
    machine.files.advance(until)
    return machine.files


def find_change_times(pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart) -> list[float]:
    """Return when files of a container change, in seconds after its start, as far as its command is known."""
    try:
        machine = _PodInterpreter(pod, start, ENDLESS).make_run(container)
    except (ConfigError, VolumeError):
        return []
    if has_command(container):
        _interpret_command(container, machine)
    return sorted({one.at for one in (*machine.files.journal, *machine.files.initial_pending)})


class _PodInterpreter:
    """Interprets one container of a pod, and others as far as they write files that it sees."""

    def __init__(self, pod: ReadOnlyObject, start: ContainerStart, until: float) -> None:
        self._pod, self._start, self._until = pod, start, until

    def make_run(self, container: ReadOnlyObject) -> ContainerRun:
        """Return a run of the container, not interpreted yet."""
        others = self._collect_writes(container)
        writes: list[FileWrite] = []
        # A restarted container finds the files of its earlier runs in emptyDir volumes, so those runs are interpreted
        # again.
        for number in range(min(self._start.run, RUNS_MAX)):
            earlier = replace(self._start, run=number, began=None)
            machine = self._make_machine(container, earlier, ENDLESS, _with_writes(others, writes))
            before = machine.files.state()
            _interpret_command(container, machine)
            left = machine.files.surviving_writes()
            # A run that changed nothing leaves the next one the same files: further runs would repeat it.
            if not left or machine.files.state() == before:
                break
            writes += left
        return self._make_machine(container, self._start, self._until, _with_writes(others, writes))

    def _make_machine(
        self, container: ReadOnlyObject, start: ContainerStart, until: float, others: OtherWrites
    ) -> ContainerRun:
        environment = build_environment(self._pod, container, start)
        if start.states is not None and start.began is not None:
            others = _with_writes(others, start.states.find_writes(self._pod, container, start.run, start.began))
        files = build_files(self._pod, container, start, environment.variables, others)
        machine = ContainerRun(environment, until, files)
        if container.get("stdin") and start.states is not None:
            machine.input = InputReader(start.states.find_input(self._pod, container["name"], start.run))
        return machine

    def _collect_writes(self, container: ReadOnlyObject) -> OtherWrites:
        """Return what other containers write into the volumes of a container."""
        volumes = shared_volumes(self._pod, container)
        if not volumes:
            return OtherWrites()
        others = self._collect_initial_writes(container, volumes)
        initial = self._pod["spec"].get("initContainers") or ()
        beside = [one for one in initial if one.get("restartPolicy") == "Always"]
        if container["name"] not in {one["name"] for one in initial}:
            beside += self._pod["spec"]["containers"]
        collected = others
        for one in beside:
            if one["name"] != container["name"] and may_write(one, volumes):
                collected = self._add_writes(one, volumes, others, collected)
        return collected

    def _collect_initial_writes(self, container: ReadOnlyObject, volumes: frozenset[str]) -> OtherWrites:
        """Return what init containers have written before a container starts."""
        others = OtherWrites()
        for one in self._pod["spec"].get("initContainers") or ():
            if one["name"] == container["name"]:
                break
            if one.get("restartPolicy") != "Always" and may_write(one, volumes):
                machine = self._make_machine(one, replace(self._start, run=0), ENDLESS, others)
                result = _interpret_command(one, machine)
                others = _add(others, shift(machine.files.journal, -machine.now, volumes), result, one, volumes)
        return others

    def _add_writes(
        self, other: ReadOnlyObject, volumes: frozenset[str], initial: OtherWrites, collected: OtherWrites
    ) -> OtherWrites:
        """Add what a container that runs beside has written or will write."""
        offset = seconds_between(self._pod, other["name"], self._start)
        # It may read what this container has written: such a read of a missing file ends what is known about it.
        seen = OtherWrites(initial.writes, initial.unknown_volumes | volumes)
        until = max(0.0, self._until - offset)
        machine = self._make_machine(other, replace(self._start, run=0), until, seen)
        result = _interpret_command(other, machine)
        return _add(collected, shift(machine.files.journal, offset, volumes), result, other, volumes)


def _with_writes(others: OtherWrites, writes: Sequence[FileWrite]) -> OtherWrites:
    return replace(others, writes=(*others.writes, *writes)) if writes else others


def _add(
    others: OtherWrites,
    writes: Sequence[FileWrite],
    result: CommandResult,
    container: ReadOnlyObject,
    volumes: frozenset[str],
) -> OtherWrites:
    """Add the writes of a container; without a known command it may have written anything."""
    unknown = others.unknown_volumes
    if result.end is ContainerEnd.UNKNOWN:
        mounted = {one["name"] for one in container.get("volumeMounts") or () if not one.get("readOnly")}
        unknown |= volumes & mounted
    return OtherWrites((*others.writes, *writes), unknown)


def command_words(container: ReadOnlyObject, variables: dict[str, str]) -> list[str]:
    """Return the words of the command line, as far as known: the command of an unknown image is not."""
    command = expand_words(container.get("command") or (), variables)
    args = expand_words(container.get("args") or (), variables)
    if command:
        return [*command, *args]
    image = find_image(container.get("image", ""))
    if image.entrypoint:
        return [*image.entrypoint, *(args or image.arguments)]
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
    except (Endless, PastHorizon, InputPending):
        return CommandResult(ContainerEnd.RUNS)
    # RecursionError: deeply nested scripts pass the bound on depth of the parser but not that of Python's stack.
    except (Unsupported, ParameterError, ControlFlow, FileError, RecursionError):
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
        message = _read_message(machine.files, container.get("terminationMessagePath") or MESSAGE_PATH)
        if not message and result.code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            message = _last_output(printed)
    writes = tuple(one for one in machine.files.journal if one.volume)
    return CommandResult(end, result.code, result.seconds, printed, "" if UNKNOWN in message else message, writes)


def _read_message(files: FileSystem, path: str) -> str:
    """Return the termination message that a container has written."""
    written = [one.file for one in files.journal if one.path == path and not one.volume]
    return written[-1].text[:_MESSAGE_MAX] if written and written[-1] is not None else ""


def _last_output(printed: tuple[PrintedLine, ...]) -> str:
    """Return the end of the output, as a fallback for the termination message."""
    lines = "".join(one.text for one in printed).splitlines(keepends=True)
    return "".join(lines[-_FALLBACK_LINES_MAX:])[-_FALLBACK_CHARACTERS_MAX:]
