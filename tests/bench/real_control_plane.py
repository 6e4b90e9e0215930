"""The real etcd, kube-apiserver and kube-scheduler, measured beside mockkube on the same machine.

`--real DIR` of `run.py` and `scheduling.py` names a directory with these three executables. Their data is in a
directory in memory where there is one: mockkube's store is in memory, too.
"""

import os
import secrets
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
START_SECONDS_MAX = 60.0
MEMORY = "/dev/shm"


class RealControlPlane:
    """etcd and kube-apiserver, and kube-scheduler if it is wanted, with a state directory of their own."""

    def __init__(
        self, programs: Path, *, scheduler: bool = False, flags: Sequence[str] = (), scheduler_flags: Sequence[str] = ()
    ) -> None:
        """Start the programs; `flags` are flags of kube-apiserver, `scheduler_flags` those of kube-scheduler."""
        self._temporary = tempfile.TemporaryDirectory(dir=MEMORY if Path(MEMORY).is_dir() else None)
        self._programs, self._folder = programs, Path(self._temporary.name)
        folder = self._folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.token = secrets.token_hex(16)
        client, peer, secure = (free_port() for _ in range(3))
        self.url = f"https://127.0.0.1:{secure}"
        self._write_files()
        self.began = time.perf_counter()
        etcd_url = f"http://127.0.0.1:{client}"
        peer_url = f"http://127.0.0.1:{peer}"
        self._start(
            "etcd", "--data-dir", str(folder / "etcd"), "--listen-client-urls", etcd_url,
            "--advertise-client-urls", etcd_url, "--listen-peer-urls", peer_url,
            "--initial-advertise-peer-urls", peer_url, "--initial-cluster", f"default={peer_url}",
        )  # fmt: skip
        self._start(
            "kube-apiserver", "--etcd-servers", etcd_url, "--bind-address", "127.0.0.1", "--secure-port", str(secure),
            "--cert-dir", str(folder / "certificates"), "--token-auth-file", str(folder / "tokens.csv"),
            "--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24",
            "--service-account-issuer", "https://kubernetes.default.svc",
            "--service-account-key-file", str(folder / "sa.key"),
            "--service-account-signing-key-file", str(folder / "sa.key"), *flags,
        )  # fmt: skip
        self._wait_until_ready()
        self.seconds = time.perf_counter() - self.began
        if scheduler:
            self._start(
                "kube-scheduler", "--config", str(folder / "scheduler.yaml"),
                "--secure-port", str(free_port()), "--cert-dir", str(folder / "certificates"),
                "--authentication-skip-lookup=true", "--bind-address", "127.0.0.1", *scheduler_flags,
            )  # fmt: skip

    def _write_files(self) -> None:
        (self._folder / "tokens.csv").write_text(f'{self.token},admin,admin,"system:masters"\n')
        subprocess.run(
            ["openssl", "genrsa", "-out", str(self._folder / "sa.key"), "2048"], check=True, capture_output=True
        )
        (self._folder / "kubeconfig").write_text(
            f"""apiVersion: v1
kind: Config
clusters: [{{name: real, cluster: {{server: "{self.url}", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {self.token}}}}}]
contexts: [{{name: real, context: {{cluster: real, user: admin}}}}]
current-context: real
"""
        )
        # As in scheduler_perf: by default the client sends 50 requests a second.
        (self._folder / "scheduler.yaml").write_text(
            f"""apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: {self._folder / "kubeconfig"}, qps: 5000, burst: 5000}}
"""
        )

    def _start(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        log = (self._folder / f"{program}.log").open("wb")
        self._processes.append(subprocess.Popen(command, stdout=log, stderr=log))

    def _wait_until_ready(self) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        request = urllib.request.Request(f"{self.url}/readyz", headers={"Authorization": f"Bearer {self.token}"})
        deadline = self.began + START_SECONDS_MAX
        while time.perf_counter() < deadline:
            try:
                with urllib.request.urlopen(request, context=context, timeout=5):
                    return
            except (OSError, urllib.error.HTTPError):
                time.sleep(0.01)
        log = (self._folder / "kube-apiserver.log").read_text()
        self.stop()
        raise SystemExit(f"the real control plane did not start:\n{log[-2000:]}")

    def memory_mb(self) -> int:
        """Return the resident memory of all processes."""
        return sum(_resident_kb(process.pid) for process in self._processes) // 1024

    def cpu_seconds(self) -> float:
        """Return the processor time of all processes."""
        return sum(_cpu_seconds(process.pid) for process in self._processes)

    def stop(self) -> None:
        """End all processes and remove their data."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._temporary.cleanup()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def _resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
