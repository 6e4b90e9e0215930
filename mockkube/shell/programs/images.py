"""The agnhost image of Kubernetes' own tests."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import FileError
from mockkube.shell.machine.machine import ENDLESS, Endless, PastHorizon
from mockkube.shell.programs import mounttest
from mockkube.shell.programs.entrypoints import AGNHOST
from mockkube.shell.programs.program_flags import parse_duration, parse_flags

if TYPE_CHECKING:
    from mockkube.shell.scripts.shell import Shell

_SERVING_SUBCOMMANDS: Final = frozenset(
    {
        "grpc-health-checking", "guestbook", "liveness", "netexec", "nettest", "no-snat-test", "no-snat-test-proxy",
        "porter", "serve-hostname", "test-webserver", "webhook",
    }
)  # fmt: skip
"""Subcommands that serve until they are stopped."""
_METHODS: Final = ("GET", "POST", "PUT")
_NAMESPACES: Final = ("kube-system", "default", "ns")
_LINES_MAX: Final = 4096
_WORD: Final = re.compile(r"\S+")


def is_agnhost(path: str) -> bool:
    """Return whether a path is that of agnhost."""
    return path.rpartition("/")[2] in (AGNHOST, f"{AGNHOST}-2")


def run_agnhost(shell: "Shell", words: Sequence[str]) -> int:
    """Run a subcommand; without one, pause."""
    name, arguments = (words[0], words[1:]) if words else ("pause", ())
    if name in _SERVING_SUBCOMMANDS:
        return _run_until_stopped(shell)
    if name == "entrypoint-tester":
        path = f"/{AGNHOST}" if shell.name == AGNHOST else shell.name
        shell.print(f"[{' '.join((path, *words))}]\n")
        return 0
    if (run := _SUBCOMMANDS.get(name)) is None:
        raise Unsupported
    return run(shell, arguments)


def _run_until_stopped(shell: "Shell") -> int:
    # With a horizon the question is what has been printed until then, without one whether the container ever ends.
    raise Endless if shell.machine.horizon == ENDLESS else PastHorizon


def _run_pause(shell: "Shell", words: Sequence[str]) -> int:
    shell.print("Paused\nSignals registered\n")
    return _run_until_stopped(shell)


def _run_logs_generator(shell: "Shell", words: Sequence[str]) -> int:
    """Print lines like those of an API server, evenly over a time."""
    flags = parse_flags(
        words, {"log-lines-total": "0", "run-duration": "0s"}, {"t": "log-lines-total", "d": "run-duration"}
    )
    total, seconds = int(flags["log-lines-total"]), parse_duration(flags["run-duration"])
    if total <= 0 or seconds <= 0:
        raise Unsupported
    machine = shell.machine
    if total > _LINES_MAX:
        raise Unsupported
    for number in range(total):
        shell.print(f"{_klog_header(shell)}{_generate_line(shell, number)}\n")
        machine.count_steps()
        machine.sleep(seconds / total)
    return 0


def _klog_header(shell: "Shell") -> str:
    moment = shell.machine.current_time()
    time = "0101 00:00:00.000000" if moment is None else f"{moment:%m%d %H:%M:%S.%f}"
    return f"I{time}       1 logs_generator.go:76] "


def _generate_line(shell: "Shell", number: int) -> str:
    draw = shell.machine.random
    method, namespace = _METHODS[draw() % len(_METHODS)], _NAMESPACES[draw() % len(_NAMESPACES)]
    letters = "bcdfghjklmnpqrstvwxz2456789"
    pod = "".join(letters[draw() % len(letters)] for _ in range(3 + draw() % 2))
    return f"{number} {method} /api/v1/namespaces/{namespace}/pods/{pod} {200 + draw() % 400}"


def _read(shell: "Shell", path: str) -> str:
    try:
        text = shell.machine.files.read(path)
    except FileError:
        text = None
    if text is None:
        raise Unsupported
    return text


def _run_etc_hosts(shell: "Shell", words: Sequence[str]) -> int:
    shell.print(f"{_read(shell, '/etc/hosts')}\n")
    return 0


def _resolver_entries(shell: "Shell", name: str) -> list[str]:
    lines = (_WORD.findall(line) for line in _read(shell, "/etc/resolv.conf").splitlines())
    return [word for line in lines if line and line[0] == name for word in line[1:]]


def _run_dns_suffix(shell: "Shell", words: Sequence[str]) -> int:
    shell.print(f"{','.join(_resolver_entries(shell, 'search'))}\n")
    return 0


def _run_dns_server_list(shell: "Shell", words: Sequence[str]) -> int:
    shell.print(f"{','.join(_resolver_entries(shell, 'nameserver'))}\n")
    return 0


def _run_nonewprivs(shell: "Shell", words: Sequence[str]) -> int:
    shell.print(f"Effective uid: {shell.machine.files.user.uid}\n")
    return 0


_SUBCOMMANDS: Final[Mapping[str, Callable[["Shell", Sequence[str]], int]]] = {
    "dns-server-list": _run_dns_server_list,
    "dns-suffix": _run_dns_suffix,
    "etc-hosts": _run_etc_hosts,
    "logs-generator": _run_logs_generator,
    "mounttest": mounttest.run_mounttest,
    "nonewprivs": _run_nonewprivs,
    "pause": _run_pause,
}
