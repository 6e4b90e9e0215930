"""Checks of the machine on which mockkube runs; each failed one names the command that helps."""

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from importlib.util import find_spec
from typing import Final

from mockkube.cluster.configuration.cluster_configuration import DEFAULT_PORT
from mockkube.cluster.state.state_directory import StateDirectory, state_root
from mockkube.features.versions import DEFAULT, Version
from mockkube.lazy_dataclasses import dataclass

PYTHON_MIN: Final = (3, 11)
FREE_MIB_MIN: Final = 200
FILES_MIN: Final = 1024
# https://kubernetes.io/releases/version-skew-policy/#kubectl
_KUBECTL_SKEW_MAX: Final = 1
_KUBECTL_SECONDS: Final = 10
_MIB: Final = 1024 * 1024
# Modules of wheels with compiled parts: without them requests take several times as long, or nothing starts.
_COMPILED: Final[Mapping[str, str]] = {
    "aiohttp": "aiohttp._http_parser",
    "cryptography": "cryptography.hazmat.bindings._rust",
    "google-re2": "re2._re2",
    "multidict": "multidict._multidict",
    "orjson": "orjson.orjson",
    "PyYAML": "yaml._yaml",
    "uvloop": "uvloop.loop",
    "yarl": "yarl._quoting_c",
}
_KUBECTL_URL: Final = "https://dl.k8s.io/release/v{version}.0/bin/{system}/{machine}/kubectl"


class CheckStatus(StrEnum):
    """Outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    """Something works worse, or not at all, that not everybody needs."""
    FAILED = "failed"
    """`mockkube up` does not start."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Outcome of one check, and the command that helps."""

    name: str
    status: CheckStatus
    message: str
    remedy: str = ""


Environment = Mapping[str, str]


def run_checks(environment: Environment) -> Iterator[CheckResult]:
    """Yield the results of all checks."""
    for name, check in CHECKS.items():
        try:
            status, message, remedy = check(environment)
        except OSError as error:
            status, message, remedy = CheckStatus.FAILED, str(error), "mockkube up --log-level debug"
        yield CheckResult(name, status, message, remedy)


_Outcome = tuple[CheckStatus, str, str]


def _ok(message: str) -> _Outcome:
    return CheckStatus.OK, message, ""


def _warning(message: str, remedy: str) -> _Outcome:
    return CheckStatus.WARNING, message, remedy


def _failed(message: str, remedy: str) -> _Outcome:
    return CheckStatus.FAILED, message, remedy


def check_python(environment: Environment) -> _Outcome:
    """Check the version of Python."""
    shown = f"{sys.implementation.name} {sys.version.partition(' ')[0]} at {sys.executable}"
    if sys.version_info[:2] < PYTHON_MIN:
        wanted = ".".join(map(str, PYTHON_MIN))
        return _failed(f"{shown}, too old", f"uv venv --python {wanted} && uv pip install /path/to/mockkube")
    return _ok(shown)


def check_compiled_packages(environment: Environment) -> _Outcome:
    """Check that packages with compiled parts have them."""
    missing = [package for package, module in _COMPILED.items() if not _is_installed(module)]
    if missing:
        command = f"{sys.executable} -m pip install --force-reinstall --only-binary :all: {' '.join(missing)}"
        return _warning(f"without compiled parts: {', '.join(missing)}", command)
    return _ok(f"{len(_COMPILED)} packages with their compiled parts")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def check_port(environment: Environment) -> _Outcome:
    """Check that the default port is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", DEFAULT_PORT))
        except OSError:
            running = _find_own_cluster(environment)
            if running:
                return _ok(f"{DEFAULT_PORT} is that of the running cluster {running!r}")
            return _warning(f"{DEFAULT_PORT} is in use", "mockkube up --port 0")
    return _ok(f"{DEFAULT_PORT} is free")


def _find_own_cluster(environment: Environment) -> str:
    """Return the running cluster of this user at the default port; empty if there is none."""
    from mockkube.cluster.state.state_directory import RunningRecord

    root = state_root(environment)
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        directory = StateDirectory(path)
        record = RunningRecord.read(directory)
        if record is not None and record.pid == directory.find_holder_pid() and f":{DEFAULT_PORT}" in record.url:
            return directory.name
    return ""


def check_kubectl(environment: Environment) -> _Outcome:
    """Check that there is a kubectl whose version goes with the default one."""
    path = shutil.which("kubectl", path=environment.get("PATH"))
    if path is None:
        return _warning(
            "not found; mockkube test, explore, demo and the Python API work without it", _install_kubectl()
        )
    try:
        command = [path, "version", "--client", "-o", "json"]
        done = subprocess.run(command, capture_output=True, timeout=_KUBECTL_SECONDS, check=False)
        given = json.loads(done.stdout)["clientVersion"]["gitVersion"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return _warning(f"{path} does not say which version it is", _install_kubectl())
    match = re.match(r"v?(\d+)\.(\d+)", given)
    if match is None:
        return _warning(f"{path} has the unknown version {given}", _install_kubectl())
    version = Version(int(match[1]), int(match[2]))
    if version.major != DEFAULT.major or abs(version.minor - DEFAULT.minor) > _KUBECTL_SKEW_MAX:
        return _warning(
            f"{given} at {path}: Kubernetes supports one minor version of difference, the default here is {DEFAULT}",
            _install_kubectl(),
        )
    return _ok(f"{given} at {path}")


def _install_kubectl() -> str:
    system = "darwin" if sys.platform == "darwin" else "linux"
    machine = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    url = _KUBECTL_URL.format(version=DEFAULT, system=system, machine=machine)
    return f"curl -fLo kubectl {url} && chmod +x kubectl"


def check_kubeconfig(environment: Environment) -> _Outcome:
    """Check that the kubeconfig can be read, and that its current cluster answers."""
    from mockkube.cli.live_cluster import kubectl_paths, require_listener
    from mockkube.client import kubeconfig
    from mockkube.cluster.configuration.errors import StartError

    paths = kubectl_paths(environment)
    shown = os.pathsep.join(map(str, paths))
    if not any(path.exists() for path in paths):
        return _ok(f"none at {shown}; 'mockkube up' prints the line to export")
    try:
        context = kubeconfig.find_current_context(paths)
        if not context:
            return _ok(f"{shown} has no current context")
        config = kubeconfig.load_merged(paths)
        require_listener(config.server, context)
    except kubeconfig.KubeconfigError as error:
        return _warning(str(error), 'export KUBECONFIG="$(mockkube kubeconfig --path)"')
    except StartError as error:
        return _warning(f"context {context}: {str(error).partition(':')[0]}", "mockkube up --port 0")
    return _ok(f"context {context} of {shown}: {config.server} answers")


def check_state_directory(environment: Environment) -> _Outcome:
    """Check that clusters can keep their state."""
    root = state_root(environment)
    existing = next(path for path in (root, *root.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return _failed(f"{root} cannot be written", "export XDG_STATE_HOME=/tmp/mockkube-state")
    free = shutil.disk_usage(existing).free // _MIB
    if free < FREE_MIB_MIN:
        return _warning(f"{root}: {free} MiB free, less than {FREE_MIB_MIN}", "mockkube up --ephemeral")
    return _ok(f"{root}, {free // 1024} GiB free")


def check_temporary_directory(environment: Environment) -> _Outcome:
    """Check that tests can have temporary clusters."""
    try:
        with tempfile.TemporaryDirectory(prefix="mockkube-doctor-"):
            return _ok(tempfile.gettempdir())
    except OSError as error:
        return _failed(f"no temporary directory: {error.strerror}", "export TMPDIR=$HOME/tmp && mkdir -p $TMPDIR")


def check_open_files(environment: Environment) -> _Outcome:
    """Check that enough files may be open: each watch needs one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES_MIN:
        return _warning(
            f"{hard} open files at most, fewer than {FILES_MIN}", f"sudo prlimit --pid $$ --nofile={FILES_MIN}"
        )
    return _ok("unlimited" if hard == resource.RLIM_INFINITY else f"up to {hard}")


def check_browser(environment: Environment) -> _Outcome:
    """Check that `mockkube ui` can open a browser."""
    if sys.platform == "darwin" or environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"):
        return _ok("a desktop is there")
    return _warning("no desktop here: mockkube ui cannot open a browser", "mockkube ui --print")


CHECKS: Final[Mapping[str, Callable[[Environment], _Outcome]]] = {
    "python": check_python,
    "packages": check_compiled_packages,
    "port": check_port,
    "kubectl": check_kubectl,
    "kubeconfig": check_kubeconfig,
    "state": check_state_directory,
    "temporary": check_temporary_directory,
    "open files": check_open_files,
    "browser": check_browser,
}
