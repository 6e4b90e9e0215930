"""Sessions of exec and attach: pass input to a simulated command, and its output to the client when it is due."""

# upstream 1.36: cri-streaming/pkg/streaming/remotecommand/exec.go, attach.go
import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from mockkube.apiserver.http.streaming import channels
from mockkube.apiserver.http.streaming.channels import ChannelMessage
from mockkube.apiserver.http.streaming.streams import ClientGone, RemoteCommandStreams, StreamOptions
from mockkube.apiserver.http.streaming.terminal import LineDiscipline, to_terminal
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.subresources.container_processes import (
    attach_to_command,
    notify_kubelet,
    record_changes,
)
from mockkube.apiserver.registry.subresources.running_containers import RunningContainer, wait_until_ended

if TYPE_CHECKING:
    from mockkube.shell.containers.processes import ContainerCommand, Process, ProcessResult
    from mockkube.shell.machine.machine import PrintedLine

# How far a command that still runs is interpreted ahead: as long again as it has run.
_LOOKAHEAD_MIN: Final = 30.0
_LOOKAHEAD_MAX: Final = 600.0
_MESSAGES_MAX: Final = 8
_UNSUPPORTED_CODE: Final = 126
_INTERRUPTED_CODE: Final = 130
_KILLED_CODE: Final = 137
_ENCODING: Final = "utf-8"
# Bytes that are no text pass through the interpreter unchanged.
_ERRORS: Final = "surrogateescape"


class _Arrivals:
    """Input of the client that the session has not handled yet. While it is full, the client has to wait."""

    def __init__(self) -> None:
        self._messages: asyncio.Queue[ChannelMessage] = asyncio.Queue(_MESSAGES_MAX)
        self.is_gone = False
        self.wake = asyncio.Event()

    async def receive_all(self, streams: RemoteCommandStreams) -> None:
        """Receive messages until the client is gone."""
        try:
            while True:
                await self._messages.put(await streams.receive())
                self.wake.set()
        except ClientGone:
            self.is_gone = True
            self.wake.set()

    def take_all(self) -> list[ChannelMessage]:
        """Return and clear the messages that have arrived."""
        return [self._messages.get_nowait() for _ in range(self._messages.qsize())]


class CommandSession(ABC):
    """Session of one client with one command. Times are seconds since the command started."""

    def __init__(
        self,
        pods: Resource,
        container: RunningContainer,
        command: "Process | ContainerCommand",
        streams: RemoteCommandStreams,
        options: StreamOptions,
    ) -> None:
        self._pods, self._container, self._command = pods, container, command
        self._streams, self._options = streams, options
        self._clock = pods.dependencies.clock
        self._terminal = LineDiscipline() if options.tty else None
        self._shown = 0
        self._computed_until = -1.0
        self._is_interrupted = False

    @abstractmethod
    def elapsed(self) -> float:
        """Return the present time of the command."""

    @abstractmethod
    async def find_exit_code(self, result: "ProcessResult", elapsed: float) -> int | None:
        """Return the exit code if the session is over, after all output was sent."""

    def needs_run(self, result: "ProcessResult", elapsed: float, *, has_input: bool) -> bool:
        """Return whether the command has to be interpreted again."""
        return has_input or elapsed > self._computed_until

    async def run(self) -> int:
        """Serve the client until the command ends, and return its exit code; raise ClientGone if the client leaves."""
        arrivals = _Arrivals()
        receiving = asyncio.ensure_future(arrivals.receive_all(self._streams))
        container_ended = asyncio.ensure_future(wait_until_ended(self._pods, self._container))
        container_ended.add_done_callback(lambda _: arrivals.wake.set())
        try:
            return await self._run(arrivals, container_ended)
        except InputTooLong:
            await self.print("mockkube: the standard input is too long: at most a million characters\n", 2)
            return _UNSUPPORTED_CODE
        finally:
            for task in (receiving, container_ended):
                task.cancel()
            await asyncio.gather(receiving, container_ended, return_exceptions=True)

    async def _run(self, arrivals: _Arrivals, container_ended: asyncio.Future[None]) -> int:
        result: ProcessResult | None = None
        while True:
            elapsed = self.elapsed()
            arrivals.wake.clear()
            has_input = await self._take_input(arrivals, elapsed)
            if self._is_interrupted:
                return _INTERRUPTED_CODE
            if arrivals.is_gone:
                raise ClientGone
            if result is None or self.needs_run(result, elapsed, has_input=has_input):
                self._computed_until = elapsed + min(max(elapsed, _LOOKAHEAD_MIN), _LOOKAHEAD_MAX)
                result = self._command.run(self._computed_until)
            await self._print_until(result, elapsed)
            if self._shown == len(result.printed):
                code = await self.find_exit_code(result, elapsed)
                if code is not None:
                    return code
            if container_ended.done():
                return _KILLED_CODE
            await self._wait(self.find_due(result), elapsed, arrivals.wake)

    def find_due(self, result: "ProcessResult") -> float | None:
        """Return when the session has to do something even if nothing happens; None: never."""
        if self._shown < len(result.printed):
            return result.printed[self._shown].at
        return self._computed_until

    async def _take_input(self, arrivals: _Arrivals, elapsed: float) -> bool:
        """Pass what has arrived to the command; return whether its input has changed."""
        # The size of the terminal changes nothing that simulated programs print.
        messages = [one for one in arrivals.take_all() if one.channel == channels.STDIN]
        data = b"".join(one.data for one in messages)
        changed = bool(data) and await self.add_input(data.decode(_ENCODING, _ERRORS), elapsed)
        if any(one.is_close for one in messages):
            changed = self.close_input(elapsed) or changed
        return changed

    def close_input(self, elapsed: float) -> bool:
        """End the input of the command; return whether that changes it."""
        self._command.input.close(elapsed)
        return True

    async def add_input(self, text: str, elapsed: float) -> bool:
        """Pass what was typed or sent to the command; return whether its input has changed."""
        is_end = False
        if self._terminal is not None:
            typed = self._terminal.type(text)
            if typed.echo:
                await self._streams.write(channels.STDOUT, typed.echo.encode(_ENCODING, _ERRORS))
            if typed.is_interrupt:
                self.interrupt()
            # A shell at a terminal shows its prompt again after an interrupt.
            text, is_end = "\n" if typed.is_interrupt else typed.text, typed.is_end
        if text and not self._command.input.add(elapsed, text) and self._command.input.closed_at is None:
            raise InputTooLong
        if is_end:
            self._command.input.close(elapsed)
        return bool(text) or is_end

    @abstractmethod
    def interrupt(self) -> None:
        """Handle the interrupt character of a terminal."""

    async def _print_until(self, result: "ProcessResult", elapsed: float) -> None:
        while self._shown < len(result.printed) and result.printed[self._shown].at <= elapsed:
            one = result.printed[self._shown]
            self._shown += 1
            if not self.was_written_before(one):
                await self.print(one.text, one.descriptor)

    def was_written_before(self, one: "PrintedLine") -> bool:
        """Return whether output was written before the session began."""
        return False

    async def print(self, text: str, descriptor: int = 1) -> None:
        """Send output to the client."""
        if self._options.tty:
            await self._streams.write(channels.STDOUT, to_terminal(text).encode(_ENCODING, _ERRORS))
        else:
            channel = channels.STDERR if descriptor == 2 else channels.STDOUT
            await self._streams.write(channel, text.encode(_ENCODING, _ERRORS))

    async def _wait(self, due: float | None, elapsed: float, wake: asyncio.Event) -> None:
        """Return at a time of the command, or once something has happened."""
        if due is None:
            await wake.wait()
            return
        sleep = asyncio.ensure_future(self._clock.sleep(due - elapsed))
        woken = asyncio.ensure_future(wake.wait())
        try:
            await asyncio.wait((sleep, woken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sleep, woken):
                task.cancel()
            await asyncio.gather(sleep, woken, return_exceptions=True)


class InputTooLong(Exception):
    """The client sent more input than a simulated command keeps."""


class ExecSession(CommandSession):
    """Session of exec, whose command begins with it."""

    def __init__(
        self,
        pods: Resource,
        container: RunningContainer,
        process: "Process",
        streams: RemoteCommandStreams,
        options: StreamOptions,
    ) -> None:
        super().__init__(pods, container, process, streams, options)
        self._process = process
        self._began = self._clock.monotonic()
        if not options.stdin:
            process.input.close(0.0)

    def elapsed(self) -> float:
        """Return the time since the session began."""
        return self._clock.monotonic() - self._began

    def needs_run(self, result: "ProcessResult", elapsed: float, *, has_input: bool) -> bool:
        """Return whether the command has to be interpreted again."""
        # Neither time nor a part of the input brings a command on that waits for the end of its input.
        if result.needs_end and self._process.input.closed_at is None:
            return False
        return has_input or (elapsed > self._computed_until and result.is_running)

    def find_due(self, result: "ProcessResult") -> float | None:
        """Return when the next output or the end of the command is due; None if it waits for input."""
        if self._shown < len(result.printed):
            return super().find_due(result)
        if result.is_over:
            return result.seconds
        return self._computed_until if result.is_running else None

    async def find_exit_code(self, result: "ProcessResult", elapsed: float) -> int | None:
        """Return the exit code once the command has ended, or goes on with something that is not simulated."""
        if not result.is_over or result.seconds > elapsed:
            return None
        record_changes(self._pods, self._container, self._process, result)
        if not result.unsupported:
            return result.code
        await self.print(f"mockkube: not simulated: {result.unsupported}\n", 2)
        return _UNSUPPORTED_CODE

    def interrupt(self) -> None:
        """End the command, unless it is a shell at its prompt."""
        self._is_interrupted = len(self._process.words) > 1


class AttachSession(CommandSession):
    """Session of attach, whose command has begun with its container. What was written before is not sent."""

    def __init__(
        self, pods: Resource, container: RunningContainer, streams: RemoteCommandStreams, options: StreamOptions
    ) -> None:
        super().__init__(pods, container, attach_to_command(pods, container), streams, options)
        self._attached_at = self.elapsed()
        self._passes_input = options.stdin and bool(container.spec.get("stdin"))

    def elapsed(self) -> float:
        """Return the time since the container started."""
        return (self._clock.now() - self._container.started_at).total_seconds()

    def was_written_before(self, one: "PrintedLine") -> bool:
        """Return whether output was written before the client attached."""
        return one.at <= self._attached_at

    async def find_exit_code(self, result: "ProcessResult", elapsed: float) -> int | None:
        """Return None: the session ends with the container, when its kubelet says so."""
        return None

    async def add_input(self, text: str, elapsed: float) -> bool:
        """Pass input to the container, if it has a standard input."""
        changed = self._passes_input and await super().add_input(text, elapsed)
        if changed:
            notify_kubelet(self._pods, self._container)
        return changed

    def interrupt(self) -> None:
        """Do nothing: the simulation of containers ignores signals."""

    def close_input(self, elapsed: float) -> bool:
        """End the input of a container that is to have one client only; return whether that changes it."""
        is_end = self._passes_input and bool(self._container.spec.get("stdinOnce"))
        if is_end and super().close_input(elapsed):
            notify_kubelet(self._pods, self._container)
        return is_end

    async def run(self) -> int:
        """Serve the client until the container ends; raise ClientGone if the client leaves earlier."""
        try:
            return await super().run()
        finally:
            self.close_input(self.elapsed())
