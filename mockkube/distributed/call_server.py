"""Child process of a worker: plays the calls of one run, one after the other.

Requests come on standard input, answers leave on standard output, each with its length before it. The first request is
the environment. The process ends with its standard input, or when nothing has been requested for a while.
"""

import logging
import os
import pickle
import select
import signal
import struct
import tempfile
import threading
from pathlib import Path
from traceback import format_exc
from typing import IO, Any, Final

from mockkube.cluster.configuration.errors import StartError
from mockkube.distributed.code_version import read_code_version
from mockkube.distributed.run_environment import WorkerCall, split_environment, unpack_files
from mockkube.lazy_dataclasses import dataclass

# The next run starts processes of its own, so an idle one is only useful between the rounds of a run.
IDLE_SECONDS_MAX: Final = 60.0
_POLL_SECONDS: Final = 1.0
_LENGTH: Final = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class CallResult:
    """Outcome of a call: its value, or why there is none."""

    value: Any = None
    # An error that tells a user what to do: raised again where the command was typed.
    error: Exception | None = None
    # Traceback of a bug.
    bug: str = ""
    # Why this process cannot play for the run at all.
    mismatch: str = ""


def main() -> None:
    """Play calls until there are no more."""
    # Unbuffered: `select` must see a request that has come together with the one before it.
    requests, answers = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what code prints must not come between the answers
    logging.disable(logging.CRITICAL)
    # A worker that was started in the background of a shell ignores it, and so would this process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_worker, args=(os.getppid(),), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="mockkube-") as root:
        try:
            _serve(requests, answers, Path(os.path.realpath(root)))
        except (EOFError, BrokenPipeError, KeyboardInterrupt):
            pass  # the worker has ended, or nobody waits for the call any more
        finally:
            os.chdir("/")  # the root is removed


def _end_with_worker(worker: int) -> None:
    """Interrupt this process when its worker has been killed: another one plays the call again."""
    ticks = threading.Event()
    while os.getppid() == worker:
        ticks.wait(_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGINT)


def _serve(requests: IO[bytes], answers: IO[bytes], root: Path) -> None:
    failure = _enter(read_frame(requests), root)
    while select.select([requests], [], [], IDLE_SECONDS_MAX)[0]:
        call = read_frame(requests)
        write_frame(answers, _dump(failure or _play(call)))


def _enter(data: bytes, root: Path) -> CallResult | None:
    """Enter the environment; return why that is not possible."""
    code, environment = split_environment(data)
    if mismatch := code.describe_difference(read_code_version()):
        return CallResult(mismatch=mismatch)
    try:
        pickle.loads(environment).enter(root)
    except OSError as error:
        return CallResult(error=StartError(f"a worker cannot write files to {root}: {error.strerror}"))
    return None


def _play(data: bytes) -> CallResult:
    try:
        call: WorkerCall = pickle.loads(data)
        unpack_files(call.files)
        return CallResult(call.function(*call.arguments))
    except Exception as error:  # whatever fails is reported where the command was typed
        return CallResult(error=error, bug=format_exc())


def _dump(result: CallResult) -> bytes:
    try:
        return pickle.dumps(result)
    except Exception:  # an error, or a value, that cannot be pickled
        return pickle.dumps(CallResult(bug=result.bug or format_exc()))


def read_frame(stream: IO[bytes]) -> bytes:
    """Return the next frame; raise EOFError if the other side has ended."""
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size))
    return _read(stream, length)


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Write a frame."""
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _read(stream: IO[bytes], size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = stream.read(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
