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
import time
from pathlib import Path

import aiohttp

from mockkube.cluster.temporary_cluster import make_temporary_configuration, run_temporary_cluster

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
    """Print the figures of one cluster."""
    settings = {"nodes": nodes, "without": ["scheduler", "controllers", "kubelets"], "tls": False, "ui": True}
    async with run_temporary_cluster(make_temporary_configuration(settings)) as running:
        await create_pods(running.url, pods, nodes)
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            "node",
            str(SCRIPT),
            running.ui_link,
            stdout=subprocess.PIPE,
            env={**os.environ, "CHROMIUM": find_chromium()},
        )
        output, _ = await process.communicate()
        print(f"{nodes} nodes, {pods} pods, {time.monotonic() - began:.0f} s: {output.decode()}")


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
