"""Streams of one exec or attach session, over whichever protocol the client speaks."""

from collections.abc import Sequence
from typing import Final, Protocol

from mockkube.api.errors import Internal
from mockkube.api.json_objects import Object
from mockkube.apiserver.http.streaming.channels import ChannelMessage
from mockkube.lazy_dataclasses import dataclass

# upstream 1.36: pkg/kubelet/apis/config/v1beta1/defaults.go, StreamingConnectionIdleTimeout
IDLE_SECONDS_MAX: Final = 4 * 3600.0
# A client that reads nothing for so long is taken for gone.
WRITE_SECONDS_MAX: Final = 30.0


class ClientGone(Exception):
    """The client has closed the connection, or does not read."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Streams that a client requests."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


class RemoteCommandStreams(Protocol):
    """Streams of one session."""

    @property
    def is_translated(self) -> bool:
        """True if the API server translates for the container runtime, which wraps its errors once more."""
        ...

    async def receive(self) -> ChannelMessage:
        """Return the next message of the client; raise ClientGone if none will follow."""
        ...

    async def write(self, channel: int, data: bytes) -> None:
        """Send data on a channel; return once the client has room for more. Raise ClientGone."""
        ...

    async def write_status(self, status: Object) -> None:
        """Send the outcome on the error channel."""
        ...

    async def close(self) -> None:
        """End the session after everything was sent."""
        ...


def success_status() -> Object:
    """Return the Status of a command that ended with code 0."""
    return {"metadata": {}, "status": "Success"}


def exit_status(code: int, words: Sequence[str], *, is_translated: bool) -> Object:
    """Return the Status of a command that ended with another code."""
    description = (
        f"command terminated with exit code {code}"
        if is_translated
        else f"error executing command [{' '.join(words)}], exit code {code}"
    )
    # upstream 1.36: cri-streaming/pkg/streaming/remotecommand/exec.go
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {description}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def runtime_error_status(message: str, *, is_translated: bool) -> Object:
    """Return the Status of a command that the container runtime could not run."""
    error = Internal(message)
    return Internal(error.message).status() if is_translated else error.status()
