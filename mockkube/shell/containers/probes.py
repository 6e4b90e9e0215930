"""Outcome of one probe of a container: its command is interpreted, a known server responds, all else succeeds.

upstream 1.36: pkg/kubelet/prober/prober.go, pkg/probe/{exec,http,tcp,grpc}
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.environment import ConfigError, build_environment
from mockkube.shell.containers.interpreter import find_change_times, find_files
from mockkube.shell.containers.processes import Process, ProcessState, is_executable
from mockkube.shell.containers.servers import HttpRequest, Server, find_server

_OUTPUT_MAX: Final = 10 * 1024
_REDIRECTS_MAX: Final = 10
_DEFAULT_PORTS: Final = {"HTTP": 80, "HTTPS": 443}
_DIGITS: Final = re.compile(r"\d+$")


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """Outcome of a probe, its report, and when the next one may have another outcome.

    `changes_at` is in seconds since the container's start; None if time alone changes nothing.
    """

    succeeded: bool = True
    output: str = ""
    changes_at: float | None = None
    warning: str = ""


_UNKNOWN_OUTCOME: Final = ProbeOutcome()


def run_probe(
    pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, probe: ReadOnlyObject, seconds: float
) -> ProbeOutcome:
    """Probe a container so many seconds after its start."""
    try:
        if (action := probe.get("exec")) is not None:
            return _run_command(pod, container, start, action.get("command") or (), probe, seconds)
        server = find_server(pod, container, start)
        if server is None:
            return _UNKNOWN_OUTCOME
        if (action := probe.get("httpGet")) is not None:
            outcome = _get(pod, container, start, server, action, seconds)
        elif (action := probe.get("tcpSocket")) is not None:
            outcome = _connect(pod, container, server, action)
        else:
            outcome = _check_health(pod, server, probe.get("grpc") or {}, seconds)
    except ConfigError:
        return _UNKNOWN_OUTCOME
    if server.changes_after is not None and seconds <= server.changes_after:
        return replace(outcome, changes_at=server.changes_after)
    return outcome


def _run_command(
    pod: ReadOnlyObject,
    container: ReadOnlyObject,
    start: ContainerStart,
    words: Sequence[str],
    probe: ReadOnlyObject,
    seconds: float,
) -> ProbeOutcome:
    """Run the command of an `exec` probe."""
    if not words or not is_executable(words[0]):
        return _UNKNOWN_OUTCOME
    environment = replace(
        build_environment(pod, container, start), stdin=False, seed=f"{pod['metadata']['uid']}/{seconds}"
    )
    process = Process(words, environment, find_files(pod, container, start, seconds))
    process.input.close(0.0)
    timeout = float(probe.get("timeoutSeconds") or 1)
    result = process.run(timeout)
    changes_at = next((one for one in find_change_times(pod, container, start) if one > seconds), None)
    if result.state is ProcessState.RUNNING:
        shown = " ".join(words)
        return ProbeOutcome(False, f'command timed out: "{shown}" timed out after {timeout:g}s', changes_at)
    if result.state is not ProcessState.EXITED:
        return _UNKNOWN_OUTCOME
    output = "".join(one.text for one in result.printed)[:_OUTPUT_MAX]
    return ProbeOutcome(result.code == 0, output, changes_at)


def find_port(container: ReadOnlyObject, port: int | str) -> int:
    """Return a port by number or name; 0 if there is none of that name."""
    if isinstance(port, int) or _DIGITS.match(port):
        return int(port)
    named = (one["containerPort"] for one in container.get("ports") or () if one.get("name") == port)
    return int(next(named, 0))


def format_address(pod: ReadOnlyObject, port: int) -> str:
    """Return the address of a port of a pod."""
    host = (pod.get("status") or {}).get("podIP") or ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _refuse(address: str) -> str:
    return f"dial tcp {address}: connect: connection refused"


def _get(
    pod: ReadOnlyObject,
    container: ReadOnlyObject,
    start: ContainerStart,
    server: Server,
    action: ReadOnlyObject,
    seconds: float,
) -> ProbeOutcome:
    """Send the request of an `httpGet` probe, and follow redirections on the same host."""
    if action.get("host"):
        return _UNKNOWN_OUTCOME
    scheme, port = action.get("scheme") or "HTTP", find_port(container, action.get("port", 0))
    address, path = format_address(pod, port), f"/{(action.get('path') or '/').removeprefix('/')}"
    url = f"{scheme.lower()}://{address}{path}"
    if port not in server.ports or server.respond is None:
        return ProbeOutcome(False, f'Get "{url}": {_refuse(address)}')
    if (port in server.tls_ports) != (scheme == "HTTPS"):
        mismatch = "http: server gave HTTP response to HTTPS client" if scheme == "HTTPS" else ""
        return ProbeOutcome(False, f'Get "{url}": {mismatch}' if mismatch else "HTTP probe failed with statuscode: 400")
    files = find_files(pod, container, start, seconds)
    for _ in range(_REDIRECTS_MAX):
        response = server.respond(HttpRequest(path, seconds, files, port))
        if not response.location:
            break
        target = urlsplit(response.location)
        # A redirection to another host counts as a success, with a warning.
        if target.hostname not in (None, (pod.get("status") or {}).get("podIP")):
            return ProbeOutcome(True, warning="Probe terminated redirects, Response body: ")
        path = response.location if target.hostname is None else f"{target.path or '/'}?{target.query}"
    else:
        return ProbeOutcome(False, f'Get "{url}": stopped after {_REDIRECTS_MAX} redirects')
    if 200 <= response.status < 400:
        return ProbeOutcome(True, response.body)
    return ProbeOutcome(False, f"HTTP probe failed with statuscode: {response.status}")


def _connect(pod: ReadOnlyObject, container: ReadOnlyObject, server: Server, action: ReadOnlyObject) -> ProbeOutcome:
    """Open the connection of a `tcpSocket` probe."""
    if action.get("host"):
        return _UNKNOWN_OUTCOME
    port = find_port(container, action.get("port", 0))
    return ProbeOutcome() if port in server.ports else ProbeOutcome(False, _refuse(format_address(pod, port)))


def _check_health(pod: ReadOnlyObject, server: Server, action: Mapping[str, object], seconds: float) -> ProbeOutcome:
    """Call the health check of a `grpc` probe."""
    port = int(str(action.get("port") or 0))
    if port != server.grpc_port:
        shown = f"timeout: failed to connect service {format_address(pod, port)!r} within 1s".replace("'", '"')
        return ProbeOutcome(False, f"{shown}: {_refuse(format_address(pod, port))}")
    if (action.get("service") or "") != server.grpc_service:
        return ProbeOutcome(False, "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service")
    if 0 <= server.grpc_healthy_seconds <= seconds:
        return ProbeOutcome(False, 'service unhealthy (responded with "NOT_SERVING")')
    return ProbeOutcome()
