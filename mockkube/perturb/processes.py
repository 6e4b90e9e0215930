"""Processes of the controller: started with a kubeconfig of their own, killed, and restarted when they end."""

import asyncio
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.perturb.recorder import STARTS
from mockkube.perturb.workload import ProcessSpec
from mockkube.runtime.clock import Clock
from mockkube.scenario.output.junit import remove_control_characters

# A process that ends by itself is restarted after this time, which doubles each time, as kubelets do with containers.
BACKOFF_SECONDS: Final = 0.5
BACKOFF_SECONDS_MAX: Final = 5.0
# Exit of a process that thinks it is done.
SUCCESS: Final = "exit code 0"
_LOG_BYTES_MAX: Final = 64 << 10
_ESCAPE_SEQUENCE: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class ControllerProcess:
    """One process, over its restarts."""

    def __init__(
        self,
        spec: ProcessSpec,
        environment: Mapping[str, str],
        log_path: Path,
        clock: Clock,
        *,
        note: Callable[..., None],
    ) -> None:
        self.spec = spec
        # How often it ended by itself, and how the last time.
        self.exits = 0
        self.last_exit = ""
        self._environment, self._log_path, self._clock, self._note = environment, log_path, clock, note
        self._process: asyncio.subprocess.Process | None = None
        self._is_killed = False
        self._may_start = asyncio.Event()
        self._may_start.set()

    async def run(self) -> None:
        """Start the process, and again whenever it ends, until cancelled; nothing of it is left then."""
        try:
            while True:
                await self._may_start.wait()
                code = await self._run_once()
                if self._is_killed:
                    self._is_killed = False
                    continue
                self.exits += 1
                self.last_exit = _describe_code(code)
                self._note(self.spec.name, f"ends by itself: {self.last_exit}")
                await self._clock.sleep(min(BACKOFF_SECONDS * 2 ** (self.exits - 1), BACKOFF_SECONDS_MAX))
        finally:
            self._kill_group()
            if self._process is not None:
                await self._process.wait()

    async def _run_once(self) -> int:
        """Start the process and return its exit code."""
        values = {"kubeconfig": self._environment["KUBECONFIG"], "url": self._environment["MOCKKUBE_URL"]}
        command = [_fill_in(word, values) for word in self.spec.command]
        with self._log_path.open("ab") as log:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**self._environment, **self.spec.environment},
                    cwd=self.spec.directory,
                    start_new_session=True,
                )
            except OSError as error:
                raise ConfigurationError(
                    f"{command[0]}: {error.strerror}: give a program that can be started after --"
                ) from None
        self._note(self.spec.name, STARTS, started=True)
        return await self._process.wait()

    def kill(self, *, restart: bool = True) -> None:
        """Kill the process with SIGKILL; without `restart` it stays down until `resume`."""
        if not restart:
            self._may_start.clear()
        if self._process is not None and self._process.returncode is None and not self._is_killed:
            self._is_killed = True
            self._note(self.spec.name, "is killed")
            self._kill_group()

    def resume(self) -> None:
        """Let the process start again."""
        self._may_start.set()

    def _kill_group(self) -> None:
        if self._process is None:
            return
        # The group, too, of a process that has ended: it may have left children.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for pid in _find_by_kubeconfig(self._environment["KUBECONFIG"]):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def read_log(self) -> str:
        """Return the end of what it has written."""
        try:
            text = self._log_path.read_bytes()[-_LOG_BYTES_MAX:].decode(errors="replace")
            # Colours and binary output would confuse terminals and reports.
            return remove_control_characters(_ESCAPE_SEQUENCE.sub("", text))
        except OSError:
            return ""


def _find_by_kubeconfig(path: str) -> Iterator[int]:
    """Yield the processes with a kubeconfig in their environment: daemons have left their group."""
    variable = f"KUBECONFIG={path}".encode()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if variable in environ.read_bytes().split(b"\0"):
                yield int(environ.parent.name)


def _fill_in(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _describe_code(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
