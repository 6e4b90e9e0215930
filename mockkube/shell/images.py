"""The agnhost image of Kubernetes' own tests."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mockkube.shell.entrypoints import AGNHOST
from mockkube.shell.machine import ENDLESS, Endless, PastHorizon
from mockkube.shell.syntax import Unsupported

if TYPE_CHECKING:
    from mockkube.shell.shell import Shell

_SERVING_SUBCOMMANDS: Final = frozenset(
    {
        "grpc-health-checking", "guestbook", "netexec", "no-snat-test", "no-snat-test-proxy", "pause", "porter",
        "serve-hostname", "test-webserver", "webhook",
    }
)  # fmt: skip
"""Subcommands that serve until they are stopped."""


def is_agnhost(path: str) -> bool:
    """Return whether a path is that of agnhost."""
    return path.rpartition("/")[2] in (AGNHOST, f"{AGNHOST}-2")


def run_agnhost(shell: "Shell", words: Sequence[str]) -> int:
    """Run until stopped, or print the command line."""
    if not words or words[0] == "pause":
        shell.print("Paused\n")
    if not words or words[0] in _SERVING_SUBCOMMANDS:
        # With a horizon the question is what has been printed until then, without one whether the container ever ends.
        raise Endless if shell.machine.horizon == ENDLESS else PastHorizon
    if words[0] == "entrypoint-tester":
        path = f"/{AGNHOST}" if shell.name == AGNHOST else shell.name
        shell.print(f"[{' '.join((path, *words))}]\n")
        return 0
    raise Unsupported
