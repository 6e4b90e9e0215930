"""Clients that write to a cluster until it goes away, and note each acknowledgement."""

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from ledger import Ledger, Version, version_of

WRITERS: Final = 8
NAMES_PER_WRITER: Final = 12
WATCHERS: Final = 2
REPLICAS_MAX: Final = 6
LARGE_BYTES: Final = 200_000
SMALL_BYTES: Final = 1_500
SECONDS_MAX: Final = 30
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
LABELS: Final = {"written-by": "chaos"}
SELECTOR: Final = "labelSelector=written-by%3Dchaos"
GONE: Final = (aiohttp.ClientError, OSError, TimeoutError)
"""What a client gets from a server that dies."""


class UnexpectedAnswerError(Exception):
    """An answer that nothing excuses."""


@dataclass(slots=True)
class Load:
    """The clients of one run of a cluster."""

    url: str
    session: aiohttp.ClientSession
    ledger: Ledger
    chance: random.Random
    run: int

    async def send(self, method: str, path: str, body: object = None, media: str = "application/json") -> Any:
        """Return the answer; raise one of GONE if there is none."""
        data = None if body is None else json.dumps(body).encode()
        limit = aiohttp.ClientTimeout(total=SECONDS_MAX)
        async with self.session.request(
            method, self.url + path, data=data, headers={"Content-Type": media}, timeout=limit
        ) as answer:
            if answer.status in (503, 504):
                raise aiohttp.ClientPayloadError(f"status {answer.status}")  # it may have been written, or not
            obj = await answer.json()
            if answer.status >= 400:
                raise UnexpectedAnswerError(f"{method} {path}: {answer.status} {str(obj)[:300]}")
            return obj

    async def list(self) -> tuple[dict[str, Version], int]:
        """Return all objects that the clients have written, and the revision."""
        answer = await self.send("GET", f"{CONFIG_MAPS}?{SELECTOR}")
        return dict(map(version_of, answer["items"])), int(answer["metadata"]["resourceVersion"])

    async def work(self, revision: int) -> None:
        """Write and watch until the server goes away."""
        async with asyncio.TaskGroup() as group:
            for writer in range(WRITERS):
                group.create_task(self._write(writer))
            for _ in range(WATCHERS):
                group.create_task(self._watch(revision))
            group.create_task(self._scale())

    async def _write(self, writer: int) -> None:
        with _until_gone():
            for number in range(1_000_000):
                name = f"object-{writer}-{self.chance.randrange(NAMES_PER_WRITER)}"
                await self._write_one(name, f"run {self.run} writer {writer} write {number} ")

    async def _write_one(self, name: str, content: str) -> None:
        path, before = f"{CONFIG_MAPS}/{name}", self.ledger.version(name)
        content += "x" * (LARGE_BYTES if self.chance.random() < 0.02 else SMALL_BYTES)
        obj: dict[str, Any] = {"metadata": {"name": name, "labels": LABELS}, "data": {"content": content}}
        choice = self.chance.random()
        if before.content is not None and choice < 0.2:
            self.ledger.begin(name, None)
            await self.send("DELETE", path)
            self.ledger.acknowledge(name, before.revision)
            return
        self.ledger.begin(name, content)
        if before.content is None:
            answer = await self.send("POST", CONFIG_MAPS, obj)
        elif choice < 0.5:
            obj["metadata"]["resourceVersion"] = str(before.revision)
            answer = await self.send("PUT", path, obj)
        else:
            answer = await self.send("PATCH", path, {"data": obj["data"]}, "application/merge-patch+json")
        self.ledger.acknowledge(name, int(answer["metadata"]["resourceVersion"]))

    async def _watch(self, revision: int) -> None:
        path = f"{self.url}{CONFIG_MAPS}?watch=1&{SELECTOR}&resourceVersion={revision}"
        with _until_gone():
            async with self.session.get(path, timeout=aiohttp.ClientTimeout(total=None)) as answer:
                buffer = b""
                async for chunk in answer.content.iter_any():
                    *lines, buffer = (buffer + chunk).split(b"\n")
                    for line in lines:
                        self._note(json.loads(line))

    def _note(self, event: dict[str, Any]) -> None:
        """Note what was seen of a write that has no answer yet; the content tells which write it was."""
        name, version = version_of(event["object"])
        pending = self.ledger.unanswered.get(name, "")
        if event["type"] == "DELETED":
            if name in self.ledger.unanswered and pending is None:
                self.ledger.observe(name, version.revision)
        elif pending == version.content:
            self.ledger.observe(name, version.revision)

    async def _scale(self) -> None:
        """Give the components work: a deployment that changes its size again and again."""
        with _until_gone():
            for number in range(1_000_000):
                await self.scale(number % REPLICAS_MAX)
                await asyncio.sleep(0.05)

    async def scale(self, replicas: int) -> None:
        """Create the deployment, or change its size."""
        labels = {"app": "chaos"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        try:
            await self.send(
                "PATCH", f"{DEPLOYMENTS}/chaos", {"spec": {"replicas": replicas}}, "application/merge-patch+json"
            )
        except UnexpectedAnswerError:
            await self.send("POST", DEPLOYMENTS, {"metadata": {"name": "chaos"}, "spec": spec})

    async def is_settled(self, replicas: int) -> bool:
        """Return whether the deployment has exactly as many pods as it should, all of them ready."""
        deployment = await self.send("GET", f"{DEPLOYMENTS}/chaos")
        pods = (await self.send("GET", "/api/v1/namespaces/default/pods?labelSelector=app%3Dchaos"))["items"]
        running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
        ready = deployment.get("status", {}).get("readyReplicas", 0)
        return len(pods) == len(running) == ready == replicas


@contextmanager
def _until_gone() -> Iterator[None]:
    try:
        yield
    except GONE:
        return
