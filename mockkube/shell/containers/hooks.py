"""Outcome of a lifecycle hook: its command is interpreted, a known server responds, all else succeeds.

upstream 1.36: pkg/kubelet/lifecycle/handlers.go
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from mockkube.api.fields import quote
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.environment import ConfigError, build_environment
from mockkube.shell.containers.interpreter import find_files
from mockkube.shell.containers.probes import find_port, format_address
from mockkube.shell.containers.processes import Process, ProcessState, is_executable
from mockkube.shell.containers.servers import find_server
from mockkube.shell.machine.machine import ENDLESS


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """Outcome of a lifecycle hook."""

    # Why it fails; empty if it succeeds.
    error: str = ""
    # How long it takes; infinite for a command that does not end.
    seconds: float = 0.0


_UNKNOWN_OUTCOME: Final = HookOutcome()


def run_hook(
    pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, handler: ReadOnlyObject, seconds: float
) -> HookOutcome:
    """Run a hook of a container so many seconds after its start; files that its command writes are kept."""
    metadata = pod["metadata"]
    place = f'Pod "{metadata["name"]}_{metadata["namespace"]}({metadata["uid"]})"'
    failed = f'for Container "{container["name"]}" in {place} failed - error:'
    if (action := handler.get("exec")) is not None:
        return _run_command(pod, container, start, action.get("command") or (), seconds, failed)
    if (action := handler.get("sleep")) is not None:
        return HookOutcome(seconds=float(action.get("seconds") or 0))
    if (action := handler.get("httpGet")) is not None:
        error = _get(pod, container, start, action)
        return HookOutcome(f"HTTP lifecycle hook ({action.get('path', '')}) {failed} {error}" if error else "")
    return HookOutcome(f"Cannot run handler: invalid handler: {', '.join(handler)}")


def _run_command(
    pod: ReadOnlyObject,
    container: ReadOnlyObject,
    start: ContainerStart,
    words: Sequence[str],
    seconds: float,
    failed: str,
) -> HookOutcome:
    if not words or not is_executable(words[0]):
        return _UNKNOWN_OUTCOME
    try:
        environment = build_environment(pod, container, start)
    except ConfigError:
        return _UNKNOWN_OUTCOME
    seed = f"{pod['metadata']['uid']}/{container['name']}/hook/{seconds}"
    process = Process(words, replace(environment, stdin=False, seed=seed), find_files(pod, container, start, seconds))
    process.input.close(0.0)
    result = process.run(ENDLESS)
    if result.writes and start.states is not None and start.began is not None:
        began = start.began + timedelta(seconds=seconds)
        start.states.record(pod, container["name"], start.run, began, result.writes)
    if result.state is ProcessState.RUNNING:
        return HookOutcome(seconds=ENDLESS)
    if result.state is not ProcessState.EXITED:
        return _UNKNOWN_OUTCOME
    if not result.code:
        return HookOutcome(seconds=result.seconds)
    output = "".join(one.text for one in result.printed)
    errors = "".join(one.text for one in result.printed if one.descriptor == 2)
    problem = f"command '{' '.join(words)}' exited with {result.code}: {errors}"
    text = f"Exec lifecycle hook ([{' '.join(words)}]) {failed} {problem}, message: {quote(output)}"
    return HookOutcome(text, result.seconds)


def _get(pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, action: ReadOnlyObject) -> str:
    """Return why a server of the container cannot be reached; its response does not matter."""
    server = None if action.get("host") else find_server(pod, container, start)
    port = find_port(container, action.get("port", 0))
    if server is None or port in server.ports:
        return ""
    address, scheme = format_address(pod, port), (action.get("scheme") or "HTTP").lower()
    path = f"/{(action.get('path') or '/').removeprefix('/')}"
    return f'Get "{scheme}://{address}{path}": dial tcp {address}: connect: connection refused'
