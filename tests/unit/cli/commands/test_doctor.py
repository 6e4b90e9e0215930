"""`mockkube doctor`, and each of its checks with something that is missing."""

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mockkube.cli import environment_checks
from mockkube.cli.environment_checks import CHECKS, CheckStatus, check_kubeconfig, check_kubectl, check_state_directory

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Answer

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: mockkube-lab
contexts: [{{name: mockkube-lab, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
"""


def test_each_check_has_its_line(mockkube: Callable[..., "Answer"]) -> None:
    answer = mockkube("doctor")
    assert answer.code == 0
    for name in CHECKS:
        assert f"  {name}: " in answer.out
    remedies = [line for line in answer.out.splitlines() if line.lstrip().startswith("$ ")]
    assert len(remedies) == sum(line.startswith(("warning", "failed")) for line in answer.out.splitlines())


def test_programs_read_json(mockkube: Callable[..., "Answer"]) -> None:
    results = json.loads(mockkube("doctor", "-o", "json").out)
    assert [one["name"] for one in results] == list(CHECKS)
    assert all(one["remedy"] for one in results if one["status"] != "ok")


def test_a_state_directory_that_cannot_be_made_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, message, remedy = check_state_directory({"XDG_STATE_HOME": str(tmp_path / "file")})
    assert status is CheckStatus.FAILED
    assert "cannot be written" in message
    assert remedy.startswith("export XDG_STATE_HOME=")


def test_a_command_that_fails_ends_with_1(
    mockkube: Callable[..., "Answer"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    answer = mockkube("doctor")
    assert answer.code == 1
    assert "failed   state: " in answer.out


@pytest.mark.parametrize(
    ("printed", "status", "message"),
    [
        pytest.param('{"clientVersion": {"gitVersion": "v1.36.2"}}', CheckStatus.OK, "v1.36.2", id="same version"),
        pytest.param('{"clientVersion": {"gitVersion": "v1.37.0"}}', CheckStatus.OK, "v1.37.0", id="one minor version"),
        pytest.param(
            '{"clientVersion": {"gitVersion": "v1.30.1"}}', CheckStatus.WARNING, "one minor version", id="skew"
        ),
        pytest.param(
            '{"clientVersion": {"gitVersion": "main"}}', CheckStatus.WARNING, "unknown version", id="no version"
        ),
        pytest.param("help", CheckStatus.WARNING, "does not say", id="another program"),
    ],
)
def test_the_version_of_kubectl_is_compared(tmp_path: Path, printed: str, status: CheckStatus, message: str) -> None:
    program = tmp_path / "kubectl"
    program.write_text(f"#!{shutil.which('sh')}\necho '{printed}'\n")
    program.chmod(0o755)
    found = check_kubectl({"PATH": str(tmp_path)})
    assert (found[0], message in found[1]) == (status, True)
    assert found[2].startswith("curl -fLo kubectl https://dl.k8s.io/release/v1.36") is (status is not CheckStatus.OK)


def test_a_missing_kubectl_is_a_warning(tmp_path: Path) -> None:
    assert check_kubectl({"PATH": str(tmp_path)})[0] is CheckStatus.WARNING


@pytest.mark.parametrize(
    ("content", "status", "text"),
    [
        pytest.param(None, CheckStatus.OK, "none at", id="no file"),
        pytest.param("clusters: []", CheckStatus.OK, "no current context", id="no context"),
        pytest.param("- a", CheckStatus.WARNING, "", id="malformed"),
        pytest.param(KUBECONFIG, CheckStatus.WARNING, "nothing runs at http", id="cluster that is gone"),
    ],
)
def test_a_kubeconfig_is_read(tmp_path: Path, content: str | None, status: CheckStatus, text: str) -> None:
    path = tmp_path / "config"
    if content is not None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            path.write_text(content.format(port=free.getsockname()[1]) if "{port}" in content else content)
    found = check_kubeconfig({"KUBECONFIG": str(path)})
    assert (found[0], text in found[1]) == (status, True), found
    assert bool(found[2]) is (status is not CheckStatus.OK)


def test_a_port_in_use_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(environment_checks, "DEFAULT_PORT", taken.getsockname()[1])
        found = environment_checks.check_port({"XDG_STATE_HOME": str(tmp_path)})
    assert (found[0], found[2]) == (CheckStatus.WARNING, "mockkube up --port 0")


def test_packages_of_this_environment_are_compiled() -> None:
    assert environment_checks.check_compiled_packages(os.environ)[0] is CheckStatus.OK
