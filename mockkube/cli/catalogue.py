"""Catalogue of commands: name, module, and one line for `mockkube --help`."""

from keyword import iskeyword
from typing import Final

from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """One command; its module is imported only when it is called, so that `--help` stays fast."""

    name: str
    summary: str

    @property
    def module(self) -> str:
        """Name of the module that holds the command as `command`."""
        # A module cannot be imported by a keyword of Python.
        return f"mockkube.cli.commands.{self.name}{'_command' * iskeyword(self.name)}"


COMMANDS: Final = (
    CommandEntry("up", "Start a cluster in the foreground."),
    CommandEntry("down", "Stop a running cluster."),
    CommandEntry("demo", "Run an example: a gate that is on for some components only."),
    CommandEntry("doctor", "Check what this machine has, and what is missing."),
    CommandEntry("status", "Show the clusters of this user."),
    CommandEntry("assets", "Write etcd and kube-apiserver executables for test tools."),
    CommandEntry("kubeconfig", "Print a cluster's kubeconfig, or merge it into a file."),
    CommandEntry("eval", "Ask what an expression, version, toleration or selector says."),
    CommandEntry("import", "Turn a dump or a running cluster into a snapshot."),
    CommandEntry("rehearse", "Try an upgrade on an imported cluster."),
    CommandEntry("whatif", "Simulate a cluster with and without changes, and compare."),
    CommandEntry("scan", "Find what breaks without a gate, or at an older version."),
    CommandEntry("test", "Run scenarios in virtual time."),
    CommandEntry("examples", "List and copy the scenarios and plans that ship."),
    CommandEntry("explore", "Try every order of a rollout."),
    CommandEntry("atlas", "Turn a gate on for some components only; report what breaks."),
    CommandEntry("perturb", "Run a controller again and again with one disturbance each."),
    CommandEntry("scheduler", "Run the scheduler alone, against any API server."),
    CommandEntry("controllers", "Run the controllers alone, against any API server."),
    CommandEntry("kubelets", "Simulate the kubelets alone, against any API server."),
    CommandEntry("why", "Explain why a pod is pending, rejected or gone."),
    CommandEntry("ui", "Open the page of a running cluster."),
    CommandEntry("version", "Print the versions of mockkube and of Kubernetes."),
    CommandEntry("completion", "Print a completion script for a shell."),
)
