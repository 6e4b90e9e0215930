"""What is written through one API server holds at all others on the same store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from typing import Any

import orjson
import pytest

from tests.contract.replication.conftest import Member, Object

pytestmark = pytest.mark.usefixtures("late_events")
Members = tuple[Member, Member, Member]
NAMESPACES = "/api/v1/namespaces"
CONFIG_MAPS = f"{NAMESPACES}/default/configmaps"
SERVICES = f"{NAMESPACES}/default/services"
WATCH_SECONDS_MAX = 10.0


def named(name: str, **rest: Any) -> Object:
    return {"metadata": {"name": name}, **rest}


def make_service(name: str, **port: Any) -> Object:
    kind = "NodePort" if port else "ClusterIP"
    return named(name, spec={"type": kind, "ports": [{"port": 80, **port}]})


@asynccontextmanager
async def watch(member: Member, path: str) -> AsyncIterator[AsyncIterator[Object]]:
    """Watch a path through a member; yields its events."""
    headers = {"Authorization": f"Bearer {member.running.token}"}
    async with member.session.get(member.running.url + path, headers=headers) as response:
        assert response.status == 200

        async def read() -> AsyncIterator[Object]:
            async for line in response.content:
                yield orjson.loads(line)

        yield read()


async def test_a_read_sees_what_another_server_has_answered(members: Members) -> None:
    for number, (writer, reader) in enumerate(zip(cycle(members), [*members[1:], members[0]] * 5, strict=False)):
        written = await writer.create(CONFIG_MAPS, named(f"a{number}"))
        assert await reader.get(f"{CONFIG_MAPS}/a{number}") == written
        assert any(one["metadata"]["name"] == f"a{number}" for one in (await reader.get(CONFIG_MAPS))["items"])


async def test_a_list_at_the_version_of_another_server_has_what_that_server_wrote(members: Members) -> None:
    one, two, _ = members
    for number in range(10):
        version = (await one.create(CONFIG_MAPS, named(f"a{number}")))["metadata"]["resourceVersion"]
        found = await two.get(f"{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")
        assert f"a{number}" in [obj["metadata"]["name"] for obj in found["items"]]


async def test_watches_deliver_the_writes_of_all_servers_in_order_and_without_a_gap(members: Members) -> None:
    start = (await members[0].get(CONFIG_MAPS))["metadata"]["resourceVersion"]
    count = 60

    async def collect(member: Member) -> list[tuple[str, int]]:
        async with watch(member, f"{CONFIG_MAPS}?watch=true&resourceVersion={start}") as events:
            return [
                (event["object"]["metadata"]["name"], int(event["object"]["metadata"]["resourceVersion"]))
                async for event, _ in _take(events, count)
            ]

    collecting = [asyncio.create_task(collect(member)) for member in members]
    creating = zip(cycle(members), range(count), strict=False)
    written = await asyncio.gather(*[one.create(CONFIG_MAPS, named(f"n{number}")) for one, number in creating])
    async with asyncio.timeout(WATCH_SECONDS_MAX):
        seen = await asyncio.gather(*collecting)
    expected = sorted((int(obj["metadata"]["resourceVersion"]), obj["metadata"]["name"]) for obj in written)
    for events in seen:
        assert [(version, name) for name, version in events] == expected


async def _take(events: AsyncIterator[Object], count: int) -> AsyncIterator[tuple[Object, int]]:
    taken = 0
    async for event in events:
        taken += 1
        yield event, taken
        if taken == count:
            return


async def test_a_watch_continues_at_another_server_from_the_version_of_the_first(members: Members) -> None:
    one, two, three = members
    async with watch(one, f"{CONFIG_MAPS}?watch=true&resourceVersion=0") as events:
        await two.create(CONFIG_MAPS, named("first"))
        async for event in events:
            if event["object"]["metadata"]["name"] == "first":
                break
    version = event["object"]["metadata"]["resourceVersion"]
    await one.create(CONFIG_MAPS, named("second"))
    async with asyncio.timeout(WATCH_SECONDS_MAX):
        async with watch(three, f"{CONFIG_MAPS}?watch=true&resourceVersion={version}") as events:
            async for event in events:
                assert event["object"]["metadata"]["name"] == "second"
                break


async def test_an_update_names_the_version_that_another_server_returned(members: Members) -> None:
    """As clients behind a load balancer do: read here, write there."""
    obj = await members[0].create(CONFIG_MAPS, named("a"))
    for number, member in zip(range(30), cycle(members), strict=False):
        obj["data"] = {"number": str(number)}
        status, obj = await member.request("PUT", f"{CONFIG_MAPS}/a", obj)
        assert status == 200, obj


async def test_of_two_updates_of_one_version_one_is_refused(members: Members) -> None:
    obj = await members[0].create(CONFIG_MAPS, named("a"))
    answers = await asyncio.gather(
        *[one.request("PUT", f"{CONFIG_MAPS}/a", {**obj, "data": {"by": one.running.name}}) for one in members]
    )
    assert sorted(status for status, _ in answers) == [200, 409, 409]


async def test_a_deletion_names_the_version_that_another_server_returned(members: Members) -> None:
    one, two, _ = members
    for number in range(10):
        await one.create(CONFIG_MAPS, named(f"a{number}"))
        obj = await one.patch(f"{CONFIG_MAPS}/a{number}", {"data": {"a": "b"}})
        version = obj["metadata"]["resourceVersion"]
        options = {"preconditions": {"resourceVersion": version}}
        status, body = await two.request("DELETE", f"{CONFIG_MAPS}/a{number}", options)
        assert status == 200, body


async def test_a_new_namespace_can_be_used_through_every_server(members: Members) -> None:
    one, two, three = members
    for number in range(10):
        namespace = f"{NAMESPACES}/new{number}"
        await one.create(NAMESPACES, named(f"new{number}"))
        await two.create(f"{namespace}/serviceaccounts", named("robot"))
        pod = named("a", spec={"serviceAccountName": "robot", "containers": [{"name": "a", "image": "a"}]})
        await three.create(f"{namespace}/pods", pod)


async def test_permissions_that_one_server_grants_hold_at_the_others(members: Members) -> None:
    one, two, _ = members
    await one.create(f"{NAMESPACES}/default/serviceaccounts", named("robot"))
    status, body = await one.request(
        "POST", f"{NAMESPACES}/default/serviceaccounts/robot/token", {"spec": {"audiences": []}}
    )
    assert status == 201, body
    token, rbac = body["status"]["token"], "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    status, _ = await two.request("GET", CONFIG_MAPS, token=token)
    assert status == 403
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    await one.create(f"{rbac}/roles", named("reader", rules=[rule]))
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    await one.create(f"{rbac}/rolebindings", named("reader", subjects=[subject], roleRef=role))
    status, body = await two.request("GET", CONFIG_MAPS, token=token)
    assert status == 200, body


async def test_a_token_of_a_new_service_account_is_valid_at_every_server(members: Members) -> None:
    one, two, three = members
    accounts = f"{NAMESPACES}/default/serviceaccounts"
    for number in range(5):
        await one.create(accounts, named(f"robot{number}"))
        status, body = await two.request("POST", f"{accounts}/robot{number}/token", {"spec": {"audiences": []}})
        assert status == 201, body
        token = body["status"]["token"]
        for member in (three, one, two):
            status, review = await member.request(
                "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, token=token
            )
            assert status == 201, review
            name = review["status"]["userInfo"]["username"]
            assert name == f"system:serviceaccount:default:robot{number}"


async def test_a_new_kind_is_served_by_every_server(members: Members) -> None:
    one, two, three = members
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    for number in range(3):
        plural, kind = f"widget{number}s", f"Widget{number}"
        spec = {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        }
        await one.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", named(f"{plural}.example.dev", spec=spec)
        )
        path = f"/apis/example.dev/v1/namespaces/default/{plural}"
        await two.create(path, {"apiVersion": "example.dev/v1", "kind": kind, **named("a")})
        await three.get(f"{path}/a")


async def test_cluster_ips_and_node_ports_are_never_allocated_twice(members: Members) -> None:
    # 45 services of 253 addresses: two servers that do not know of each other would nearly always collide.
    creating = zip(cycle(members), range(45), strict=False)
    created = await asyncio.gather(
        *[member.create(SERVICES, make_service(f"s{number}", nodePort=0)) for member, number in creating]
    )
    addresses = [service["spec"]["clusterIP"] for service in created]
    ports = [service["spec"]["ports"][0]["nodePort"] for service in created]
    assert len(set(addresses)) == len(set(ports)) == 45


@pytest.mark.parametrize("wanted", ["address", "port"])
async def test_of_three_requests_for_one_value_one_gets_it(members: Members, wanted: str) -> None:
    for number in range(5):
        services = [make_service(f"{wanted}{number}-{index}", nodePort=0) for index in range(3)]
        for service in services:
            if wanted == "address":
                service["spec"]["clusterIP"] = f"10.0.0.{200 + number}"
            else:
                service["spec"]["ports"][0]["nodePort"] = 31000 + number
        answers = await asyncio.gather(
            *[member.request("POST", SERVICES, one) for member, one in zip(members, services, strict=True)]
        )
        assert sorted(status for status, _ in answers) == [201, 422, 422], answers
        refused = next(body for status, body in answers if status == 422)
        assert "already allocated" in refused["message"]


async def test_a_value_can_be_used_again_at_once(members: Members) -> None:
    for number, (creator, deleter) in enumerate(zip(members, [*members[1:], members[0]], strict=True)):
        await creator.create(SERVICES, make_service(f"a{number}", nodePort=31500))
        await deleter.delete(f"{SERVICES}/a{number}")


async def test_a_dry_run_and_a_rejected_service_claim_nothing(members: Members) -> None:
    one, two, _ = members
    status, _ = await one.request("POST", f"{SERVICES}?dryRun=All", make_service("a", nodePort=31600))
    assert status == 201
    status, _ = await one.request("POST", SERVICES, make_service("Not-A-Name", nodePort=31600))
    assert status == 422
    await two.create(SERVICES, make_service("a", nodePort=31600))


async def test_a_quota_is_not_exceeded_by_creates_through_different_servers(members: Members) -> None:
    one = members[0]
    hard = {"count/configmaps": "10"}
    quotas = f"{NAMESPACES}/quota/resourcequotas"
    await one.create(NAMESPACES, named("quota"))
    await one.create(quotas, named("few", spec={"hard": hard}))
    # The quota controller does not run: its first status comes from here.
    await one.patch(f"{quotas}/few/status", {"status": {"hard": hard, "used": {"count/configmaps": "0"}}})
    creating = zip(cycle(members), range(30), strict=False)
    answers = await asyncio.gather(
        *[member.request("POST", f"{NAMESPACES}/quota/configmaps", named(f"a{number}")) for member, number in creating]
    )
    assert sorted(status for status, _ in answers) == [201] * 10 + [403] * 20
    quota = await members[1].get(f"{quotas}/few")
    assert quota["status"]["used"] == {"count/configmaps": "10"}


async def test_an_admission_policy_of_one_server_binds_the_others(members: Members) -> None:
    one, two, _ = members
    group = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.metadata.name != 'bad'"}],
    }
    await one.create(f"{group}/validatingadmissionpolicies", named("names", spec=spec))
    binding = {"policyName": "names", "validationActions": ["Deny"]}
    await one.create(f"{group}/validatingadmissionpolicybindings", named("names", spec=binding))
    status, body = await two.request("POST", CONFIG_MAPS, named("bad"))
    assert status == 422, body
    await one.delete(f"{group}/validatingadmissionpolicybindings/names")
    await two.create(CONFIG_MAPS, named("bad"))
