"""Heartbeats take a short way in the server."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mockkube.api.errors import ApiError, Conflict
from mockkube.api.times import render_micro_time, render_time
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.admission.plugins.namespace_exists import NamespaceExists
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.registry import watching
from mockkube.client.batches import repeat_all
from mockkube.client.identity import kubelet
from mockkube.client.informer import Informer
from mockkube.client.protocol import DELETE_NOW, EVERYTHING, Key, Selection, key_of
from mockkube.features.versions import DEFAULT
from mockkube.runtime.virtual_time import VirtualClock
from tests.unit.apiserver.local.heartbeat_server import (
    CONDITIONS,
    NAMESPACE,
    Server,
    make_lease,
    make_renewal,
    prepare_lease,
    renew,
    renew_all,
    report,
    serve,
)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve() as made:
        yield made


async def test_a_renewal_that_repeats_the_last_one_is_not_decoded_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, leases = await prepare_lease(server), server.resource("coordination.k8s.io", "leases")
    monkeypatch.setattr(leases, "decode", None)
    for _ in range(3):
        server.clock.seconds += 10
        before, lease = lease, await server.kubelets.update("Lease", renew(lease, server.clock))
        assert lease["spec"]["renewTime"] == render_micro_time(server.clock.now())
        assert int(lease["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
        assert await server.kubelets.get("Lease", Key(NAMESPACE, "n")) == lease
    stored = (await server.others[1].get("Lease", Key(NAMESPACE, "n")))["metadata"]["managedFields"]
    assert [entry["time"] for entry in stored] == [render_time(server.clock.now())]
    # What the clients of other versions see is decoded from what is stored.
    assert (await server.others[0].get("Lease", Key(NAMESPACE, "n")))["spec"] == lease["spec"]


async def test_a_report_that_repeats_the_last_one_is_not_decoded_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.kubelets.create("Node", {"metadata": {"name": "n"}})
    key, nodes = Key("", "n"), server.resource("", "nodes")
    for _ in range(2):
        server.clock.seconds += 300
        await server.kubelets.patch("Node", key, report(server.clock), subresource="status")
    monkeypatch.setattr(nodes.dependencies.codec, "decode", None)
    server.clock.seconds += 300
    node = await server.kubelets.patch("Node", key, report(server.clock), subresource="status")
    beats = {one["type"]: one["lastHeartbeatTime"] for one in node["status"]["conditions"]}
    assert beats == dict.fromkeys(CONDITIONS, render_time(server.clock.now()))


async def test_watchers_see_each_renewal(server: Server) -> None:
    lease = await prepare_lease(server)
    watches = [await one.watch("Lease", EVERYTHING, "") for one in (server.kubelets, *server.others)]
    for watch in watches:
        watch.take()
    times = []
    for _ in range(3):
        server.clock.seconds += 10
        lease = await server.kubelets.update("Lease", renew(lease, server.clock))
        times.append(lease["spec"]["renewTime"])
    for watch in watches:
        events = watch.take()
        assert [event.object["spec"]["renewTime"] for event in events] == times
        await watch.close()


async def prepare_leases(server: Server, count: int) -> list[Any]:
    """Create leases and renew them once, so that another renewal of each repeats that."""
    made = [await server.kubelets.create("Lease", make_lease(f"n{number}", server.clock)) for number in range(count)]
    server.clock.seconds += 10
    return await renew_all(server.kubelets, made, server.clock)


async def test_renewals_sent_together_are_one_commit_with_a_revision_each(server: Server) -> None:
    leases = await prepare_leases(server, 300)
    server.clock.seconds += 10
    async with server.store.watch("", after=server.store.revision) as watch:
        keys = [key_of(lease) for lease in leases]
        assert not await server.kubelets.repeat_all("Lease", keys, make_renewal(server.clock))
        commits = []
        while (events := watch.take()) is not None:
            commits.append([event.entry.key.rpartition("/")[2] for event in events])
    assert len(commits) < 10
    assert [name for commit in commits for name in commit] == [lease["metadata"]["name"] for lease in leases]
    renewed: Any = [await server.kubelets.get("Lease", key) for key in keys]
    revisions = [int(lease["metadata"]["resourceVersion"]) for lease in renewed]
    assert revisions == list(range(server.store.revision - 299, server.store.revision + 1))
    assert {lease["spec"]["renewTime"] for lease in renewed} == {render_micro_time(server.clock.now())}
    for before, after in zip(leases, renewed, strict=True):
        spec = {**before["spec"], **make_renewal(server.clock)["spec"]}
        assert {**after, "metadata": None} == {**before, "spec": spec, "metadata": None}


async def test_a_watch_may_skip_renewals_and_nothing_else(server: Server) -> None:
    leases = await prepare_leases(server, 3)
    clock = VirtualClock()
    informer = Informer(server.kubelets, "Lease", clock, skips_heartbeats=True)
    seen: list[Any] = []
    while informer.is_ready():
        await informer.step()
    informer.add_event_handler(lambda change: seen.append((change.type.value, change.object["metadata"]["name"])))
    seen.clear()
    for _ in range(2):
        server.clock.seconds += 10
        leases = await renew_all(server.kubelets, leases, server.clock)
    assert not informer.is_ready()
    await server.others[1].patch("Lease", Key(NAMESPACE, "n1"), {"metadata": {"labels": {"a": "b"}}})
    await server.others[1].delete("Lease", Key(NAMESPACE, "n2"), DELETE_NOW)
    await informer.step()
    assert seen == [("MODIFIED", "n1"), ("DELETED", "n2")]
    assert informer.resource_version == str(server.store.revision)
    # A renewal that is sent alone, or that makes a full update, is delivered.
    server.clock.seconds += 10
    await server.kubelets.update("Lease", renew(leases[0], server.clock))
    await informer.step()
    assert seen[2:] == [("MODIFIED", "n0")]
    await informer.close()


async def test_a_handler_of_heartbeats_gets_those_sent_together_and_events_the_others(server: Server) -> None:
    leases = await prepare_leases(server, 3)
    informer = Informer(server.kubelets, "Lease", VirtualClock(), selection=Selection(namespace=NAMESPACE))
    seen: list[Any] = []
    informer.add_heartbeat_handler(lambda beats: seen.append(([key.name for key in beats.keys], beats.change)))
    while informer.is_ready():
        await informer.step()
    informer.add_event_handler(lambda change: seen.append((change.type.value, change.object["metadata"]["name"])))
    seen.clear()

    async def process() -> list[Any]:
        while informer.is_ready():
            await informer.step()
        processed = seen[:]
        seen.clear()
        return processed

    server.clock.seconds += 10
    leases = await renew_all(server.kubelets, leases, server.clock)
    first = make_renewal(server.clock)
    assert await process() == [(["n0", "n1", "n2"], first)]
    # Heartbeats keep their place before and after other events.
    server.clock.seconds += 10
    leases = await renew_all(server.kubelets, leases, server.clock)
    second = make_renewal(server.clock)
    await server.others[1].patch("Lease", Key(NAMESPACE, "n1"), {"metadata": {"labels": {"a": "b"}}})
    server.clock.seconds += 10
    await server.kubelets.repeat_all("Lease", [key_of(leases[2])], make_renewal(server.clock))
    assert await process() == [(["n0", "n1", "n2"], second), ("MODIFIED", "n1"), ("MODIFIED", "n2")]
    known = {key.name: obj["spec"]["renewTime"] for key, obj in informer.objects.items()}
    assert known["n2"] == render_micro_time(server.clock.now())
    # Leases of other namespaces are not selected.
    other = await server.kubelets.create("Lease", {"metadata": {"name": "o", "namespace": "default"}, "spec": {}})
    for _ in range(3):
        server.clock.seconds += 10
        (other,) = await renew_all(server.kubelets, [other], server.clock)
    assert await process() == []
    await informer.close()


async def test_a_watcher_that_takes_no_heartbeats_lists_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    leases = await prepare_leases(server, 3)
    informer = Informer(server.kubelets, "Lease", VirtualClock())
    informer.add_heartbeat_handler(lambda beats: None)
    while informer.is_ready():
        await informer.step()
    monkeypatch.setattr(watching, "PENDING_MAX", 5)
    for _ in range(3):
        server.clock.seconds += 10
        leases = await renew_all(server.kubelets, leases, server.clock)
    while informer.is_ready():
        await informer.step()
    assert list(informer.objects.values()) == leases
    await informer.close()


async def test_renewals_sent_together_count_as_requests(server: Server) -> None:
    leases = await prepare_leases(server, 5)

    def read_count() -> str:
        lines = server.server.metrics.render().decode().splitlines()
        wanted = ("apiserver_request_total", 'resource="leases"', 'verb="PUT"')
        return next(line for line in lines if all(part in line for part in wanted)).rpartition(" ")[2]

    assert read_count() == "5"
    server.clock.seconds += 10
    await renew_all(server.kubelets, leases, server.clock)
    assert read_count() == "10"


async def test_what_cannot_be_repeated_is_left_as_it_is(server: Server) -> None:
    leases = await prepare_leases(server, 6)
    changed = await server.others[1].patch("Lease", Key(NAMESPACE, "n1"), {"metadata": {"labels": {"a": "b"}}})
    server.clock.seconds += 10
    keys = [key_of(lease) for lease in leases]
    unknown, of_others = Key(NAMESPACE, "unknown"), keys[1]
    left = await server.kubelets.repeat_all("Lease", [*keys[:4], unknown, keys[3], keys[5]], make_renewal(server.clock))
    assert left == [of_others, unknown]
    assert (await server.others[1].get("Lease", of_others)) == changed
    times = [(await server.kubelets.get("Lease", key))["spec"]["renewTime"] for key in keys]
    now = render_micro_time(server.clock.now())
    assert [time == now for time in times] == [True, False, True, True, False, True]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"spec": {}},
        {"spec": {"renewTime": "x"}},
        {"spec": {"renewTime": None}},
        {"spec": {"renewTime": "2031-01-01T00:00:00Z"}},
        {"spec": {"renewTime": "2031-01-01T00:00:00.000000Z", "leaseDurationSeconds": 1}},
        {"spec": {"renewTime": "2031-01-01T00:00:00.000000Z"}, "metadata": {"labels": {}}},
        {"spec": {"acquireTime": "2031-01-01T00:00:00.000000Z"}},
    ],
)
async def test_nothing_but_the_times_of_the_last_update_is_repeated(server: Server, change: dict[str, Any]) -> None:
    keys, revision = [key_of(lease) for lease in await prepare_leases(server, 2)], server.store.revision
    server.clock.seconds += 10
    assert await server.kubelets.repeat_all("Lease", keys, change) == keys
    assert server.store.revision == revision
    assert await server.kubelets.repeat_all("Lease", keys, make_renewal(server.clock)) == []


async def test_a_lease_from_before_it_was_renewed_together_with_others_is_outdated(server: Server) -> None:
    leases = await prepare_leases(server, 2)
    leases = [await server.kubelets.update("Lease", renew(lease, server.clock)) for lease in leases]
    server.clock.seconds += 10
    assert not await server.kubelets.repeat_all("Lease", [key_of(leases[0])], make_renewal(server.clock))
    server.clock.seconds += 10
    with pytest.raises(Conflict):
        await server.kubelets.update("Lease", renew(leases[0], server.clock))
    assert not await server.kubelets.repeat_all("Lease", [key_of(leases[0])], make_renewal(server.clock))
    assert await server.kubelets.update("Lease", renew(leases[1], server.clock))


async def test_renewals_of_others_are_forbidden_one_by_one(server: Server) -> None:
    leases = await prepare_leases(server, 2)
    endpoint = LocalEndpoint()
    endpoint.open(server.server)
    server.clock.seconds += 10
    client = LocalClient(endpoint, kubelet("n1", DEFAULT))
    outcomes = await renew_all(client, leases, server.clock)
    assert isinstance(outcomes[0], ApiError)
    assert outcomes[0].code == 403
    assert not isinstance(outcomes[1], Exception)


async def test_clients_without_batches_repeat_nothing() -> None:
    keys = [Key(NAMESPACE, name) for name in "abc"]
    assert await repeat_all(object(), "Lease", keys, {}) == keys  # type: ignore[arg-type]  # nothing is called


def make_webhook(**rule: Any) -> dict[str, Any]:
    anything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    webhook = {
        "name": "w.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:9/"},
        "rules": [{**anything, **rule}],
    }
    return {"metadata": {"name": "w"}, "webhooks": [webhook]}


@pytest.mark.parametrize(
    "rule",
    [
        {"resources": ["leases"]},
        {"apiGroups": ["coordination.k8s.io"]},
        # Webhooks get requests of other versions as those of the version that their rules name.
        {"apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "scope": "Namespaced"},
    ],
)
@pytest.mark.parametrize("plural", ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"])
async def test_a_webhook_sees_each_renewal_that_its_rules_select(
    server: Server, plural: str, rule: dict[str, Any]
) -> None:
    lease = await prepare_lease(server)
    kind = {"v": "ValidatingWebhookConfiguration", "m": "MutatingWebhookConfiguration"}[plural[0]]
    await server.others[1].create(kind, make_webhook(**rule))
    server.clock.seconds += 10
    with pytest.raises(ApiError, match="failed calling webhook"):
        await server.kubelets.update("Lease", renew(lease, server.clock))
    (outcome,) = await renew_all(server.kubelets, [lease], server.clock)
    assert "failed calling webhook" in str(outcome)


def make_policy(**rule: Any) -> dict[str, Any]:
    anything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    constraints = {"resourceRules": [{**anything, **rule}]}
    validations = [{"expression": "false", "message": "never"}]
    return {"metadata": {"name": "p"}, "spec": {"matchConstraints": constraints, "validations": validations}}


async def test_a_policy_sees_each_renewal_that_its_rules_select(server: Server) -> None:
    lease = await prepare_lease(server)
    binding = {"policyName": "p", "validationActions": ["Deny"]}
    await server.others[1].create("ValidatingAdmissionPolicyBinding", {"metadata": {"name": "b"}, "spec": binding})
    await server.others[1].create("ValidatingAdmissionPolicy", make_policy(resourceNames=["n"]))
    server.clock.seconds += 10
    with pytest.raises(ApiError, match="never"):
        await server.kubelets.update("Lease", renew(lease, server.clock))
    # The rules of a policy that changes count from then on.
    await server.others[1].patch(
        "ValidatingAdmissionPolicy", Key("", "p"), {"spec": make_policy(scope="Cluster")["spec"]}
    )
    assert (await server.kubelets.update("Lease", renew(lease, server.clock)))["spec"] != lease["spec"]


@pytest.mark.parametrize(
    "rule",
    [
        {"resources": ["pods", "leases/status"]},
        {"apiGroups": [""]},
        {"apiVersions": ["v1alpha7"]},
        {"operations": ["CREATE", "DELETE"]},
        {"scope": "Cluster"},
    ],
)
async def test_webhooks_and_policies_for_other_requests_leave_renewals_short(
    server: Server, rule: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, leases = await prepare_lease(server), server.resource("coordination.k8s.io", "leases")
    for kind, made in (
        ("ValidatingWebhookConfiguration", make_webhook(**rule)),
        ("MutatingWebhookConfiguration", make_webhook(**rule)),
        ("ValidatingAdmissionPolicy", make_policy(**rule)),
    ):
        await server.others[1].create(kind, {**made, "metadata": {"name": kind.lower()}})
    monkeypatch.setattr(leases, "decode", None)
    for _ in range(2):
        server.clock.seconds += 10
        lease = await server.kubelets.update("Lease", renew(lease, server.clock))
        assert lease["spec"]["renewTime"] == render_micro_time(server.clock.now())


async def test_a_plugin_that_does_not_say_otherwise_sees_each_renewal(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await prepare_lease(server)
    seen = []
    monkeypatch.setattr(NamespaceExists, "admit", lambda plugin, request: seen.append(request.new["spec"]))
    monkeypatch.setattr(server.server.registry.dependencies, "admission", AdmissionChain([NamespaceExists()]))
    for _ in range(2):
        server.clock.seconds += 10
        lease = await server.kubelets.update("Lease", renew(lease, server.clock))
    assert len(seen) == 2


async def test_a_node_may_renew_only_its_own_lease(server: Server) -> None:
    lease = await prepare_lease(server)
    endpoint = LocalEndpoint()
    endpoint.open(server.server)
    server.clock.seconds += 10
    with pytest.raises(ApiError, match="can only access node lease with the same name"):
        await LocalClient(endpoint, kubelet("m", DEFAULT)).update("Lease", renew(lease, server.clock))


async def test_a_patch_that_the_client_changes_after_it_was_sent_is_another(server: Server) -> None:
    await server.kubelets.create("Node", {"metadata": {"name": "n"}})
    for _ in range(2):
        server.clock.seconds += 300
        patch = report(server.clock)
        await server.kubelets.patch("Node", Key("", "n"), patch, subresource="status")
    patch["status"]["conditions"][0]["status"] = "False"
    server.clock.seconds += 300
    for condition in patch["status"]["conditions"]:
        condition["lastHeartbeatTime"] = render_time(server.clock.now())
    node = await server.kubelets.patch("Node", Key("", "n"), patch, subresource="status")
    assert {one["type"]: one["status"] for one in node["status"]["conditions"]}["Ready"] == "False"
