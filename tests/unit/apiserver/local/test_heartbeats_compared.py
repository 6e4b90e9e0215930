"""Heartbeats lead to what other updates lead to, on a server with and on one without the short way."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mockkube.api.errors import ApiError
from mockkube.api.times import render_micro_time
from mockkube.client.protocol import DELETE_NOW, Key
from tests.unit.apiserver.local.heartbeat_server import (
    CONDITIONS,
    NAMES,
    NAMESPACE,
    Server,
    ThoroughClient,
    make_lease,
    report,
    serve,
)

TIMES = st.sampled_from(
    ("now", "now", "now", "same", "2029-12-31T23:00:00.000000Z", "2030-01-01T01:00:00Z", None, 7, "x")
)
LEASE_CHANGES = st.sampled_from(
    (
        *({},) * 6,
        {"holderIdentity": "another"},
        {"leaseDurationSeconds": True},
        {"leaseDurationSeconds": -1},
        {"leaseTransitions": 1},
        {"strategy": "OldestEmulationVersion"},
        {"unknown": 1},
    )
)
METADATA_CHANGES = st.sampled_from(
    (*({},) * 6, {"labels": {"a": "b"}}, {"resourceVersion": "1"}, {"resourceVersion": None}, {"uid": "x"})
)
CLIENTS = st.sampled_from((0, 0, 0, 0, 1, 2))
ACTIONS = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from((0.0, 0.4, 1.0, 10.0, 300.0, -5.0))),
    st.tuples(st.just("renew"), CLIENTS, TIMES, LEASE_CHANGES, METADATA_CHANGES),
    st.tuples(st.just("renew"), CLIENTS, st.just("now"), st.just({}), st.just({})),
    st.tuples(st.just("renew together"), CLIENTS, st.just("now"), st.just({}), st.just({})),
    st.tuples(
        st.just("report"),
        CLIENTS,
        st.sampled_from((CONDITIONS, CONDITIONS, CONDITIONS[:1], ("Ready", "Ready"), CONDITIONS[::-1])),
        st.sampled_from((*({},) * 4, {"status": "False"}, {"reason": "R"}, {"lastHeartbeatTime": "x"}, {"type": None})),
    ),
    st.tuples(st.just("patch"), st.sampled_from(("Lease", "Node")), st.sampled_from(({"a": "b"}, {"a": None}))),
    st.tuples(st.just("delete"), st.sampled_from(("Lease", "Node"))),
    st.tuples(st.just("webhooks"), st.booleans()),
)


async def act(server: Server, name: str, action: Any) -> Any:
    """Do one thing on a server; return what comes of it."""
    lease_key, node_key, clock = Key(NAMESPACE, name), Key("", name), server.clock
    match action:
        case "wait", seconds:
            clock.seconds += seconds
            return None
        case "renew" | "renew together" as how, number, time, changes, metadata:
            kept = server.kept.get("lease")
            if kept is None:
                return server.kept.setdefault("lease", await server.kubelets.create("Lease", make_lease(name, clock)))
            given_time = {"now": render_micro_time(clock.now()), "same": kept["spec"].get("renewTime")}.get(time, time)
            body = {**kept, "spec": {**kept["spec"], "renewTime": given_time, **changes}}
            body["metadata"] = {**kept["metadata"], **metadata}
            client = server.client(number)
            try:
                if how == "renew":
                    server.kept["lease"] = await client.update("Lease", body)
                else:
                    change = {"spec": {"renewTime": body["spec"]["renewTime"]}}
                    is_left = await client.repeat_all("Lease", [lease_key], change)
                    server.kept["lease"] = await (
                        client.update("Lease", body) if is_left else client.get("Lease", lease_key)
                    )
            except ApiError:
                server.kept["lease"] = await server.kubelets.get("Lease", lease_key)
                raise
            return server.kept["lease"]
        case "report", number, kinds, changes:
            if "node" not in server.kept:
                server.kept["node"] = await server.kubelets.create("Node", {"metadata": {"name": name}})
            patch = report(clock, kinds, **changes)
            return await server.client(number).patch("Node", node_key, patch, subresource="status")
        case "patch", kind, labels:
            key = lease_key if kind == "Lease" else node_key
            return await server.others[1].patch(kind, key, {"metadata": {"labels": labels}})
        case "delete", kind:
            server.kept.pop(kind.lower(), None)
            return await server.others[1].delete(kind, lease_key if kind == "Lease" else node_key, DELETE_NOW)
        case "webhooks", True:
            return await server.others[1].create("ValidatingWebhookConfiguration", {"metadata": {"name": name}})
        case _:
            return await server.others[1].delete("ValidatingWebhookConfiguration", node_key)


async def observe(server: Server, name: str, action: Any) -> Any:
    """Return what comes of an action, and all that is stored under the name and shown of it."""
    try:
        result = await act(server, name, action)
    except ApiError as error:
        result = (error.code, error.message)
    keys = (f"coordination.k8s.io/leases/{NAMESPACE}/{name}", f"core/nodes/{name}")
    stored = [await server.store.get(f"/registry/{key}") for key in keys]
    shown: list[Any] = []
    for kind, key in (("Lease", Key(NAMESPACE, name)), ("Node", Key("", name))):
        for number in range(3):
            try:
                shown.append(await server.client(number).get(kind, key))
            except ApiError as error:
                shown.append(error.code)
    return result, stored, shown, server.store.revision


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture(scope="module")
def servers(runner: asyncio.Runner) -> Iterator[tuple[Server, Server]]:
    contexts = (serve(), serve(ThoroughClient))
    fast, slow = (runner.run(context.__aenter__()) for context in contexts)
    yield fast, slow
    for context in contexts:
        runner.run(context.__aexit__(None, None, None))


RENEWAL: Any = ("renew", 0, "now", {}, {})
REPORT: Any = ("report", 0, CONDITIONS, {})


@settings(max_examples=60, deadline=None)
@example(actions=[("patch", "Lease", {"a": "b"}), *[("wait", 10.0), RENEWAL, RENEWAL] * 2, ("wait", -25.0), RENEWAL])
@example(actions=[("renew", 0, "same", {}, {}), ("renew", 0, "2030-01-01T01:00:00Z", {}, {})])
@example(actions=[("renew", 0, "2030-01-01T03:00:00.000000+01:00", {}, {}), RENEWAL])
@example(actions=[("renew", 2, "now", {}, {}), ("wait", 10.0), ("renew", 1, "now", {}, {})])
@example(actions=[("renew", 0, "now", {}, {"resourceVersion": None}), ("renew", 0, "now", {"leaseTransitions": 0}, {})])
@example(actions=[*[REPORT, ("wait", 300.0)] * 3, ("report", 0, CONDITIONS[:1], {}), ("wait", 1.0), REPORT])
@example(actions=[*[REPORT, ("wait", 300.0)] * 3, ("report", 0, CONDITIONS, {"status": "False"}), REPORT])
@example(actions=[*[REPORT, ("wait", 300.0)] * 3, ("patch", "Node", {"a": "b"}), REPORT, ("wait", 300.0), REPORT])
@given(actions=st.lists(ACTIONS, min_size=4, max_size=16))
def test_heartbeats_lead_to_what_other_updates_lead_to(
    runner: asyncio.Runner, servers: tuple[Server, Server], actions: list[Any]
) -> None:
    async def compare() -> None:
        name = f"n{next(NAMES)}"
        for server in servers:
            server.kept.clear()
            server.clock.seconds = 3600.0
        for action in (*(("renew", 0, "now", {}, {}), ("wait", 10.0)) * 2, *actions, *CLEANUP):
            fast, slow = [await observe(server, name, action) for server in servers]
            assert fast == slow, action
        for server in servers:
            assert server.kubelets._endpoint.get_server().find_mutated_objects() == []

    runner.run(compare())


CLEANUP = (("webhooks", False),)
