"""A server with a clock that can be set, and leases and reports of nodes to send to it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.times import render_micro_time, render_time
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.server import ApiServer, ApiServerOptions
from mockkube.client.batches import try_update
from mockkube.client.identity import controller_manager, kubelets
from mockkube.client.protocol import key_of
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.features.versions import DEFAULT, Version
from mockkube.proposals.component_extensions import make_schema
from mockkube.runtime.random import Random

NAMESPACE = "kube-node-lease"
CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure")
NAMES = count()


class SettableClock:
    """A clock that can be set, also back."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class ThoroughClient(LocalClient):
    """A client whose updates never take the short way."""

    async def _repeat_heartbeat(self, request: Any, body: Any) -> None:
        return None

    async def repeat_all(self, kind: str, keys: Any, change: Any) -> Any:
        return keys


class Server:
    """A server with clients of one that renews leases and reports status, and of somebody else."""

    def __init__(
        self, store: MemoryStore, server: ApiServer, clock: SettableClock, make_client: type[LocalClient]
    ) -> None:
        endpoint = LocalEndpoint()
        endpoint.open(server)
        self.store, self.server, self.clock = store, server, clock
        decoder = VersionedDecoder(make_schema(DEFAULT))
        self.kubelets = make_client(endpoint, kubelets(DEFAULT), decoder)
        # Of another version, so that it has another view, and under the name of the same manager.
        old = Version(1, 34)
        self.others = (
            make_client(endpoint, kubelets(old), VersionedDecoder(make_schema(old))),
            make_client(endpoint, controller_manager(DEFAULT)),
        )
        self.kept: dict[str, Any] = {}

    def resource(self, group: str, plural: str) -> Resource:
        found = self.server.registry.dependencies.find_storage_resource(group, plural)
        assert found is not None
        return found

    def client(self, number: int) -> LocalClient:
        return (self.kubelets, *self.others)[number]


@asynccontextmanager
async def serve(make_client: type[LocalClient] = LocalClient) -> AsyncIterator[Server]:
    clock = SettableClock()
    async with MemoryStore() as store:
        options = ApiServerOptions(Authenticator({}), disable_admission=("ServiceAccount",))
        server = ApiServer(store=store, options=options, clock=clock, random=Random.from_seed(1, "server"))
        await server.start()
        yield Server(store, server, clock, make_client)
        await server.stop()


def make_lease(name: str, clock: SettableClock) -> dict[str, Any]:
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": render_micro_time(clock.now())}
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def renew(lease: Any, clock: SettableClock) -> dict[str, Any]:
    return {**lease, "spec": {**lease["spec"], "renewTime": render_micro_time(clock.now())}}


async def renew_all(client: LocalClient, leases: Sequence[Any], clock: SettableClock) -> list[Any]:
    """Renew leases together, and one by one those that cannot be; return each as it is then, or the error."""
    left = await client.repeat_all("Lease", [key_of(lease) for lease in leases], make_renewal(clock))
    return [
        await (try_update(client, "Lease", renew(lease, clock)) if key in left else client.get("Lease", key))
        for lease in leases
        for key in (key_of(lease),)
    ]


def make_renewal(clock: SettableClock) -> dict[str, Any]:
    return {"spec": {"renewTime": render_micro_time(clock.now())}}


def report(clock: SettableClock, kinds: tuple[str, ...] = CONDITIONS, **changes: Any) -> dict[str, Any]:
    beat = {"status": "True", "lastHeartbeatTime": render_time(clock.now()), **changes}
    return {"status": {"conditions": [{"type": kind, **beat} for kind in kinds]}}


async def prepare_lease(server: Server) -> Any:
    """Create a lease and renew it once, so that another renewal repeats that."""
    lease = await server.kubelets.create("Lease", make_lease("n", server.clock))
    server.clock.seconds += 10
    return await server.kubelets.update("Lease", renew(lease, server.clock))
