"""Child processes of a worker, started when a task needs one and kept for the next."""

import os
import signal
import subprocess
import sys
from hashlib import sha256
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from distributed import Reschedule, get_worker

from mockkube.distributed.call_server import read_frame, write_frame

# How often a task looks whether it is still wanted.
_POLL_SECONDS: Final = 0.5
_STOP_SECONDS_MAX: Final = 10.0

# Not `-m`: pickles name the module of a class, which would be __main__ there.
COMMAND: Final = (sys.executable, "-c", "from mockkube.distributed.call_server import main; main()")

# Processes without a task, by the digest of their environment. Threads of a worker share it: append and pop are atomic.
_IDLE: Final[dict[str, list["CallProcess"]]] = {}


class CallProcessDied(Exception):
    """A child process has ended in the middle of a call."""


class CallProcess:
    """A child process with an environment; it ends when this object is deleted."""

    def __init__(self, environment: bytes, connection: Connection | None = None) -> None:
        """Start the process; it inherits a connection, if one is given, whose number is its argument."""
        directory = get_worker().local_directory
        inherited = () if connection is None else (connection.fileno(),)
        # Modules are found where this worker finds them, also in folders that it got after its start.
        path = os.pathsep.join(one for one in sys.path if one)
        self._process = subprocess.Popen(
            (*COMMAND, *map(str, inherited)),
            pass_fds=inherited,
            env={**os.environ, "PYTHONPATH": path, "TMPDIR": directory},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the worker's terminal is the worker's
        )
        self.send(environment)

    def __del__(self) -> None:
        # A Popen whose process runs is kept by its module, and so would be these pipes.
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def fileno(self) -> int:
        """Return what can be read once an answer is there."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def is_alive(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def call(self, data: bytes) -> bytes:
        """Return the answer to a call; raise CallProcessDied, or Reschedule if its task was cancelled meanwhile."""
        self.send(data)
        wait_for_answer(self)
        return self.read_answer()

    def send(self, data: bytes) -> None:
        """Send a call, without waiting for the answer; raise CallProcessDied."""
        assert self._process.stdin is not None
        try:
            write_frame(self._process.stdin, data)
        except BrokenPipeError:
            raise CallProcessDied(f"exit status {self._process.wait()}") from None

    def read_answer(self) -> bytes:
        """Return the answer to a call, when it is there; raise CallProcessDied."""
        assert self._process.stdout is not None
        try:
            return read_frame(self._process.stdout)
        except EOFError:
            raise CallProcessDied(f"exit status {self._process.wait()}") from None

    def stop(self) -> None:
        """End the process, and programs that a scenario has started in it."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def run_call(environment: bytes, call: bytes) -> bytes:
    """Play a call in a child process of this worker; return a pickled CallResult. This is the task that Dask runs."""
    key = sha256(environment).hexdigest()
    process = _take_idle(key) or CallProcess(environment)
    try:
        answer = process.call(call)
    except BaseException:
        process.stop()
        raise
    _IDLE.setdefault(key, []).append(process)
    return answer


def _take_idle(key: str) -> CallProcess | None:
    """Return a process of this environment that is alive and has no task."""
    idle = _IDLE.setdefault(key, [])
    while True:
        try:
            process = idle.pop()
        except IndexError:
            return None
        if process.is_alive():
            return process


def wait_for_answer(*sources: Connection | CallProcess) -> list[Any]:
    """Return the sources that can be read, when there are any; raise Reschedule if this task was cancelled."""
    by_number = {one.fileno(): one for one in sources}
    while not (ready := wait(by_number, _POLL_SECONDS)):
        if _is_cancelled():
            raise Reschedule  # it has no result, also if the scheduler wants it again by now
    return [one for number, one in by_number.items() if number in ready]


def _is_cancelled() -> bool:
    """Return whether the scheduler no longer wants the task of this thread."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"
