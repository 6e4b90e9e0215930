"""Measure the page of a large cluster: first picture, scrolling, memory of the browser.

Needs Chromium, node and the packages of `ui/` (`make ui`).
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import aiohttp

SCRIPT = Path(__file__).parents[2] / "ui" / "tests" / "measure.mjs"
PARALLEL = 32


def make_pod(number: int, nodes: int) -> dict[str, object]:
    spec = {
        "nodeName": f"node-{number % nodes + 1}",
        "containers": [{"name": "main", "image": "registry.example/web:1"}],
    }
    return {"metadata": {"name": f"web-{number}", "labels": {"app": "web"}}, "spec": spec}


async def create_pods(url: str, pods: int, nodes: int) -> None:
    """Create pods that run, four of five, and some that are pending."""
    numbers = iter(range(pods))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=PARALLEL)) as session:

        async def work() -> None:
            for number in numbers:
                path = f"{url}/api/v1/namespaces/default/pods"
                async with session.post(path, json=make_pod(number, nodes)) as answer:
                    assert answer.status == 201, await answer.text()
                if number % 5:
                    merge = {"Content-Type": "application/merge-patch+json"}
                    body = json.dumps({"status": status})
                    async with session.patch(f"{path}/web-{number}/status", data=body, headers=merge) as answer:
                        assert answer.status == 200, await answer.text()

        await asyncio.gather(*(work() for _ in range(PARALLEL)))


async def measure(nodes: int, pods: int) -> None:
    """Print the figures of one cluster, which runs in a process of its own as users have it."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "mockkube.cli", "up", "--port", "0", "--ephemeral", "--no-tls", "--ui"]
        command += ["--nodes", str(nodes), "--without", "scheduler,controllers,kubelets", "--name", "page"]
        environment = {**os.environ, "XDG_STATE_HOME": home}
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, env=environment)
        assert process.stdout is not None
        try:
            lines = [(await process.stdout.readline()).decode().strip() for _ in range(2)]
            while "/ui/#" not in lines[-1]:
                lines.append((await process.stdout.readline()).decode().strip())
            await create_pods(lines[0].rpartition(" ")[2], pods, nodes)
            print(f"{nodes} nodes, {pods} pods: {await run_browser(lines[-1].rpartition(' ')[2])}")
        finally:
            process.terminate()
            await process.wait()


async def run_browser(link: str) -> str:
    """Return the figures that the browser has measured."""
    environment = {**os.environ, "CHROMIUM": find_chromium()}
    process = await asyncio.create_subprocess_exec("node", str(SCRIPT), link, stdout=subprocess.PIPE, env=environment)
    output, _ = await process.communicate()
    return output.decode()


def find_chromium() -> str:
    """Return the path of a browser."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    return found if found is not None else sys.exit("there is no Chromium: install it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20_000)
    given = parser.parse_args()
    asyncio.run(measure(given.nodes, given.pods))
