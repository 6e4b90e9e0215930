"""Kills every process of a replicated control plane once while pods are created: each is bound once, and runs once.

Three etcd members, three API servers behind a load balancer, two schedulers, two controller managers and two processes
of kubelets. Half of the pods are created directly, half by Deployments. A watch records every change of a pod.

In the end both leaders are killed once more, at the same time. A standby that knows of the leader must take over in
time whenever a leader is killed.
"""

# ruff: noqa: ASYNC110 - processes have no events

import argparse
import asyncio
import json
import os
import random
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

ROOT: Final = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.contract.store.etcd_cluster import Member  # noqa: E402 - after the path that finds it

PODS: Final = 10_000
PODS_PER_NODE: Final = 80
DEPLOYMENTS: Final = 10
WRITERS: Final = 16
KILL_SECONDS: Final = (2.0, 6.0)
"""Time between two kills."""
DOWN_SECONDS: Final = (0.5, 3.0)
"""Time between a kill and the next start."""
SETTLE_SECONDS_MAX: Final = 900
START_SECONDS_MAX: Final = 120
TAKEOVER_SECONDS_MAX: Final = 17.0
"""Time from the kill of a leader to the next one: 15 s, the duration of the Lease, and 2 s for a busy machine."""
STANDBY_SECONDS_MAX: Final = 60
LEASES: Final = {"scheduler": "kube-scheduler", "controllers": "kube-controller-manager"}
"""Lease of each kind of process that elects a leader."""
SECRET: Final = "0123456789abcdef0123"
GONE: Final = (aiohttp.ClientError, OSError, TimeoutError)
CREATED: Final = (201, 409)


@dataclass(slots=True)
class Process:
    """One process of the control plane; it may be killed and started again."""

    name: str
    command: Sequence[str]
    home: Path
    ready_file: Path | None = None
    """File that an API server writes when it is ready."""
    process: subprocess.Popen[bytes] | None = None
    log_offset: int = 0
    """Where the log of the last start begins."""

    def start(self) -> None:
        """Start the process; what it logs is appended to its log."""
        if self.ready_file is not None:
            self.ready_file.unlink(missing_ok=True)  # that of a killed process
        environment = {**os.environ, "XDG_STATE_HOME": str(self.home / "state"), "MOCKKUBE_CLUSTER_KEY": SECRET}
        with (self.home / f"{self.name}.log").open("ab") as log:
            self.log_offset = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mockkube.cli", *self.command],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def kill(self) -> None:
        """End the process with SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def read_ready_file(self) -> dict[str, Any] | None:
        """Return what an API server has written when it was ready; None before."""
        try:
            return dict(json.loads(self.ready_file.read_text())) if self.ready_file is not None else None
        except FileNotFoundError:
            return None

    def has_logged(self, text: str) -> bool:
        """Return whether a text is in the log of the last start."""
        return text.encode() in (self.home / f"{self.name}.log").read_bytes()[self.log_offset :]

    def find_trouble(self) -> str:
        """Return the exit code if the process has ended by itself, or the first traceback in its log."""
        text = (self.home / f"{self.name}.log").read_text(errors="replace")
        if self.process is not None and self.process.poll() is not None:
            return f"{self.name} ended with exit code {self.process.returncode}: {text[-2000:]}"
        found = text.find("Traceback")
        return "" if found < 0 else f"{self.name}: {text[max(found - 300, 0) : found + 2000]}"


class LoadBalancer:
    """Forwards each connection to an API server that accepts it."""

    def __init__(self, servers: Sequence[Process], chance: random.Random) -> None:
        self._servers, self._chance = servers, chance
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        """Listen; return the port."""
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """End all connections."""
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(asyncio.CancelledError):
            for server in self._chance.sample(self._servers, len(self._servers)):
                # Each start has another port: one that was given up may be in use.
                if (ready := server.read_ready_file()) is None:
                    continue
                port = int(ready["url"].rpartition(":")[2])
                with suppress(OSError):
                    server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
                    await asyncio.gather(_copy(reader, server_writer), _copy(server_reader, writer))
                    server_writer.transport.abort()
                    break
        writer.transport.abort()
        self._tasks.discard(task)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    # The other direction ends too: half a connection is of no use to HTTP.
    writer.transport.abort()


@dataclass(slots=True)
class Record:
    """What the watch has seen of pods and Leases."""

    nodes: dict[str, str] = field(default_factory=dict)
    """Node of each pod by uid."""
    names: dict[str, str] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    holders: dict[str, str] = field(default_factory=dict)
    killed_at: dict[str, float] = field(default_factory=dict)
    """Time of the kill of the holder, by Lease."""
    takeovers: dict[str, list[float]] = field(default_factory=dict)
    """Seconds from the kill of the leader to the next one, by Lease."""

    def note_pod(self, kind: str, pod: dict[str, Any]) -> None:
        """Compare the pod with what was seen before."""
        metadata, status = pod["metadata"], pod.get("status") or {}
        uid, name = metadata["uid"], metadata["name"]
        node, phase = pod["spec"].get("nodeName", ""), status.get("phase", "")
        if kind == "DELETED":
            self.wrong.append(f"pod {name} was deleted")
        if (known := self.nodes.get(uid, "")) and node != known:
            self.wrong.append(f"pod {name} was on {known}, and is on {node or 'no node'}")
        if self.phases.get(uid) == "Running" and phase != "Running":
            self.wrong.append(f"pod {name} was Running, and is {phase}")
        restarts = sum(one.get("restartCount", 0) for one in status.get("containerStatuses") or ())
        if restarts:
            self.wrong.append(f"a container of pod {name} was restarted")
        self.nodes[uid], self.phases[uid], self.names[uid] = node, phase, name

    def note_lease(self, lease: dict[str, Any]) -> None:
        """Note who holds a Lease, and how long nobody did."""
        name, holder = lease["metadata"]["name"], (lease.get("spec") or {}).get("holderIdentity") or ""
        known = self.holders.get(name, "")
        if holder and known and holder != known and name in self.killed_at:
            self._note_takeover(name, time.monotonic() - self.killed_at.pop(name))
        self.holders[name] = holder or known

    def _note_takeover(self, name: str, seconds: float) -> None:
        self.takeovers.setdefault(name, []).append(seconds)
        if seconds > TAKEOVER_SECONDS_MAX:
            self.wrong.append(
                f"{name} had no leader for {seconds:.1f} s after a kill, {TAKEOVER_SECONDS_MAX:.0f} s allowed"
            )


class Watcher:
    """Watches one collection through the load balancer, and continues where a connection ended."""

    def __init__(self, api: "Api", path: str, note: Callable[[str, dict[str, Any]], None]) -> None:
        self._api, self._path, self._note = api, path, note
        self._version = ""

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                if not self._version:
                    answer = await self._api.send("GET", self._path)
                    for obj in answer["items"]:
                        self._note("ADDED", obj)
                    self._version = answer["metadata"]["resourceVersion"]
                await self._watch()
            except GONE:
                await asyncio.sleep(0.1)

    async def _watch(self) -> None:
        query = f"?watch=1&allowWatchBookmarks=true&resourceVersion={self._version}"
        limit = aiohttp.ClientTimeout(total=None)
        async with self._api.session.get(self._api.url + self._path + query, timeout=limit) as answer:
            if answer.status == 410:
                self._version = ""
            buffer = b""
            async for chunk in answer.content.iter_any():
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        self._version = ""
                        return
                    self._version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._note(event["type"], event["object"])


@dataclass(slots=True)
class Api:
    """Requests to the API servers through the load balancer."""

    url: str
    session: aiohttp.ClientSession

    async def send(self, method: str, path: str, body: object = None) -> Any:
        """Return the answer; raise one of GONE if there is none."""
        limit = aiohttp.ClientTimeout(total=30)
        async with self.session.request(method, self.url + path, json=body, timeout=limit) as answer:
            obj = await answer.json()
            if answer.status >= 500 or answer.status == 429:
                raise aiohttp.ClientPayloadError(f"status {answer.status}")
            if answer.status >= 400 and answer.status not in CREATED:
                raise AssertionError(f"{method} {path}: {answer.status} {str(obj)[:300]}")
            return obj

    async def send_until_done(self, method: str, path: str, body: object = None) -> Any:
        """Repeat the request until it has an answer; one of them may have taken effect without."""
        while True:
            try:
                return await self.send(method, path, body)
            except GONE:
                await asyncio.sleep(0.1)


@dataclass(slots=True)
class Trial:
    """A replicated control plane, its load and its kills."""

    home: Path
    pods: int
    chance: random.Random
    record: Record = field(default_factory=Record)
    members: list[Member] = field(default_factory=list)
    servers: list[Process] = field(default_factory=list)
    components: list[Process] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        """Print a line with the time."""
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    async def run(self) -> None:
        """Start everything, load and kill it, then wait until it rests."""
        async with AsyncExitStack() as stack:
            api = await self._start(stack)
            async with asyncio.TaskGroup() as group:
                watchers = [
                    group.create_task(Watcher(api, "/api/v1/pods", self.record.note_pod).run()),
                    group.create_task(
                        Watcher(
                            api,
                            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                            lambda kind, lease: self.record.note_lease(lease),
                        ).run()
                    ),
                ]
                load = group.create_task(self._load(api))
                await self._kill_all()
                await self._kill_leaders()
                await load
                self.say("all pods are created")
                await self._settle(api)
                for watcher in watchers:
                    watcher.cancel()
            for process in (*self.servers, *self.components):
                if trouble := process.find_trouble():
                    self.record.wrong.append(trouble)

    # Processes

    async def _start(self, stack: AsyncExitStack) -> Api:
        self.members += [Member(f"m{number}", self.home / f"m{number}") for number in range(3)]
        names = self._cluster_names()
        for member in self.members:
            member.start(names)
            stack.callback(member.kill)
        await asyncio.gather(*[member.wait_until_serving() for member in self.members])
        database = "etcd://" + ",".join(f"127.0.0.1:{member.client_port}" for member in self.members)
        balancer = LoadBalancer(self.servers, self.chance)
        port = await balancer.start()
        stack.push_async_callback(balancer.close)
        ready: dict[str, Any] = {}
        for number in range(3):
            ready_file = self.home / f"ready-{number}.json"
            server = Process(
                f"api-{number}",
                ["up", "--name", f"api-{number}", "--join", "--db", database, "--port", "0",
                 "--without", "scheduler,controllers,kubelets", "--ready-file", str(ready_file)],
                self.home,
                ready_file,
            )  # fmt: skip
            self.servers.append(server)
            server.start()
            stack.callback(server.kill)
        for server in self.servers:
            ready = await self._wait_until_ready(server)
        url = f"https://127.0.0.1:{port}"
        self._write_kubeconfig(url, ready)
        self._start_components(stack)
        self.say("all processes are started")
        trust = ssl.create_default_context(cafile=ready["caFile"])
        session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {ready['token']}"}, connector=aiohttp.TCPConnector(ssl=trust, limit=0)
        )
        return Api(url, await stack.enter_async_context(session))

    def _cluster_names(self) -> str:
        return ",".join(f"{one.name}=http://127.0.0.1:{one.peer_port}" for one in self.members)

    async def _wait_until_ready(self, server: Process) -> dict[str, Any]:
        async with asyncio.timeout(START_SECONDS_MAX):
            while (ready := server.read_ready_file()) is None:
                assert not (trouble := server.find_trouble()), trouble
                await asyncio.sleep(0.05)
        return ready

    def _write_kubeconfig(self, url: str, ready: dict[str, Any]) -> None:
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority": ready["caFile"]}}],
            "users": [{"name": "u", "user": {"token": ready["token"]}}],
        }
        (self.home / "kubeconfig").write_text(json.dumps(document))

    def _start_components(self, stack: AsyncExitStack) -> None:
        nodes = self.pods // PODS_PER_NODE + 2
        kinds = {"scheduler": [], "controllers": [], "kubelets": ["--nodes", str(nodes)]}
        for kind, more in kinds.items():
            for number in range(2):
                command = [kind, "--kubeconfig", str(self.home / "kubeconfig"), "--log-level", "info", *more]
                process = Process(f"{kind}-{number}", command, self.home)
                self.components.append(process)
                process.start()
                stack.callback(process.kill)

    # Load and kills

    async def _load(self, api: Api) -> None:
        names = iter([f"pod-{number}" for number in range(self.pods - self.pods // 2)])
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITERS):
                group.create_task(self._create_pods(api, names))
            group.create_task(self._create_deployments(api))

    async def _create_pods(self, api: Api, names: Any) -> None:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        for name in names:
            await api.send_until_done(
                "POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": name}, "spec": spec}
            )
            # Not faster than the kills: all of them are to meet pods that are being created.
            await asyncio.sleep(WRITERS * self._kill_seconds / self.pods)

    @property
    def _kill_seconds(self) -> float:
        """Time that all kills take, about."""
        return 12 * (sum(KILL_SECONDS) + sum(DOWN_SECONDS)) / 2

    async def _create_deployments(self, api: Api) -> None:
        for number in range(DEPLOYMENTS):
            labels = {"app": f"d{number}"}
            template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            replicas = self._count_replicas(number)
            spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
            body = {"metadata": {"name": f"d{number}"}, "spec": spec}
            await api.send_until_done("POST", "/apis/apps/v1/namespaces/default/deployments", body)
            await asyncio.sleep(self._kill_seconds / DEPLOYMENTS)

    def _count_replicas(self, number: int) -> int:
        total = self.pods // 2
        return total // DEPLOYMENTS + (number < total % DEPLOYMENTS)

    async def _kill_all(self) -> None:
        """Kill every process once, one after the other, in a random order."""
        victims: list[Member | Process] = [*self.members, *self.servers, *self.components]
        self.chance.shuffle(victims)
        for victim in victims:
            await asyncio.sleep(self.chance.uniform(*KILL_SECONDS))
            self._note_leader(victim)
            victim.kill()
            self.say(f"killed {victim.name}")
            await asyncio.sleep(self.chance.uniform(*DOWN_SECONDS))
            if isinstance(victim, Member):
                victim.start(self._cluster_names())
                await victim.wait_until_serving()
            else:
                victim.start()

    def _note_leader(self, victim: Member | Process) -> None:
        """Note the time of a kill if the victim holds a Lease, and a standby knows that."""
        name = LEASES.get(victim.name.partition("-")[0], "")
        if not isinstance(victim, Process) or not name:
            return
        if self._find_leader(name) is victim:
            if self._has_standby(name):
                self.record.killed_at[name] = time.monotonic()
        elif self.record.killed_at.pop(name, None) is not None:
            # The next process that starts waits for 15 s from then on.
            self.say(f"{victim.name} was the standby that should take over")

    def _find_leader(self, name: str) -> Process | None:
        """Return the process that holds a Lease; None if it is not known, or was killed."""
        holder = self.record.holders.get(name)
        found = (one for one in self._find_candidates(name) if holder and one.has_logged(f"{holder} leads"))
        return next((one for one in found if one.process is not None), None)

    def _has_standby(self, name: str) -> bool:
        """Return whether another process has seen who holds a Lease."""
        known = f"{self.record.holders.get(name)} holds the Lease"
        return any(one.process is not None and one.has_logged(known) for one in self._find_candidates(name))

    def _find_candidates(self, name: str) -> list[Process]:
        return [one for one in self.components if LEASES.get(one.name.partition("-")[0]) == name]

    async def _kill_leaders(self) -> None:
        """Kill both leaders at the same time, and wait until the standbys have taken over."""
        record, names = self.record, LEASES.values()
        with suppress(TimeoutError):
            async with asyncio.timeout(STANDBY_SECONDS_MAX):
                while record.killed_at or not all(
                    self._find_leader(name) and self._has_standby(name) for name in names
                ):
                    await asyncio.sleep(0.1)
        victims = [leader for name in names if (leader := self._find_leader(name)) is not None]
        for victim in victims:
            self._note_leader(victim)
            victim.kill()
            self.say(f"killed {victim.name}, which leads")
        with suppress(TimeoutError):
            async with asyncio.timeout(STANDBY_SECONDS_MAX):
                while record.killed_at:
                    await asyncio.sleep(0.1)
        for victim in victims:
            victim.start()
        record.wrong += [f"{name} has no other leader after a kill" for name in record.killed_at]
        record.wrong += [f"no standby of {name} has taken over" for name in names if name not in record.takeovers]

    # The end

    async def _settle(self, api: Api) -> None:
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while True:
            phases = Counter(self.record.phases.values())
            if phases == {"Running": self.pods}:
                break
            if time.monotonic() > deadline:
                self.record.wrong.append(f"the pods do not come to rest: {dict(phases)}")
                break
            await asyncio.sleep(0.5)
        self.say("all pods are Running")
        await asyncio.sleep(3)
        listed = (await api.send_until_done("GET", "/api/v1/pods"))["items"]
        self._check(listed)

    def _check(self, listed: list[dict[str, Any]]) -> None:
        names = Counter(pod["metadata"]["name"] for pod in listed)
        expected = {f"pod-{number}" for number in range(self.pods - self.pods // 2)}
        if missing := expected - names.keys():
            self.record.wrong.append(f"{len(missing)} pods are lost, like {min(missing)}")
        for number in range(DEPLOYMENTS):
            count = sum(pod["metadata"].get("labels", {}).get("app") == f"d{number}" for pod in listed)
            if count != self._count_replicas(number):
                self.record.wrong.append(f"deployment d{number} has {count} pods, not {self._count_replicas(number)}")
        for pod in listed:
            if pod["spec"].get("nodeName") != self.record.nodes.get(pod["metadata"]["uid"]):
                self.record.wrong.append(f"pod {pod['metadata']['name']} is on another node than the watch says")
        self.say(f"{len(listed)} pods; takeovers after a kill: {self._describe_takeovers()}")

    def _describe_takeovers(self) -> str:
        return ", ".join(
            f"{name} {' and '.join(f'{seconds:.1f} s' for seconds in found)}"
            for name, found in sorted(self.record.takeovers.items())
        )


def main() -> int:
    """Run from the command line; 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=PODS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), given.pods, random.Random(given.seed))
        asyncio.run(trial.run())
    for wrong in trial.record.wrong[:20]:
        print(f"FOUND {wrong}")
    print(f"{len(trial.record.wrong)} findings")
    return 1 if trial.record.wrong else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
