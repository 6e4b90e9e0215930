"""Admission webhooks over TLS: servers of the test's own, which the API server calls."""

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
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")
GROUP = "/apis/admissionregistration.k8s.io/v1"


class Webhook:
    """A server that answers reviews as it is told."""

    def __init__(self) -> None:
        self.response: Object = {}
        self.status, self.media = 200, "application/json"
        self.body: bytes | None = None
        self.delay = asyncio.Event()
        self.delay.set()
        self.asked: list[Object] = []
        self.url = self.bundle = ""

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one review."""
        review = orjson.loads(await request.read())
        self.asked.append({"timeout": request.query["timeout"], **review["request"]})
        await self.delay.wait()
        response = {"uid": review["request"]["uid"], **self.response}
        whole = {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
        body = orjson.dumps(whole) if self.body is None else self.body
        return web.Response(body=body, status=self.status, content_type=self.media)


def certificate(directory: Path) -> tuple[Path, Path]:
    """A leaf certificate for loopback, signed by an authority that is thrown away, and its key."""
    key, authority = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name, issuer = x509.Name([]), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(issuer, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(authority, SHA256())
    )
    files = directory / "webhook.crt", directory / "webhook.key"
    files[0].write_bytes(made.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


@pytest_asyncio.fixture(loop_scope="module")
async def webhook(tmp_path: Path) -> AsyncIterator[Webhook]:
    served, (crt, key) = Webhook(), certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(crt, key)
    application = web.Application()
    application.router.add_post("/review", served.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    served.url = f"https://127.0.0.1:{runner.addresses[0][1]}/review"
    served.bundle = base64.b64encode(crt.read_bytes()).decode()
    yield served
    served.delay.set()
    await runner.cleanup()


async def configure(api: "Api", plural: str, lab: str, client: Object, **more: Any) -> None:
    """Have the webhook asked about every config map that is made in the namespace."""
    name = lab.rpartition("/")[2]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": name}}
    hook = {"name": "h.example.com", "clientConfig": client, "rules": [rule], "namespaceSelector": selector}
    hook |= {"sideEffects": "None", "admissionReviewVersions": ["v1"], **more}
    await api.create(f"{GROUP}/{plural}", {"metadata": {"name": name}, "webhooks": [hook]})


def at(webhook: Webhook) -> Object:
    return {"url": webhook.url, "caBundle": webhook.bundle}


async def test_a_webhook_changes_what_is_stored(api: "Api", lab: str, webhook: Webhook) -> None:
    patch = [{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]
    encoded = base64.b64encode(orjson.dumps(patch)).decode()
    webhook.response = {"allowed": True, "patchType": "JSONPatch", "patch": encoded, "warnings": ["changed"]}
    await configure(api, "mutatingwebhookconfigurations", lab, at(webhook), timeoutSeconds=7)
    answer = await api.ask("POST", f"{lab}/configmaps", {"metadata": {"name": "a"}})
    assert (answer.status, answer.warnings) == (201, ["changed"])
    assert (await api.get(f"{lab}/configmaps/a"))["metadata"]["labels"] == {"seen": "yes"}
    (asked,) = webhook.asked
    assert (asked["timeout"], asked["object"]["metadata"]["name"]) == ("7s", "a")


async def test_a_generated_name_is_drawn_after_webhooks(api: "Api", lab: str, webhook: Webhook) -> None:
    encoded = base64.b64encode(orjson.dumps([{"op": "add", "path": "/data", "value": {"a": "1"}}])).decode()
    webhook.response = {"allowed": True, "patchType": "JSONPatch", "patch": encoded}
    await configure(api, "mutatingwebhookconfigurations", lab, at(webhook))
    made = await api.create(f"{lab}/configmaps", {"metadata": {"generateName": "a-"}})
    assert (made["metadata"]["name"][:2], made["data"]) == ("a-", {"a": "1"})
    assert "name" not in webhook.asked[0]["object"]["metadata"]


async def test_a_webhook_refuses(api: "Api", lab: str, webhook: Webhook) -> None:
    webhook.response = {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": "not today"}}
    await configure(api, "validatingwebhookconfigurations", lab, at(webhook))
    answer = await api.ask("POST", f"{lab}/configmaps", {"metadata": {"name": "a"}})
    assert (answer.status, answer.json["reason"]) == (403, "Forbidden")
    assert answer.message == 'admission webhook "h.example.com" denied the request: not today'
    assert (await api.ask("GET", f"{lab}/configmaps/a")).status == 404


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_a_webhook_that_takes_too_long_counts_as_it_says(
    api: "Api", lab: str, webhook: Webhook, policy: str
) -> None:
    webhook.delay.clear()
    kind = "validatingwebhookconfigurations"
    await configure(api, kind, lab, at(webhook), timeoutSeconds=1, failurePolicy=policy)
    answer = await api.ask("POST", f"{lab}/configmaps", {"metadata": {"name": "a"}})
    assert answer.status == (201 if policy == "Ignore" else 500)
    assert policy == "Ignore" or answer.message.endswith('?timeout=1s": context deadline exceeded')


async def test_a_webhook_is_only_talked_to_when_its_certificate_is_good(api: "Api", lab: str, webhook: Webhook) -> None:
    await configure(api, "validatingwebhookconfigurations", lab, {"url": webhook.url})
    answer = await api.ask("POST", f"{lab}/configmaps", {"metadata": {"name": "a"}})
    assert answer.status == 500
    assert "tls: failed to verify certificate: x509: certificate signed by unknown authority" in answer.message
    assert webhook.asked == []


@pytest.mark.parametrize("path", ["//review", "/x/..//./review/"])
async def test_the_path_of_a_webhook_is_cleaned(api: "Api", lab: str, webhook: Webhook, path: str) -> None:
    webhook.response = {"allowed": True}
    client = {"url": webhook.url.removesuffix("/review") + path, "caBundle": webhook.bundle}
    await configure(api, "validatingwebhookconfigurations", lab, client)
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "a"}})
    assert len(webhook.asked) == 1


async def test_a_webhook_that_is_not_there_says_so(api: "Api", lab: str, webhook: Webhook) -> None:
    await configure(api, "validatingwebhookconfigurations", lab, {"url": "https://127.0.0.1:1/review"})
    answer = await api.ask("POST", f"{lab}/configmaps", {"metadata": {"name": "a"}})
    url = "https://127.0.0.1:1/review?timeout=10s"
    assert answer.message == (
        'Internal error occurred: failed calling webhook "h.example.com": failed to call webhook: '
        f'Post "{url}": dial tcp 127.0.0.1:1: connect: connection refused'
    )


async def test_a_webhook_behind_a_service_that_is_not_there_is_refused(api: "Api", lab: str) -> None:
    client = {"service": {"name": "s", "namespace": "n", "path": "/review"}}
    await configure(api, "validatingwebhookconfigurations", lab, client)
    answer = await api.ask("POST", f"{lab}/configmaps", {"metadata": {"name": "a"}})
    assert answer.status == 500
    assert answer.message.endswith('Post "https://s.n.svc:443/review?timeout=10s": service "s" not found')


@pytest.mark.parametrize(("status", "why"), [(404, "could not find the requested resource"), (503, "an error on the")])
async def test_an_error_of_the_webhook_is_passed_on(
    api: "Api", lab: str, webhook: Webhook, status: int, why: str
) -> None:
    webhook.status, webhook.response = status, {"allowed": True}
    await configure(api, "validatingwebhookconfigurations", lab, at(webhook))
    answer = await api.ask("POST", f"{lab}/configmaps", {"metadata": {"name": "a"}})
    assert answer.status == 500
    assert why in answer.message


@pytest.mark.parametrize(
    ("media", "status", "body", "why"),
    [
        pytest.param("application/json", 500, None, 'an error on the server ("unknown") has', id="an error in JSON"),
        pytest.param("text/plain", 500, b"broken\n", 'an error on the server ("broken") has', id="an error in words"),
        pytest.param("application/json", 200, b"", "0-length response with status code: 200 and content", id="nothing"),
        pytest.param("application/json", 200, b"{{", "json parse error: invalid character '{' looking", id="no JSON"),
    ],
)
async def test_what_is_no_answer_is_told(
    api: "Api", lab: str, webhook: Webhook, media: str, status: int, body: bytes | None, why: str
) -> None:
    webhook.media, webhook.status, webhook.body = media, status, body
    await configure(api, "validatingwebhookconfigurations", lab, at(webhook))
    assert why in (await api.ask("POST", f"{lab}/configmaps", {"metadata": {"name": "a"}})).message


@pytest.mark.parametrize(
    ("patch", "kind", "why"),
    [
        pytest.param([], "Poem", None, id="nothing to do, in whatever form"),
        pytest.param([{"op": "add"}], "Poem", 'unsupported patch type "Poem"', id="an unknown form"),
        pytest.param({}, "JSONPatch", "received undecodable patch in webhook response: json: cannot", id="no list"),
        pytest.param(
            [{"op": "replace", "path": "/a/b", "value": 1}],
            "JSONPatch",
            "replace operation does not apply: doc is missing path: /a/b: missing value",
            id="what does not apply",
        ),
    ],
)
async def test_a_patch_that_cannot_be_played_is_told(
    api: "Api", lab: str, webhook: Webhook, patch: Any, kind: str, why: str | None
) -> None:
    encoded = base64.b64encode(orjson.dumps(patch)).decode()
    webhook.response = {"allowed": True, "patchType": kind, "patch": encoded}
    await configure(api, "mutatingwebhookconfigurations", lab, at(webhook))
    answer = await api.ask("POST", f"{lab}/configmaps?dryRun=All", {"metadata": {"name": "a"}})
    assert answer.status == (201 if why is None else 500)
    assert why is None or why in answer.message
    assert webhook.asked[0]["options"]["dryRun"] == ["All"]
