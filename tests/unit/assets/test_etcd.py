"""The etcd executable as a process: start, health, signals, data directory."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mockkube_storage.engines.catalogue import open_store

pytestmark = pytest.mark.heavy  # starts processes

MAIN = "import sys; from mockkube.assets.etcd import main; sys.exit(main(sys.argv[1:]))"


class Etcd(subprocess.Popen[str]):
    """Running process; `log` has the lines that it has written until it was ready."""

    log: list[dict[str, Any]]
    port: int


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", MAIN, *arguments]


def environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
    return own | {"PYTHONPATH": os.pathsep.join(sys.path)}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), env=environment(), capture_output=True, text=True, timeout=60, check=False
    )


@contextmanager
def etcd(directory: Path, *arguments: str, **options: Any) -> Iterator[Etcd]:
    arguments = ("--listen-client-urls=http://127.0.0.1:0", f"--data-dir={directory}", *arguments)
    with Etcd(command(*arguments), env=environment(), stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            assert process.stderr is not None
            process.log = []
            while not process.log or "ready to serve client requests" not in process.log[-1]["msg"]:
                process.log.append(json.loads(process.stderr.readline()))
            (serving,) = [line["msg"] for line in process.log if "serving client traffic" in line["msg"]]
            process.port = int(serving.rpartition(":")[2])
            yield process
        finally:
            process.kill()


def get(process: Etcd, path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{process.port}{path}", timeout=10) as response:
        return json.load(response)


async def test_etcd_serves_a_store_and_keeps_it(tmp_path: Path) -> None:
    with etcd(tmp_path / "data", "--unsafe-no-fsync") as process:
        assert get(process, "/health") == {"health": "true", "reason": ""}
        assert get(process, "/version")["etcdcluster"] == "3.6.0"
        async with open_store(f"mockkube-store://127.0.0.1:{process.port}") as store:
            entry = await store.create("/a", b"1")
        process.kill()
    with etcd(tmp_path / "data") as process:
        async with open_store(f"mockkube-store://127.0.0.1:{process.port}") as store:
            assert await store.get("/a") == entry


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_etcd_ends_by_the_signal_as_the_real_one_does(tmp_path: Path, number: signal.Signals) -> None:
    with etcd(tmp_path) as process:
        store = open_store(f"mockkube-store://127.0.0.1:{process.port}")
        await store.start()
        process.send_signal(number)
        assert process.wait(timeout=30) == -number
        await store.close()


def test_etcd_ends_with_the_test_process_that_started_it(tmp_path: Path) -> None:
    """As under envtest, which starts it as the leader of a process group and may be killed itself."""
    arguments = ["--listen-client-urls=http://127.0.0.1:0", f"--data-dir={tmp_path}"]
    parent = (
        "import subprocess, sys\n"
        "process = subprocess.Popen(sys.argv[1:], process_group=0)\n"
        "print(process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent, *command(*arguments)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert int(process.stdout.readline())
        while "ready to serve client requests" not in process.stderr.readline():
            pass
        process.kill()
        # The pipe ends when the last process that has it ends.
        assert "the parent process has ended" in process.stderr.read()


def test_the_version_is_printed_as_etcd_does() -> None:
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        "etcd Version",
        "Git SHA",
        "Go Version",
        "Go OS/Arch",
    ]
    assert done.stdout.startswith("etcd Version: 3.6.")


def test_help_is_printed() -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  --unsafe-no-fsync" in done.stdout


def test_a_flag_that_cannot_be_parsed_ends_it_with_2() -> None:
    done = run("--data-dir")
    assert (done.returncode, done.stderr) == (2, "flag needs an argument: -data-dir\n")


def test_what_it_cannot_start_with_ends_it_with_1(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    member = tmp_path / "real" / "member"
    member.mkdir(parents=True)
    here = "--listen-client-urls=http://127.0.0.1:0"
    for arguments, said in (
        (["--listen-client-urls=https://127.0.0.1:0"], "serves plain HTTP on TCP only"),
        (["--listen-client-urls=http://192.0.2.1:1"], "listen tcp 192.0.2.1:1: cannot assign requested address"),
        ([here, f"--data-dir={file}"], "File exists"),
        ([here, f"--data-dir={member.parent}"], "has the data of a real etcd, which this one cannot read"),
        ([here, f"--data-dir={tmp_path}", f"--log-outputs={tmp_path}/absent/log"], "--log-outputs"),
    ):
        done = run(*arguments)
        line = json.loads(done.stderr)
        assert (done.returncode, line["level"], said in line["msg"]) == (1, "fatal", True), done.stderr


def test_a_directory_that_another_one_has_open_is_refused(tmp_path: Path) -> None:
    with etcd(tmp_path) as process:
        done = run("--listen-client-urls=http://127.0.0.1:0", f"--data-dir={tmp_path}")
        assert done.returncode == 1
        assert f"process {process.pid} has it open" in done.stderr


def test_warnings_are_logged(tmp_path: Path) -> None:
    with etcd(tmp_path, "--new-flag=1") as process:
        assert (process.log[0]["level"], process.log[0]["msg"]) == ("warn", "unknown flag, ignored: --new-flag")


def test_the_log_may_go_to_a_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with etcd(tmp_path / "data", f"--log-outputs=stderr,{log}") as process:
        process.terminate()
        process.wait(timeout=30)
    assert "ready to serve client requests" in log.read_text()
