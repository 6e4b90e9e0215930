"""Conversion webhooks over TLS: a server of the test's own, which makes one version of things into another."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import pytest_asyncio
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

if TYPE_CHECKING:
    from tests.contract.custom.conftest import Client, Things

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NEWER = {
    "name": "v2", "served": True, "storage": False, "selectableFields": [{"jsonPath": ".spec.title"}],
    "subresources": {"status": {}},
    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "title": {"type": "string"}, "port": {"type": "string"},
    }}}}},
}  # fmt: skip
OLDER = {"type": "object", "required": ["host"], "properties": {"host": {"type": "string"}}}


class Webhook:
    """Makes `host: a:1` of the first version into `title: a, port: 1` of the second, and back."""

    def __init__(self, url: str, bundle: str) -> None:
        self.client = {"url": url, "caBundle": bundle}
        self.asked: list[Object] = []
        self.changed: Object = {}
        """What it does to the metadata."""
        self.answer: Object = {}
        """What it answers otherwise than it should."""

    async def convert(self, request: web.Request) -> web.Response:
        """Answer one review."""
        review = orjson.loads(await request.read())
        self.asked.append({"version": review["apiVersion"], **review["request"]})
        target = review["request"]["desiredAPIVersion"]
        converted = [self.converted(obj, target) for obj in review["request"]["objects"]]
        result = {"status": "Success"}
        response = {"uid": review["request"]["uid"], "convertedObjects": converted, "result": result, **self.answer}
        return web.json_response({**{key: review[key] for key in ("apiVersion", "kind")}, "response": response})

    async def mutate(self, request: web.Request) -> web.Response:
        """Set the host of an object in the first version, as an admission webhook."""
        review = orjson.loads(await request.read())
        assert review["request"]["object"]["apiVersion"].endswith("/v1")
        patch = orjson.dumps([{"op": "replace", "path": "/spec/host", "value": "changed:9"}])
        response = {
            "uid": review["request"]["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(patch).decode(),
        }
        return web.json_response({**{key: review[key] for key in ("apiVersion", "kind")}, "response": response})

    def converted(self, obj: Object, target: str) -> Object:
        """One object."""
        spec = obj["spec"]
        if target.endswith("/v2"):
            title, _, port = spec["host"].partition(":")
            spec = {"title": title, "port": port}
        else:
            spec = {"host": f"{spec['title']}:{spec['port']}"}
        return {**obj, "apiVersion": target, "metadata": {**obj["metadata"], **self.changed}, "spec": spec}


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for loopback that vouches for itself, and its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    files = directory / "webhook.crt", directory / "webhook.key"
    files[0].write_bytes(made.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


@pytest_asyncio.fixture(loop_scope="module")
async def webhook(tmp_path: Path) -> AsyncIterator[Webhook]:
    """The webhook."""
    served, (crt, key) = Webhook("", ""), certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(crt, key)
    application = web.Application()
    application.router.add_post("/convert", served.convert)
    application.router.add_post("/mutate", served.mutate)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    served.client["url"] = f"https://127.0.0.1:{runner.addresses[0][1]}/convert"
    served.client["caBundle"] = base64.b64encode(crt.read_bytes()).decode()
    yield served
    await runner.cleanup()


async def define(things: "Things", client: Object, reviews: tuple[str, ...] = ("v1",)) -> None:
    """Store a definition of which the webhook converts the versions."""
    definition = things.definition(OLDER, NEWER, subresources={"status": {}})
    called = {"clientConfig": client, "conversionReviewVersions": list(reviews)}
    definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": called}
    await things.client.create(DEFINITIONS, definition)


async def test_an_object_is_read_in_any_version(client: "Client", things: "Things", webhook: Webhook) -> None:
    await define(things, webhook.client, ("v9", "v1beta1", "v1"))
    await client.create(things.path(), things.thing("t", host="a:1"))
    assert webhook.asked == []
    shown = await client.get(things.path("t", "v2"))
    assert (shown["apiVersion"], shown["spec"]) == (f"{things.group}/v2", {"title": "a", "port": "1"})
    (asked,) = webhook.asked
    assert (asked["version"], asked["desiredAPIVersion"]) == ("apiextensions.k8s.io/v1beta1", f"{things.group}/v2")


async def test_an_answer_that_comes_in_pieces_is_read_whole(
    client: "Client", things: "Things", webhook: Webhook
) -> None:
    await define(things, webhook.client)
    title = "x" * 600_000
    await client.create(things.path(), things.thing("t", host=f"{title}:1"))
    assert (await client.get(things.path("t", "v2")))["spec"] == {"title": title, "port": "1"}


async def test_a_version_judges_what_is_written_in_it_and_another_is_stored(
    client: "Client", things: "Things", webhook: Webhook
) -> None:
    await define(things, webhook.client)
    refused = await client.ask("POST", things.path(version="v2"), things.thing("t", "v2", title=1, port="2"))
    assert (refused.status, webhook.asked) == (422, [])
    made = await client.create(things.path(version="v2"), things.thing("t", "v2", title="a", port="2"))
    assert made["spec"] == {"title": "a", "port": "2"}
    assert (await client.get(things.path("t")))["spec"] == {"host": "a:2"}
    merge = "application/merge-patch+json"
    assert (await client.ask("PATCH", things.path("t", "v2"), {"spec": {"port": "3"}}, media=merge)).status == 200
    assert (await client.get(things.path("t")))["spec"] == {"host": "a:3"}


async def test_an_admission_webhook_changes_an_object_of_another_version(
    client: "Client", things: "Things", webhook: Webhook
) -> None:
    await define(things, webhook.client)
    rule = {"apiGroups": [things.group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    hook = {
        "name": "mutate.example.com",
        "clientConfig": {**webhook.client, "url": webhook.client["url"].replace("/convert", "/mutate")},
        "rules": [rule],
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    await client.create(
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        {"metadata": {"name": things.group}, "webhooks": [hook]},
    )
    made = await client.create(things.path(version="v2"), things.thing("t", "v2", title="a", port="2"))
    assert (made["apiVersion"], made["spec"]) == (f"{things.group}/v2", {"title": "changed", "port": "9"})


async def test_all_that_a_list_needs_is_asked_at_once_and_selected_as_it_is_shown(
    client: "Client", things: "Things", webhook: Webhook
) -> None:
    await define(things, webhook.client)
    for name in ("a", "b"):
        await client.create(things.path(), things.thing(name, host=f"{name}:1"))
    found = await client.get(things.path(version="v2") + "?fieldSelector=spec.title%3Db")
    assert [item["spec"] for item in found["items"]] == [{"title": "b", "port": "1"}]
    assert [len(asked["objects"]) for asked in webhook.asked] == [2]


async def test_what_was_stored_before_the_storage_version_changed_is_converted_too(
    client: "Client", things: "Things", webhook: Webhook
) -> None:
    await define(things, webhook.client)
    await client.create(things.path(), things.thing("old", host="a:1"))
    path = f"{DEFINITIONS}/{things.name}"
    stored = await client.get(path)
    for version in stored["spec"]["versions"]:
        version["storage"] = not version["storage"]
    assert (await client.ask("PUT", path, stored)).status == 200
    await client.create(things.path(version="v2"), things.thing("new", "v2", title="b", port="2"))
    webhook.asked.clear()
    found = await client.get(things.path(version="v2"))
    assert [item["spec"] for item in found["items"]] == [{"title": "b", "port": "2"}, {"title": "a", "port": "1"}]
    assert [obj["metadata"]["name"] for asked in webhook.asked for obj in asked["objects"]] == ["old"]
    found = await client.get(things.path())
    assert [item["spec"] for item in found["items"]] == [{"host": "b:2"}, {"host": "a:1"}]
    await client.patch(things.path("old", "v2"), {"metadata": {"labels": {"a": "b"}}})
    webhook.asked.clear()
    await client.get(things.path("old", "v2"))
    assert webhook.asked == []


async def test_a_watch_shows_its_own_version(client: "Client", things: "Things", webhook: Webhook) -> None:
    await define(things, webhook.client)
    await client.create(things.path(), things.thing("a", host="a:1"))
    async with asyncio.timeout(10), client.watch(things.path(version="v2")) as response:
        events = [orjson.loads(await response.content.readline())]
        await client.patch(things.path("a"), {"spec": {"host": "a:2"}})
        events.append(orjson.loads(await response.content.readline()))
        assert (await client.ask("DELETE", things.path("a"))).status == 200
        events.append(orjson.loads(await response.content.readline()))
    assert [one["type"] for one in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert [one["object"]["spec"]["port"] for one in events] == ["1", "2", "2"]
    assert {one["object"]["apiVersion"] for one in events} == {f"{things.group}/v2"}


async def test_a_watch_ends_with_why_nothing_is_converted(client: "Client", things: "Things", webhook: Webhook) -> None:
    await define(things, webhook.client)
    async with asyncio.timeout(10), client.watch(things.path(version="v2")) as response:
        webhook.answer = {"result": {"status": "Failure", "message": "no way"}}
        await client.create(things.path(), things.thing("a", host="a:1"))
        event = orjson.loads(await response.content.readline())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
    assert event["object"]["message"].endswith("Kind=Thing failed: no way")


async def test_who_applies_in_one_version_meets_who_applied_in_another(
    client: "Client", things: "Things", webhook: Webhook
) -> None:
    await define(things, webhook.client)
    media = "application/apply-patch+yaml"
    first = things.thing("t", "v2", title="a", port="1")
    assert (await client.ask("PATCH", things.path("t", "v2") + "?fieldManager=x", first, media=media)).status == 201
    again = await client.ask("PATCH", things.path("t") + "?fieldManager=y", things.thing("t", host="b:1"), media=media)
    assert (again.status, again.body["reason"]) == (409, "Conflict")
    assert again.message == 'Apply failed with 1 conflict: conflict with "x": .spec.title'


async def test_labels_and_annotations_may_change_and_nothing_else_of_the_metadata(
    client: "Client", things: "Things", webhook: Webhook
) -> None:
    await define(things, webhook.client)
    made = await client.create(things.path(), things.thing("t", host="a:1"))
    webhook.changed = {"labels": {"a": "b"}, "finalizers": ["example.com/f"], "generation": 7}
    shown = await client.get(things.path("t", "v2"))
    assert shown["metadata"] == {**made["metadata"], "labels": {"a": "b"}}


@pytest.mark.parametrize(
    ("changed", "answer", "says"),
    [
        pytest.param({"name": "z"}, {}, " returned invalid object: must have the same name: t != z", id="name"),
        pytest.param(
            {"labels": [1]}, {},
            " returned invalid metadata: invalid metadata.labels of type []interface {} in converted object",
            id="no-labels",
        ),
        pytest.param(
            {"annotations": {"a": 1}}, {},
            " returned invalid metadata: metadata.annotations[a] must be a string, but is int64 in converted object",
            id="number-as-annotation",
        ),
        pytest.param({}, {"convertedObjects": []}, " returned 0 objects, expected 1", id="none"),
        pytest.param({}, {"result": {}}, " failed: response.result.status was '', not 'Success'", id="no-result"),
        pytest.param({}, {"uid": "x"}, '", got "x"', id="another-uid"),
        pytest.param(
            {}, {"convertedObjects": [{"apiVersion": "a/b", "kind": "Thing"}]}, ", received a/b)", id="another-version"
        ),
    ],
)  # fmt: skip
async def test_what_is_no_conversion_is_refused(
    client: "Client", things: "Things", webhook: Webhook, changed: Object, answer: Object, says: str
) -> None:
    await define(things, webhook.client)
    await client.create(things.path(), things.thing("t", host="a:1"))
    webhook.changed, webhook.answer = changed, answer
    refused = await client.ask("GET", things.path("t", "v2"))
    assert refused.status == 500
    assert refused.message.startswith(f"conversion webhook for {things.group}/v1, Kind=Thing ")
    assert refused.message.endswith(says)


async def test_a_service_that_is_not_there_is_named(client: "Client", things: "Things") -> None:
    await define(things, {"service": {"namespace": "default", "name": "nope", "path": "/c"}})
    await client.create(things.path(), things.thing("t", host="a:1"))
    refused = await client.ask("GET", things.path("t", "v2"))
    assert refused.message.endswith(
        'failed: Post "https://nope.default.svc:443/c?timeout=30s": service "nope" not found'
    )
