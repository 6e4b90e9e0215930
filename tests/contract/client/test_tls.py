"""A cluster's own kubeconfig is enough to reach it: TLS, its authority, and a client certificate or a token."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from mockkube.api.errors import Unavailable
from mockkube.client.blocking_http import BlockingHttpClient, NoResponseError
from mockkube.client.http import HttpClient
from mockkube.client.kubeconfig import RestConfig, load
from mockkube.cluster.cluster import Cluster
from mockkube.cluster.configuration.cluster_configuration import MEMORY, ClusterConfiguration
from mockkube.cluster.state.state_directory import StateDirectory


async def test_a_kubeconfig_opens_the_door(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "lab")
    said = ClusterConfiguration(name="lab", port=0, db=MEMORY, without=("scheduler", "controllers", "kubelets"))
    async with Cluster(said, state):
        access = load(state.kubeconfig)
        async with HttpClient(access, "test/1") as client:
            names = [item["metadata"]["name"] for item in (await client.list("Namespace")).items]
        assert "kube-system" in names
        distrustful = RestConfig(access.server, certificate=access.certificate, key=access.key)
        async with HttpClient(distrustful, "test/1") as client:
            with pytest.raises(Unavailable, match="certificate verify failed"):
                await client.list("Namespace")


async def test_the_client_without_an_event_loop_verifies_names_too(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "lab")
    said = ClusterConfiguration(name="lab", port=0, db=MEMORY, without=("scheduler", "controllers", "kubelets"))
    async with Cluster(said, state):
        config = load(state.kubeconfig)
        response = await asyncio.to_thread(
            BlockingHttpClient(config).get, "/api/v1/namespaces/kube-system", seconds=10.0
        )
        assert (response.status, b'"kube-system"' in response.body) == (200, True)
        named = BlockingHttpClient(replace(config, server_name="kubernetes.default.svc"))
        assert (await asyncio.to_thread(named.get, "/readyz", seconds=10.0, accept="*/*")).status == 200
        elsewhere = BlockingHttpClient(replace(config, server_name="other.example"))
        with pytest.raises(NoResponseError, match="certificate verify failed"):
            await asyncio.to_thread(elsewhere.get, "/readyz", seconds=10.0)
