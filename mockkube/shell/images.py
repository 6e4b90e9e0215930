"""Agnhost, the image which Kubernetes tests itself with: what its program does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mockkube.shell.entrypoints import AGNHOST
from mockkube.shell.machine import ENDLESS, Endless, Late
from mockkube.shell.syntax import Unread

if TYPE_CHECKING:
    from mockkube.shell.shell import Shell

_SERVERS: Final = frozenset(
    {
        "grpc-health-checking", "guestbook", "netexec", "no-snat-test", "no-snat-test-proxy", "pause", "porter",
        "serve-hostname", "test-webserver", "webhook",
    }
)  # fmt: skip
"""What serves until it is stopped."""


def is_agnhost(path: str) -> bool:
    """Whether a path is agnhost's."""
    return path.rpartition("/")[2] in (AGNHOST, f"{AGNHOST}-2")


def agnhost(shell: "Shell", words: Sequence[str]) -> int:
    """Serve until stopped, or print the command line."""
    if not words or words[0] == "pause":
        shell.print("Paused\n")
    if not words or words[0] in _SERVERS:
        raise Endless if shell.machine.horizon == ENDLESS else Late
    if words[0] == "entrypoint-tester":
        path = f"/{AGNHOST}" if shell.name == AGNHOST else shell.name
        shell.print(f"[{' '.join((path, *words))}]\n")
        return 0
    raise Unread
