"""Catalogue of commands: name, module, and one line for `mockkube --help`."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Entry:
    """One command; its module is imported only when it is called, so that `--help` stays fast."""

    name: str
    summary: str

    @property
    def module(self) -> str:
        """Name of the module that holds the command as `command`."""
        return f"mockkube.cli.{self.name}"


COMMANDS: Final = (
    Entry("up", "Start a cluster in the foreground."),
    Entry("down", "Stop a running cluster."),
    Entry("status", "Show the clusters of this user."),
    Entry("kubeconfig", "Print a cluster's kubeconfig, or merge it into a file."),
    Entry("eval", "Ask what an expression, version, toleration or selector says."),
    Entry("scan", "Find what breaks without a gate, or at an older version."),
    Entry("test", "Play scenarios in virtual time."),
    Entry("examples", "List and copy the scenarios and plans that ship."),
    Entry("explore", "Try every order of a rollout."),
    Entry("scheduler", "Run the scheduler alone, against any API server."),
    Entry("why", "Say why a pod is where it is, or nowhere."),
    Entry("version", "Print the version of mockkube and of the Kubernetes it emulates."),
    Entry("completion", "Print a completion script for a shell."),
)
