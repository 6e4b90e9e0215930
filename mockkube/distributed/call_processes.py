"""Child processes of a worker, started when a task needs one and kept for the next."""

import os
import pickle
import select
import signal
import subprocess
import sys
from hashlib import sha256
from typing import Final

from distributed import get_worker

from mockkube.distributed.call_server import CallResult, read_frame, write_frame

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
    """A child process with an environment."""

    def __init__(self, environment: bytes, directory: str) -> None:
        # Modules are found where this worker finds them, also in folders that it got after its start.
        path = os.pathsep.join(one for one in sys.path if one)
        self._process = subprocess.Popen(
            COMMAND,
            env={**os.environ, "PYTHONPATH": path, "TMPDIR": directory},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the worker's terminal is the worker's
        )
        self._send(environment)

    def is_alive(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def call(self, data: bytes) -> bytes | None:
        """Return the answer to a call; None if its task was cancelled meanwhile. Raises CallProcessDied."""
        self._send(data)
        assert self._process.stdout is not None
        while not select.select([self._process.stdout], [], [], _POLL_SECONDS)[0]:
            if _is_cancelled():
                self.stop()
                return None
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

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            write_frame(self._process.stdin, data)
        except BrokenPipeError:
            raise CallProcessDied(f"exit status {self._process.wait()}") from None


def run_call(environment: bytes, call: bytes) -> bytes:
    """Play a call in a child process of this worker; return a pickled CallResult. This is the task that Dask runs."""
    key = sha256(environment).hexdigest()
    process = _take_idle(key) or CallProcess(environment, get_worker().local_directory)
    try:
        answer = process.call(call)
    except BaseException:
        process.stop()
        raise
    if answer is None:
        return pickle.dumps(CallResult())  # nobody waits for it
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


def _is_cancelled() -> bool:
    """Return whether the scheduler no longer wants the task of this thread."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"
