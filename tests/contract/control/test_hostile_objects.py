"""Hostile objects of every kind lie in the store: they stop their own keys only, are shown, and are logged once.

What a server would refuse may still be stored: another version wrote it, or a hand did. So the objects are written
past the server, with each field in turn of a type that it must not have; then ordinary objects must come to what they
are meant for, by the work of every controller, of the scheduler with its plugins and of a kubelet.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mockkube_storage.store import Store

from mockkube.api.catalogue import KINDS, KindInfo
from mockkube.api.schema import Schema, Shape, TypeNode
from mockkube.cluster.api_servers import api_server
from mockkube.cluster.cluster import Cluster
from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.state.state_directory import StateDirectory
from mockkube.features.versions import DEFAULT

Object = dict[str, Any]
WRONG = (5, "x", [[]], {"a": {}}, True, "1e999999999", [None], -1, {"a": [1]}, ["x", "x"], 1e300, "\x00")
"""Values that take turns in a field: each kind gets those that its type does not allow."""
DEPTH = 3
FIELDS_MAX = 120
SECONDS_MAX = 45.0
COMPONENTS = "/apis/control.mockkube.dev/v1alpha1/components"
MINIMAL = Path(__file__).parents[1] / "api" / "minimal.json"
NOT_STORED = ("authentication.k8s.io", "authorization.k8s.io")


def is_stable(version: str) -> bool:
    """Return whether a version is served by default."""
    return version.removeprefix("v").isdigit()


def fields(node: TypeNode, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], TypeNode]]:
    """Yield the fields of a type down to a depth, items of lists included."""
    if len(at) > DEPTH:
        return
    if at:
        yield at, node
    if node.shape is Shape.STRUCT:
        for name, field in node.fields.items():
            if at or name not in ("kind", "apiVersion"):
                yield from fields(field.node, (*at, name))
    elif node.shape is Shape.LIST and node.item is not None:
        yield from fields(node.item, (*at, "0"))


def put(obj: Object, path: tuple[str, ...], value: Any) -> None:
    """Put a value at a path, making what leads there."""
    here: Any = obj
    for step, following in pairwise(path):
        empty: Any = [] if following == "0" else {}
        if isinstance(here, list):
            here[:] = here or [empty]
            here = here[0]
        else:
            here = here.setdefault(step, empty)
        if not isinstance(here, dict | list):
            return
    if isinstance(here, list):
        here[:] = [value]
    else:
        here[path[-1]] = value


def hostile(kind: KindInfo, version: str, node: TypeNode) -> Iterator[Object]:
    """Yield objects of a kind, each with something in it that must not be there."""
    minimal = json.loads(MINIMAL.read_text().replace("{namespace}", "hostile"))
    valid = deepcopy(minimal.get(f"{kind.group or 'core'}/{kind.kind}", {}))
    valid |= {"kind": kind.kind, "apiVersion": f"{kind.group}/{version}" if kind.group else version}
    places = [path for path, _ in fields(node) if path not in (("metadata",), ("metadata", "name"))]
    step = max(1, len(places) // FIELDS_MAX)
    values = cycle(WRONG)
    for number, path in enumerate(islice(places, 0, None, step)):
        obj = deepcopy(valid)
        metadata = {**obj.get("metadata", {}), "name": f"h{number}", "uid": f"{kind.plural}-{number}"}
        metadata |= {"creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
        if kind.namespaced:
            metadata["namespace"] = "hostile"
        obj["metadata"] = metadata
        if kind.kind == "Pod" and number % 2 and isinstance(obj.get("spec"), dict):
            obj["spec"]["nodeName"] = "node-1"
        put(obj, path, next(values))
        yield obj


@dataclass(frozen=True, slots=True)
class Lab:
    """A cluster with its store, and a client."""

    session: aiohttp.ClientSession
    url: str
    store: Store

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; return the answer, None if it is 404."""
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = None if body is None else json.dumps(body)
        async with self.session.request(
            method, self.url + path, data=data, headers={"Content-Type": media}
        ) as response:
            answer = json.loads(await response.read())
            assert response.status in (200, 201, 202, 404), answer
            return None if response.status == 404 else answer

    async def until(self, what: str, path: str, holds: Any) -> None:
        """Wait until an object is as it is meant to be."""
        answer: Any = None
        for _ in range(int(SECONDS_MAX / 0.1)):
            answer = await self.ask("GET", path)
            if holds(answer):
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"{what} does not happen: {json.dumps(answer)[:3000]}")

    async def poison(self, kinds: list[KindInfo]) -> list[str]:
        """Write hostile objects past the server; return their keys."""
        await self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "hostile"}})
        quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "40"}}}  # the node has room for 110 pods
        quotas = "/api/v1/namespaces/hostile/resourcequotas"
        await self.ask("POST", quotas, quota)
        await self.until("a quota", f"{quotas}/few", lambda one: "hard" in one.get("status", {}))
        prefix, schema, keys = await self._prefix(), Schema(DEFAULT), list[str]()
        for kind in kinds:
            version = next(version for version in kind.versions if is_stable(version))
            node = schema.find_kind_type(kind.group, version, kind.kind)
            assert node is not None, kind
            for obj in hostile(kind, version, node):
                place = f"hostile/{obj['metadata']['name']}" if kind.namespaced else obj["metadata"]["name"]
                keys.append(f"/registry/{kind.group or 'core'}/{kind.plural}/{place}")
                await self.store.create(keys[-1], prefix + json.dumps(obj).encode())
        return keys

    async def _prefix(self) -> bytes:
        """Return what stands in front of each stored object of this version."""
        found = await self.store.get("/registry/core/namespaces/default")
        assert found is not None
        return found.value.partition(b"\n")[0] + b"\n"

    async def cure(self, keys: list[str]) -> None:
        """Delete objects past the server."""
        for key in keys:
            if (entry := await self.store.get(key)) is not None:
                await self.store.delete(key, expected=entry.revision)


@asynccontextmanager
async def lab(folder: Path) -> AsyncIterator[Lab]:
    """Run a cluster with a node."""
    made: list[api_server.ApiServerDependencies] = []

    def build(given: api_server.ApiServerDependencies) -> api_server.Server:
        made.append(given)
        return api_server.build_api_server(given)

    settings = {"name": "hostile", "port": 0, "ephemeral": True, "tls": False, "nodes": 1}
    cluster = Cluster(resolve_configuration(settings, {}), StateDirectory(folder / "hostile"), make_api_server=build)
    async with cluster as running, aiohttp.ClientSession() as session:
        lab = Lab(session, running.url, made[0].store)
        await lab.until("the first node", "/api/v1/nodes/node-1", lambda one: one is not None)
        yield lab


def workload(api_version: str, kind: str, **spec: Any) -> Object:
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {
            "containers": [{"name": "c", "image": "a", "resources": {"requests": {"cpu": "1m"}}}],
            "terminationGracePeriodSeconds": 0,  # a namespace ends only after that of its pods
            "nodeSelector": {"kubernetes.io/hostname": "node-1"},  # hostile nodes that can be read have pods, too
        },
    }
    whole = {"selector": {"matchLabels": {"app": "a"}}, "template": template, **spec}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": kind.lower()}, "spec": whole}


async def live(lab: Lab) -> None:
    """Bring ordinary objects to what they are meant for."""
    await lab.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "sound"}})
    core, apps = "/api/v1/namespaces/sound", "/apis/apps/v1/namespaces/sound"
    await lab.until("a service account", f"{core}/serviceaccounts/default", lambda one: one is not None)
    await lab.until("a root certificate", f"{core}/configmaps/kube-root-ca.crt", lambda one: one is not None)
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "50", "requests.cpu": "50"}}}
    await lab.ask("POST", f"{core}/resourcequotas", quota)
    await lab.until("a quota", f"{core}/resourcequotas/q", lambda one: "hard" in one.get("status", {}))
    await lab.ask("POST", f"{apps}/deployments", workload("apps/v1", "Deployment", replicas=2))
    await lab.ask("POST", f"{apps}/statefulsets", workload("apps/v1", "StatefulSet", replicas=1, serviceName="s"))
    await lab.ask("POST", f"{apps}/daemonsets", workload("apps/v1", "DaemonSet"))
    service = {"metadata": {"name": "s"}, "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}}
    await lab.ask("POST", f"{core}/services", service)
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}
    await lab.ask("POST", "/apis/policy/v1/namespaces/sound/poddisruptionbudgets", budget)
    job = workload("batch/v1", "Job", ttlSecondsAfterFinished=100, completions=1)
    job["spec"].pop("selector")
    job["spec"]["template"]["spec"] |= {"restartPolicy": "Never"}
    job["spec"]["template"]["spec"]["containers"][0] |= {"image": "busybox", "command": ["true"]}
    job["spec"]["template"]["metadata"] = {"labels": {"app": "j"}}
    await lab.ask("POST", "/apis/batch/v1/namespaces/sound/jobs", job)
    ready = {"deployments": "readyReplicas", "statefulsets": "readyReplicas", "daemonsets": "numberReady"}
    for plural, field in ready.items():
        path = f"{apps}/{plural}/{plural.removesuffix('s')}"
        wanted = 2 if plural == "deployments" else 1
        await lab.until(plural, path, lambda one, f=field, n=wanted: one.get("status", {}).get(f) == n)
    await lab.until(
        "a job", "/apis/batch/v1/namespaces/sound/jobs/job", lambda one: one.get("status", {}).get("succeeded") == 1
    )
    slices = "/apis/discovery.k8s.io/v1/namespaces/sound/endpointslices?labelSelector=kubernetes.io/service-name=s"
    await lab.until(
        "endpoints", slices, lambda found: sum(len(one.get("endpoints") or ()) for one in found["items"]) == 4
    )
    await lab.until(
        "a budget",
        "/apis/policy/v1/namespaces/sound/poddisruptionbudgets/b",
        lambda one: one.get("status", {}).get("currentHealthy") == 4,
    )
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    await lab.ask("PATCH", "/api/v1/nodes/node-1", {"spec": {"taints": [taint]}})
    await lab.until("an eviction", f"{apps}/deployments/deployment", lambda one: not one["status"].get("readyReplicas"))
    await lab.ask("PATCH", "/api/v1/nodes/node-1", {"spec": {"taints": None}})
    await lab.until("a recovery", f"{apps}/deployments/deployment", lambda one: one["status"].get("readyReplicas") == 2)
    await lab.ask("DELETE", f"{apps}/deployments/deployment")
    pods = f"{core}/pods?labelSelector=app=a"
    await lab.until("the collection of garbage", pods, lambda found: len(found["items"]) <= 2)
    await lab.ask("DELETE", "/api/v1/namespaces/sound")
    await lab.until("the end of a namespace", "/api/v1/namespaces/sound", lambda one: one is None)


def kinds() -> list[KindInfo]:
    """Return the kinds that are stored and have a schema."""
    schema = Schema(DEFAULT)
    return [
        kind
        for kind in KINDS
        if kind.group not in NOT_STORED
        and kind.stored_as is None
        and "create" in kind.verbs
        and "get" in kind.verbs
        and any(is_stable(one) and schema.find_kind_type(kind.group, one, kind.kind) for one in kind.versions)
    ]


GROUPS = sorted({kind.group for kind in kinds()})


class Log(logging.Handler):
    """What is logged that says of a bug."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Count the text."""
        self.texts[record.getMessage()[:400]] += 1


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group or "core")
async def test_hostile_objects_stop_nothing_but_themselves(group: str, tmp_path: Path) -> None:
    log = Log()
    logging.getLogger().addHandler(log)
    try:
        async with lab(tmp_path) as running:
            keys = await running.poison([kind for kind in kinds() if kind.group == group])
            await live(running)
            shown = json.dumps(await running.ask("GET", COMPONENTS))
            refused = [text for text in log.texts if "cannot read" in text]
            assert not refused or "GetsNowhere" in shown
            await running.cure(keys)
            await running.until("a cure", COMPONENTS, lambda found: "unreadable" not in json.dumps(found))
    finally:
        logging.getLogger().removeHandler(log)
    assert not [text for text in refused if log.texts[text] > 1]
    assert not [text for text in log.texts if text.endswith(" failed")]
