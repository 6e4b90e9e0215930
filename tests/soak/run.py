"""Hours of work in real time: memory, tasks, handles and the store stay as large as they are after the warm-up.

Clients create, change and delete objects in rounds. After each round nothing is left of it but what was there before;
the store is compacted, the garbage collected, and the figures of the process are taken.
"""

import argparse
import asyncio
import itertools
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from churn import APPS, CHURNS, CORE, Churn, Client, settle, template
from growth import find_growth

SUBJECT: Final = Path(__file__).with_name("subject.py")
VIRTUAL_DAY: Final = Path(__file__).with_name("virtual_day.py")
NODES: Final = 10
STANDING_PODS: Final = 200
STANDING_OBJECTS: Final = 1000
ROUND_SECONDS: Final = 60
REQUESTS_PER_SECOND: Final = 50
WARM_UP_SECONDS: Final = 900.0
"""How long caches fill up: the scheduler remembers an event for up to twelve minutes."""
WARM_UP_PART: Final = 0.25
"""Which part of a run of less than an hour warms up."""


@dataclass(slots=True)
class Subject:
    """The process under observation."""

    process: asyncio.subprocess.Process
    home: Path
    ready: dict[str, Any]

    @classmethod
    async def start(cls, home: Path, settings: Mapping[str, Any], *, trace: bool) -> "Subject":
        """Start it and wait until it answers."""
        options = ["-X", "tracemalloc"] if trace else []
        process = await asyncio.create_subprocess_exec(
            sys.executable, *options, str(SUBJECT), str(home), json.dumps(settings),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24,
        )  # fmt: skip
        assert process.stdout is not None
        return cls(process, home, json.loads(await process.stdout.readline()))

    async def measure(self, *, types: bool = False) -> dict[str, Any]:
        """Return the figures of the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"types\n" if types else b"\n")
        sample: dict[str, Any] = json.loads(await self.process.stdout.readline())
        sample["store_bytes"] = self._count_store_bytes()
        return sample

    def _count_store_bytes(self) -> int:
        """Return how much of the database is in use; 0 in memory."""
        path = next(self.home.glob("mockkube/*/cluster.db"), None)
        if path is None:
            return 0
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            pages, free, size = (
                database.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * size)

    async def stop(self) -> int:
        """End the process; return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.process.wait()


@dataclass(slots=True)
class Soak:
    """The rounds on one process."""

    subject: Subject
    client: Client
    churns: Sequence[Churn]
    round_seconds: float
    samples: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    first_judged: int | None = None
    """Number of the first sample after the warm-up."""

    async def prepare(self) -> None:
        """Create what is to stay."""
        for number in range(STANDING_OBJECTS):
            obj = {"metadata": {"name": f"standing-{number}"}, "data": {"a": "b" * 500}}
            await self.client.send("POST", f"{CORE}/configmaps", obj)
        labels = {"app": "standing"}
        spec = {"replicas": STANDING_PODS, "selector": {"matchLabels": labels}, "template": template(labels)}
        await self.client.send("POST", f"{APPS}/deployments", {"metadata": {"name": "standing"}, "spec": spec})

    async def run(self, seconds: float) -> None:
        """Play rounds for so long."""
        began, warm_up = time.monotonic(), min(WARM_UP_SECONDS, WARM_UP_PART * seconds)
        while time.monotonic() - began < seconds:
            # Idle connections are handles and tasks, so they end before these are counted.
            async with self.client.connect(self.subject.ready["token"]):
                await self._play(time.monotonic() + self.round_seconds)
                await settle(self.client, STANDING_PODS)
            passed = time.monotonic() - began
            # Objects in memory are counted twice: at the first sample that is judged, and at the last.
            is_first = passed >= warm_up and self.first_judged is None
            if is_first:
                self.first_judged = len(self.samples)
            self.samples.append(await self.subject.measure(types=is_first or passed >= seconds))
            self.times.append(time.monotonic() - began)
            self._report()

    async def _play(self, until: float) -> None:
        async with asyncio.TaskGroup() as group:
            for churn in self.churns:
                for _ in range(churn.clients):
                    group.create_task(self._repeat(churn, until))

    async def _repeat(self, churn: Churn, until: float) -> None:
        while time.monotonic() < until:
            await churn.turn(self.client)

    def _report(self) -> None:
        one = self.samples[-1]
        print(
            f"{self.times[-1]:.0f} s: {one['rss_kib'] / 1024:.1f} MiB, {one['blocks']} blocks, {one['tasks']} tasks, "
            f"{one['handles']} handles, {one['threads']} threads, store {one['store_bytes'] / 1e6:.1f} MB, "
            f"{one['live_objects']} live objects of {one['live_bytes'] / 1e6:.1f} MB, {self.client.sent} requests",
            flush=True,
        )
        if one["types"]:
            print(f"  live: {one['live']}\n  types: {one['types']}", *one["grown"], sep="\n  ", flush=True)

    def judge(self) -> list[str]:
        """Return what has grown after the warm-up."""
        if self.first_judged is None:
            return ["too few rounds to judge: give it more time"]
        return find_growth(self.times[self.first_judged :], self.samples[self.first_judged :])


async def soak(given: argparse.Namespace) -> list[str]:
    """Run; return what has grown."""
    chosen = [one for one in CHURNS if not given.churn or type(one).__name__ in given.churn.split(",")]
    settings = {"name": "soak", "port": 0, "tls": False, "nodes": NODES, "token": "soak", "ephemeral": given.ephemeral}
    with tempfile.TemporaryDirectory() as folder:
        subject = await Subject.start(Path(folder), settings, trace=given.trace)
        try:
            url, chance = subject.ready["url"], random.Random(given.seed)
            client = Client(url, chance, itertools.count(), given.requests_per_second)
            played = Soak(subject, client, chosen, given.round_seconds)
            async with client.connect(subject.ready["token"]):
                await played.prepare()
            await played.run(given.minutes * 60)
            return played.judge()
        finally:
            await subject.stop()


def main() -> int:
    """Run from the command line; 1 if something has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="in real time; 0: none")
    parser.add_argument("--round-seconds", type=float, default=ROUND_SECONDS)
    parser.add_argument("--requests-per-second", type=float, default=REQUESTS_PER_SECOND)
    parser.add_argument("--churn", default="", help=f"only these: {','.join(type(one).__name__ for one in CHURNS)}")
    parser.add_argument("--ephemeral", action="store_true", help="in memory instead of SQLite")
    parser.add_argument("--trace", action="store_true", help="print where memory that was added is allocated; slow")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--virtual-hours", type=int, default=24, help="in virtual time, afterwards")
    given = parser.parse_args()
    wrong = asyncio.run(soak(given)) if given.minutes else []
    for one in wrong:
        print(f"FOUND {one}", flush=True)
    if given.virtual_hours:
        command = [sys.executable, str(VIRTUAL_DAY), "--hours", str(given.virtual_hours), "--seed", str(given.seed)]
        return max(subprocess.run(command, check=False).returncode, 1 if wrong else 0)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
