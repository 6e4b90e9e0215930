"""Commands in running containers, simulated: what `kubectl exec` starts, and what a container writes while attached."""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.subresources.running_containers import RunningContainer

if TYPE_CHECKING:
    from mockkube.shell.containers.processes import ContainerCommand, Process, ProcessResult


class ExecutableNotFound(Exception):
    """The container runtime cannot start a command, with its error."""


def start_process(pods: Resource, container: RunningContainer, words: Sequence[str], *, tty: bool) -> "Process":
    """Return a new command in a container; raise ExecutableNotFound if there is no such program."""
    # The interpreter is 2,000 lines that most clusters never need.
    from mockkube.shell.containers.environment import build_environment  # loaded for the first command
    from mockkube.shell.containers.interpreter import find_files
    from mockkube.shell.containers.processes import Process, is_executable

    now = pods.dependencies.clock.now()
    if not words or not is_executable(words[0]):
        raise ExecutableNotFound(_describe_missing_executable(container, words, now))
    start = container.make_start(pods)
    files = find_files(container.pod, container.spec, start, (now - container.started_at).total_seconds())
    environment = build_environment(container.pod, container.spec, start)
    # Two commands of one container draw different random numbers.
    seed = f"{environment.seed}/{now.isoformat()}"
    return Process(words, replace(environment, started_at=now, stdin=False, tty=tty, seed=seed), files)


def attach_to_command(pods: Resource, container: RunningContainer) -> "ContainerCommand":
    """Return the command of a container, with its input."""
    from mockkube.shell.containers.processes import ContainerCommand  # loaded for the first command

    states = pods.dependencies.simulated_kubelets.container_states
    source = states.open_input(container.pod, container.name, container.run)
    return ContainerCommand(container.pod, container.spec, container.make_start(pods), source)


def notify_kubelet(pods: Resource, container: RunningContainer) -> None:
    """Let the kubelet of a container see what a client has changed."""
    pods.dependencies.simulated_kubelets.container_states.notify(container.pod)


def record_changes(pods: Resource, container: RunningContainer, process: "Process", result: "ProcessResult") -> None:
    """Keep the files that a command has changed, for later commands in the same container."""
    started = process.environment.started_at or container.started_at
    states = pods.dependencies.simulated_kubelets.container_states
    if result.writes:
        states.record(container.pod, container.name, container.run, started, result.writes)
        states.notify(container.pod)


def _describe_missing_executable(container: RunningContainer, words: Sequence[str], now: datetime) -> str:
    """Return the error of containerd and runc, and that mockkube would have to know the program."""
    name = words[0] if words else ""
    identity = f"{zlib.crc32(f'{container.pod_uid}/{container.name}/{now}'.encode()):08x}" * 8
    problem = f"stat {name}: no such file or directory" if "/" in name else "executable file not found in $PATH"
    return (
        f'failed to exec in container: failed to start exec "{identity}": OCI runtime exec failed: exec failed: '
        f'unable to start container process: exec: "{name}": {problem}'
        " (mockkube does not simulate this program)"
    )
