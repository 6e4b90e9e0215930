"""Process that creates the certificates of a new cluster while this one imports the rest of its code.

Creating them takes a library of 9 MB, which a server needs for nothing else that every cluster does. The keys come back
through a pipe; the process writes no file.
"""

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from mockkube.lazy_dataclasses import dataclass

SECONDS_MAX: Final = 10.0
# Without `site`, whose hooks of other packages take longer than the certificates.
_PROGRAM: Final = """
import sys
request, *sys.path[:] = sys.argv[1:]
from mockkube.cluster.state.certificate_program import run
run(request)
"""
_PACKAGES: Final = str(Path(__file__).parents[3])
_CHUNK_BYTES: Final = 65536
_LOG: Final = logging.getLogger("mockkube.cluster")


class CertificateProcessError(Exception):
    """Error: there is no process that creates certificates, or it has created none."""


@dataclass(frozen=True, slots=True)
class CreatedCertificates:
    """Keys and certificates by file name, and the host names for which they are valid."""

    names: tuple[str, ...]
    files: Mapping[str, bytes]


class CertificateProcess:
    """Running process that creates certificates for host names; leaving its context ends it."""

    def __init__(self, names: Sequence[str], *, now: datetime, python: str | None = None) -> None:
        """Start the process. Raises CertificateProcessError."""
        python = find_python() if python is None else python
        if not python:
            raise CertificateProcessError("the path of the Python interpreter is not known")
        self._names = tuple(names)
        request = json.dumps({"names": names, "now": now.isoformat()})
        command = [python, "-S", "-c", _PROGRAM, request, *sys.path, _PACKAGES]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,  # Ctrl-C is for this process, which ends the other
            )
        except (OSError, ValueError) as error:
            raise CertificateProcessError(f"it cannot be started: {error}") from None

    @property
    def has_ended(self) -> bool:
        """True once the process has ended."""
        return self._process.poll() is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._close()

    def _close(self) -> None:
        process = self._process
        if not self.has_ended:
            process.kill()
            process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()

    async def read(self) -> CreatedCertificates | None:
        """Return the certificates; None if the process has failed, which is logged."""
        try:
            async with asyncio.timeout(SECONDS_MAX):
                return CreatedCertificates(self._names, await self._read_files())
        except TimeoutError:
            reason = f"no answer within {SECONDS_MAX:g} s"
        except CertificateProcessError as error:
            reason = str(error)
        finally:
            self._close()
        _LOG.warning("the process that creates certificates has failed, this one creates them: %s", reason)
        return None

    async def _read_files(self) -> dict[str, bytes]:
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        output = await _read_to_end(process.stdout.fileno())
        errors = await _read_to_end(process.stderr.fileno())
        # Both pipes are closed, so it is ending.
        if (code := process.wait()) != 0:
            lines = errors.decode(errors="replace").split("\n")
            reason = next((line for line in reversed(lines) if line.strip()), "it said nothing")
            raise CertificateProcessError(f"exit code {code}: {reason}")
        try:
            files: Mapping[str, str] = json.loads(output)
            return {name: text.encode() for name, text in files.items()}
        except (ValueError, AttributeError):
            raise CertificateProcessError("its answer cannot be read") from None


def find_python() -> str:
    """Return the path of the interpreter; empty if there is none that runs a program."""
    return "" if getattr(sys, "frozen", False) else sys.executable or ""


async def _read_to_end(descriptor: int) -> bytes:
    """Return what a pipe holds until its writer closes it."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    chunks: list[bytes] = []

    def read_chunk() -> None:
        chunk = os.read(descriptor, _CHUNK_BYTES)
        chunks.append(chunk)
        if not chunk and not ended.done():
            ended.set_result(None)

    loop.add_reader(descriptor, read_chunk)
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
    return b"".join(chunks)
