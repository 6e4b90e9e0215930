"""Clients that create, change and delete objects of all sorts, and leave as many as there were. One class per sort."""

import asyncio
import itertools
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import aiohttp

Object = dict[str, Any]
CORE: Final = "/api/v1/namespaces/default"
APPS: Final = "/apis/apps/v1/namespaces/default"
MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
POLL_SECONDS: Final = 0.1
WAIT_SECONDS_MAX: Final = 120
ADMINISTRATOR: Final = "Authorization"


@dataclass(slots=True)
class Client:
    """Sends requests; answers that report an error are returned like others."""

    url: str
    chance: random.Random
    numbers: "itertools.count[int]"
    requests_per_second: float
    sent: int = 0
    _session: aiohttp.ClientSession | None = None
    _next_at: float = 0.0

    @asynccontextmanager
    async def connect(self, token: str) -> AsyncIterator[None]:
        """Send requests on connections that are closed in the end."""
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=0)) as session:
            self._session = session
            yield

    def name(self, prefix: str) -> str:
        """Return a name that has not been used."""
        return f"{prefix}-{next(self.numbers)}"

    @property
    def session(self) -> aiohttp.ClientSession:
        """The connections that are open."""
        assert self._session is not None
        return self._session

    async def send(self, method: str, path: str, body: object = None, media: str = "application/json") -> Object:
        """Return the answer."""
        self.sent += 1
        await self._wait_for_turn()
        data = None if body is None else json.dumps(body).encode()
        async with self.session.request(
            method, self.url + path, data=data, headers={"Content-Type": media}
        ) as response:
            content = await response.read()
        if response.content_type != "application/json":
            return {"kind": "", "text": content.decode()}
        answer: Object = json.loads(content)
        return answer

    async def _wait_for_turn(self) -> None:
        """Wait until the rate of requests allows one more."""
        # Memory follows the rate, so that of a faster machine would rise with it.
        now = time.monotonic()
        self._next_at = max(self._next_at, now) + 1 / self.requests_per_second
        await asyncio.sleep(self._next_at - now)

    async def items(self, path: str) -> list[Object]:
        """Return the items of a list."""
        return list((await self.send("GET", path))["items"])

    async def wait_until_empty(self, path: str) -> None:
        """Wait until a list has no items."""
        limited = path + ("&" if "?" in path else "?") + "limit=1"
        await self.wait_until(limited, lambda answer: not answer["items"])

    async def wait_until(self, path: str, holds: Callable[[Object], bool]) -> None:
        """Wait until what is found at a path is as it should be."""
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while True:
                if holds(await self.send("GET", path)):
                    return
                await asyncio.sleep(POLL_SECONDS)


def template(labels: Object, image: str = "i:1") -> Object:
    """Return the template of a pod that ends quickly."""
    spec = {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 0}
    return {"metadata": {"labels": labels}, "spec": spec}


class Churn:
    """One sort of life and death of objects."""

    clients: ClassVar[int] = 1
    """How many do it at a time."""

    async def turn(self, client: Client) -> None:
        """Create something, change it, and delete it."""
        raise NotImplementedError


class ConfigMaps(Churn):
    """Objects that are written often, by all ways to write."""

    clients = 2

    async def turn(self, client: Client) -> None:
        """Create, update, patch, apply, delete."""
        name = client.name("config")
        path = f"{CORE}/configmaps/{name}"
        await client.send("POST", f"{CORE}/configmaps", {"metadata": {"name": name}, "data": {"a": "b" * 1000}})
        for number in range(10):
            await client.send("PATCH", path, {"data": {f"key-{number}": "x" * 500}}, MERGE)
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"applied": "y"}}
        await client.send("PATCH", f"{path}?fieldManager={name}&force=true", applied, APPLY)
        await client.send("DELETE", path)


class Deployments(Churn):
    """Rollouts: pods are created, scheduled, run and end."""

    clients = 2

    async def turn(self, client: Client) -> None:
        """Create, scale, roll out, delete."""
        name = client.name("web")
        labels, path = {"app": name}, f"{APPS}/deployments/{name}"
        spec = {"replicas": 5, "selector": {"matchLabels": labels}, "template": template(labels)}
        await client.send("POST", f"{APPS}/deployments", {"metadata": {"name": name}, "spec": spec})
        await self._wait(client, path, 5)
        await client.send("PATCH", path, {"spec": {"replicas": 8}}, MERGE)
        await self._wait(client, path, 8)
        await client.send("PATCH", path, {"spec": {"template": template(labels, "i:2")}}, MERGE)
        await self._wait(client, path, 8)
        await client.send("DELETE", path)
        await client.wait_until_empty(f"{CORE}/pods?labelSelector=app%3D{name}")

    async def _wait(self, client: Client, path: str, replicas: int) -> None:
        def is_rolled_out(obj: Object) -> bool:
            status = obj.get("status", {})
            counts = [status.get(one, 0) for one in ("replicas", "updatedReplicas", "readyReplicas")]
            return counts == [replicas] * 3 and status["observedGeneration"] == obj["metadata"]["generation"]

        await client.wait_until(path, is_rolled_out)


class Namespaces(Churn):
    """Namespaces that take all that is in them along, users included."""

    async def turn(self, client: Client) -> None:
        """Create one with some objects, and delete it."""
        name = client.name("space")
        core = f"/api/v1/namespaces/{name}"
        await client.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        await client.send("POST", f"{core}/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "3", "count/configmaps": "5"}}}
        await client.send("POST", f"{core}/resourcequotas", quota)
        service = {"metadata": {"name": "web"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}
        await client.send("POST", f"{core}/services", service)
        await client.send("POST", f"{core}/serviceaccounts", {"metadata": {"name": "user"}})
        await client.send("POST", f"{core}/serviceaccounts/user/token", {"spec": {}})
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{name}"
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
        await client.send("POST", f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": rules})
        await client.send("POST", f"{core}/pods", {"metadata": {"name": "p"}, **_pod_without_metadata()})
        await client.send("DELETE", f"/api/v1/namespaces/{name}")
        await client.wait_until(f"/api/v1/namespaces/{name}", _is_gone)


def _is_gone(answer: Object) -> bool:
    return answer["kind"] == "Status" and answer["reason"] == "NotFound"


def _pod_without_metadata() -> Object:
    return {"spec": template({})["spec"]}


class Definitions(Churn):
    """Custom resources of ever new kinds."""

    async def turn(self, client: Client) -> None:
        """Define a kind, write objects of it, and remove the kind."""
        kind = client.name("thing").replace("-", "")
        group = "soak.example"
        schema = {
            "type": "object",
            "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"plural": f"{kind}s", "singular": kind, "kind": kind.capitalize()}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        path, objects = f"{definitions}/{kind}s.{group}", f"/apis/{group}/v1/namespaces/default/{kind}s"
        await client.send("POST", definitions, {"metadata": {"name": f"{kind}s.{group}"}, "spec": spec})
        await client.wait_until(objects, lambda answer: answer["kind"].endswith("List"))
        for number in range(5):
            obj = {"apiVersion": f"{group}/v1", "kind": names["kind"], "metadata": {"name": f"o-{number}"}}
            await client.send("POST", objects, {**obj, "spec": {"n": number}})
        await client.send("GET", "/openapi/v2")
        await client.send("DELETE", path)
        await client.wait_until(path, _is_gone)


class Jobs(Churn):
    """Jobs and their pods, and the objects of other controllers."""

    async def turn(self, client: Client) -> None:
        """Create a job, a stateful set, a daemon set and a disruption budget, and delete them."""
        name = client.name("work")
        labels = {"app": name}
        batch = "/apis/batch/v1/namespaces/default/jobs"
        pod = template({})
        pod["spec"]["restartPolicy"] = "Never"
        sets = {"selector": {"matchLabels": labels}, "template": template(labels)}
        paths = {
            batch: {"completions": 2, "parallelism": 2, "template": pod},
            f"{APPS}/statefulsets": {"replicas": 2, "serviceName": "s", **sets},
            f"{APPS}/daemonsets": sets,
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets": {
                "minAvailable": 1,
                "selector": {"matchLabels": labels},
            },
        }
        for path, spec in paths.items():
            await client.send("POST", path, {"metadata": {"name": name}, "spec": spec})
        await asyncio.sleep(1)
        for path in paths:
            await client.send("DELETE", f"{path}/{name}?propagationPolicy=Background")
        for selector in (f"app%3D{name}", f"batch.kubernetes.io/job-name%3D{name}"):
            await client.wait_until_empty(f"{CORE}/pods?labelSelector={selector}")


class Nodes(Churn):
    """Nodes that come, get taints and go, and the claims of a pod that fits nowhere."""

    async def turn(self, client: Client) -> None:
        """Register a node and remove it, beside a pod that waits for another."""
        name = client.name("extra-node")
        await client.send("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        pod = {"metadata": {"name": name}, "spec": {**template({})["spec"], "nodeSelector": {"nowhere": "to-be-found"}}}
        await client.send("POST", f"{CORE}/pods", pod)
        taints = [{"key": "a", "value": "b", "effect": "NoExecute"}]
        await client.send("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": taints}}, MERGE)
        await asyncio.sleep(1)
        await client.send("DELETE", f"{CORE}/pods/{name}?gracePeriodSeconds=0")
        await client.send("DELETE", f"/api/v1/nodes/{name}")


class Watches(Churn):
    """Watches that open, see something, and are dropped, and lists page by page."""

    clients = 2

    async def turn(self, client: Client) -> None:
        """Watch for a moment; read all objects."""
        kind = client.chance.choice(("pods", "configmaps", "events", "nodes"))
        path = f"{CORE}/{kind}" if kind != "nodes" else "/api/v1/nodes"
        client.sent += 1
        try:
            async with (
                asyncio.timeout(client.chance.uniform(0.05, 1)),
                client.session.get(f"{client.url}{path}?watch=1&sendInitialEvents=false") as response,
            ):
                async for _ in response.content.iter_any():
                    continue
        except TimeoutError:
            pass
        more = ""
        while True:
            page = await client.send("GET", f"{path}?limit=200&continue={more}")
            more = page.get("metadata", {}).get("continue", "")
            if not more:
                return


class Mistakes(Churn):
    """Requests that are refused, of strangers, too."""

    async def turn(self, client: Client) -> None:
        """Send some."""
        name = client.name("absent")
        await client.send("GET", f"{CORE}/pods/{name}")
        await client.send("GET", f"/apis/{name}/v1/things")
        await client.send("POST", f"{CORE}/pods", {"metadata": {"name": name}, "spec": {name: 1}})
        await client.send("PATCH", f"{CORE}/configmaps/{name}", {"data": name}, MERGE)
        async with client.session.get(
            f"{client.url}{CORE}/pods", headers={ADMINISTRATOR: f"Bearer {name}", "User-Agent": name}
        ) as response:
            await response.read()
        client.sent += 1
        await asyncio.sleep(POLL_SECONDS)


CHURNS: Final[Sequence[Churn]] = (
    ConfigMaps(),
    Deployments(),
    Namespaces(),
    Definitions(),
    Jobs(),
    Nodes(),
    Watches(),
    Mistakes(),
)


async def settle(client: Client, pods: int) -> None:
    """Wait until the components have brought what is left to rest, and delete the events of what happened."""
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while True:
            phases = [pod["status"].get("phase") for pod in await client.items("/api/v1/pods")]
            if phases == ["Running"] * pods:
                break
            await asyncio.sleep(POLL_SECONDS)
    for namespace in await client.items("/api/v1/namespaces"):
        await client.send("DELETE", f"/api/v1/namespaces/{namespace['metadata']['name']}/events")
