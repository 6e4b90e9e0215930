"""The audit log has the last stage of every request, also of those whose client has gone."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from mockkube.apiserver.audit.auditor import Auditor
from mockkube.apiserver.audit.log_file import AuditLogFile
from mockkube.apiserver.audit.policy import parse_policy
from mockkube.apiserver.server import ApiServer
from mockkube.cluster.api_servers.api_server import ApiServerDependencies, Server, make_options
from mockkube.cluster.cluster import Cluster
from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.state.state_directory import StateDirectory
from mockkube.runtime.clock import RealClock

EVENT_SECONDS_MAX = 10.0
POLICY = b"""
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, resources: [{group: "", resources: [configmaps]}]}
- {level: None}
"""
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
OK = {"metadata": {}, "code": 200}


class MemoryLog(AuditLogFile):
    """Events in the order in which they were written."""

    def __init__(self) -> None:
        super().__init__("", RealClock())
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.url = ""

    def write(self, line: bytes) -> None:
        self._events.put_nowait(json.loads(line))

    async def next(self) -> tuple[str, str, dict[str, Any]]:
        """Stage, verb and status of the next event."""
        event = await asyncio.wait_for(self._events.get(), EVENT_SECONDS_MAX)
        return event["stage"], event["verb"], event["responseStatus"]


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[MemoryLog]:
    """The audit log of a server."""
    log = MemoryLog()

    def build(given: ApiServerDependencies) -> Server:
        options = replace(make_options(given), auditor=Auditor(parse_policy(POLICY), log, given.clock))
        return ApiServer(store=given.store, options=options, clock=given.clock, random=given.random)

    without = ("scheduler", "controllers", "kubelets")
    configuration = ClusterConfiguration(name="audit", port=0, db=MEMORY, tls=False, without=without)
    async with Cluster(configuration, StateDirectory(tmp_path), make_api_server=build) as running:
        log.url = running.url
        yield log


@pytest.mark.parametrize("http2", [pytest.param(False, id="HTTP/1.1"), pytest.param(True, id="HTTP/2")])
async def test_a_watch_whose_client_leaves_is_completed(log: MemoryLog, http2: bool) -> None:
    async with (
        httpx.AsyncClient(base_url=log.url, trust_env=False, http1=not http2, http2=http2) as client,
        client.stream("GET", f"{CONFIG_MAPS}?watch=true") as response,
    ):
        assert response.status_code == 200
        assert await log.next() == ("ResponseStarted", "watch", OK)
    assert await log.next() == ("ResponseComplete", "watch", OK)


async def test_a_watch_that_is_refused_has_both_stages(log: MemoryLog) -> None:
    async with httpx.AsyncClient(base_url=log.url, trust_env=False) as client:
        answer = await client.get(f"{CONFIG_MAPS}?watch=true&fieldSelector=x")
        assert answer.status_code == 400, answer.text
    assert await log.next() == ("ResponseStarted", "watch", {"metadata": {}, "code": 400})
    stage, _, status = await log.next()
    assert (stage, status["status"], status["code"]) == ("ResponseComplete", "Failure", 400)


async def test_an_answered_request_has_one_stage(log: MemoryLog) -> None:
    async with httpx.AsyncClient(base_url=log.url, trust_env=False) as client:
        assert (await client.get(CONFIG_MAPS)).status_code == 200
    assert await log.next() == ("ResponseComplete", "list", OK)
