"""Images whose own program is known: agnhost, which Kubernetes tests itself with, and pause, which does nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mockkube.shell.machine import ENDLESS, Endless, Late
from mockkube.shell.syntax import Unread

if TYPE_CHECKING:
    from mockkube.shell.shell import Shell

NAME: Final = "agnhost"
PAUSE: Final = "/pause"
_SERVERS: Final = frozenset(
    {
        "grpc-health-checking", "guestbook", "netexec", "no-snat-test", "no-snat-test-proxy", "pause", "porter",
        "serve-hostname", "test-webserver", "webhook",
    }
)  # fmt: skip
"""What serves until it is stopped."""


def is_agnhost(path: str) -> bool:
    """Whether a path is agnhost's."""
    return path.rpartition("/")[2] in (NAME, f"{NAME}-2")


def entrypoint_of(image: str) -> str:
    """Return the program an image starts; empty if nobody knows."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return {NAME: NAME, "pause": PAUSE}.get(name, "")


def agnhost(shell: "Shell", words: Sequence[str]) -> int:
    """Serve until stopped, or print the command line."""
    if not words or words[0] == "pause":
        shell.print("Paused\n")
    if not words or words[0] in _SERVERS:
        raise Endless if shell.machine.horizon == ENDLESS else Late
    if words[0] == "entrypoint-tester":
        path = f"/{NAME}" if shell.name == NAME else shell.name
        shell.print(f"[{' '.join((path, *words))}]\n")
        return 0
    raise Unread
