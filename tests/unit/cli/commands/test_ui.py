"""`mockkube ui` as a user types it, with a cluster that runs."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mockkube.cluster.temporary_cluster import make_temporary_configuration, run_temporary_cluster

EXPLORATION: dict[str, Any] = {"plan": "small", "orders": [], "pairs": [], "counterexamples": []}


async def call(*arguments: str) -> tuple[int, str, str]:
    """Return exit code, output and errors of the command in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mockkube.cli", "ui", *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    output, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()


@pytest.mark.heavy
async def test_it_prints_a_link_that_logs_in_and_shows_an_exploration(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(EXPLORATION))
    settings = {"without": ["scheduler", "controllers", "kubelets"]}
    async with run_temporary_cluster(make_temporary_configuration(settings)) as running:
        assert running.ui_link == ""
        arguments = ("--kubeconfig", str(running.kubeconfig), "--print")
        code, output, errors = await call(*arguments, "--exploration", str(file))
        assert (code, errors) == (0, "")
        link = output.strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/ui/#[0-9a-f]{64}", link)
        root = link.partition("#")[0]
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
            async with browser.post(f"{root}login", json={"code": link.partition("#")[2]}) as answer:
                assert answer.status == 200
                key = (await answer.json())["key"]
            async with browser.get(f"{root}exploration", headers={"Mockkube-Ui-Key": key}) as answer:
                assert await answer.json() == EXPLORATION


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("{}", "is no exploration: write one with 'mockkube explore -o json'", id="other JSON"),
        pytest.param('[{"name": "a"}]', "or an atlas of gates with 'mockkube atlas -o json'", id="another list"),
        pytest.param("x", "is no exploration", id="no JSON"),
        pytest.param(None, "No such file", id="no file"),
    ],
)
async def test_a_file_that_is_no_exploration_is_a_mistake(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "result.json"
    if content is not None:
        file.write_text(content)
    code, output, errors = await call("--exploration", str(file))
    assert (code, output) == (2, "")
    assert "--exploration: " in errors
    assert message in errors


@pytest.mark.heavy
async def test_a_cluster_that_does_not_run_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code, _, errors = await call("--name", "absent")
    assert code != 0
    assert "there is no cluster 'absent': start it with 'mockkube up --name absent'" in errors
