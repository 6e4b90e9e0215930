"""Which credential may do what where: every path and resource that the server has, every verb, against a table.

The table is `expected.json`: rows are generated from what the server itself says it serves, so that an endpoint which
is new fails these tests until somebody has decided who may use it. `python tests/contract/access/test_access.py` prints
the table as it is.
"""

import asyncio
import json
import re
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mockkube.cluster.api_servers.api_server import ApiServerDependencies, Server, build_api_server
from mockkube.cluster.cluster import Cluster
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.state.certificates import Certificates
from mockkube.cluster.state.state_directory import StateDirectory

pytestmark = pytest.mark.asyncio(loop_scope="module")
Object = dict[str, Any]
TABLE: Final = Path(__file__).with_name("expected.json")
QUIET: Final = ("scheduler", "controllers", "kubelets")
METHODS: Final = {
    "create": "POST",
    "delete": "DELETE",
    "deletecollection": "DELETE",
    "get": "GET",
    "list": "GET",
    "patch": "PATCH",
    "update": "PUT",
    "watch": "GET",
}
PATH_METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")
UNLISTED: Final = (
    "/",
    "/debug/pprof/profile",
    "/logs",
    "/openapi/v3/apis/apps/v1",
    "/apis/nobody.example/v1",
    "/nowhere",
)
"""Paths that the server does not tell of."""
REFUSED: Final = re.compile('User ".*" cannot ')
"""What an authorizer says; admission has other words."""
IMPERSONATED: Final = {
    "users": {"Impersonate-User": "x"},
    "groups": {"Impersonate-User": "x", "Impersonate-Group": "system:masters"},
    "serviceaccounts": {"Impersonate-User": "system:serviceaccount:default:x"},
    "uids": {"Impersonate-User": "x", "Impersonate-Uid": "1"},
    "userextras": {"Impersonate-User": "x", "Impersonate-Extra-Scopes": "y"},
}
LIMITED: Final = ("account", "anonymous", "node", "viewer")
"""Those who may do some things; who is the administrator may do everything, and bad credentials nothing."""


class Peer:
    """The transport of a connection on which a client certificate was presented, or none."""

    def __init__(self, certificate: x509.Certificate | None) -> None:
        self._certificate = certificate

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Return what TLS knows of the client."""
        certificate = self._certificate
        if certificate is None or name not in ("peercert", "ssl_object"):
            return default
        if name == "ssl_object":
            return self
        names = {NameOID.COMMON_NAME: "commonName", NameOID.ORGANIZATION_NAME: "organizationName"}
        return {"subject": tuple(((names[one.oid], one.value),) for one in certificate.subject)}

    def getpeercert(self, binary_form: bool) -> bytes:
        """Return the certificate in DER."""
        assert self._certificate is not None
        return self._certificate.public_bytes(Encoding.DER)

    def is_closing(self) -> bool:
        """Return whether the connection has ended."""
        return False


@dataclass(frozen=True, slots=True)
class Credential:
    """What a client shows: a certificate, or headers."""

    headers: Mapping[str, str] = field(default_factory=dict)
    certificate: x509.Certificate | None = None


def bearer(token: str) -> Credential:
    """Return the credential of who has a token."""
    return Credential({"Authorization": f"Bearer {token}"})


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, folder: Path) -> tuple[str, str]:
        """Write both, and return where."""
        certificate, key = folder / "client.crt", folder / "client.key"
        certificate.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        key.write_bytes(self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return str(certificate), str(key)


def issue(
    certificates: Certificates, name: str, groups: Iterable[str], uses: Iterable[x509.ObjectIdentifier]
) -> Issued:
    """Return a certificate that the cluster's authority has signed."""
    authority = x509.load_pem_x509_certificate(certificates.authority.read_bytes())
    signing = load_pem_private_key(certificates.authority_key.read_bytes(), None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    builder = x509.CertificateBuilder(
        authority.subject, x509.Name(subject), key.public_key(), x509.random_serial_number(),
        now - timedelta(minutes=5), now + timedelta(hours=1),
    )  # fmt: skip
    if uses := list(uses):
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    return Issued(builder.sign(signing, hashes.SHA256()), key)


Rows = dict[str, dict[str, str]]
"""By row and verb: a request, as method and path."""
CLIENT: Final = (ExtendedKeyUsageOID.CLIENT_AUTH,)
NODE: Final = ("system:node:n1", ("system:nodes",))


@dataclass(slots=True)
class Site:
    """A server, those who come, and what the server says it has."""

    server: Server
    url: str
    certificates: Certificates
    credentials: dict[str, Credential]
    rows: "Rows" = field(default_factory=dict)

    async def ask(
        self, who: str, method: str, path: str, body: Object | None = None, **headers: str
    ) -> tuple[int, Object]:
        """Send a request as one of them; return the status, and the answer if it is JSON."""
        credential = self.credentials[who]
        sent = {**credential.headers, **headers}
        request = make_mocked_request(method, path, headers=sent, transport=Peer(credential.certificate))
        if body is not None:
            sent["Content-Type"] = "application/json"
            request = make_mocked_request(
                method, path, headers=sent, transport=Peer(credential.certificate), payload=_payload(body)
            )
        response = await self.server.handler(request)
        assert isinstance(response, web.Response)
        text = response.body if isinstance(response.body, bytes) else b""
        try:
            value = orjson.loads(text)
        except ValueError:
            return response.status, {}
        return response.status, value if isinstance(value, dict) else {}

    async def admits(self, who: str, method: str, path: str, **headers: str) -> bool:
        """Return whether a request is let in, whatever becomes of it then; 401 and 403 are told apart."""
        status, answer = await self.ask(who, method, path, **headers)
        if status == 401:
            raise AssertionError(f"{who} is nobody: {method} {path}")
        return not (status == 403 and REFUSED.search(answer.get("message", "")))


def _payload(body: Object) -> aiohttp.StreamReader:
    class Whole:
        """As much of a connection as a reader asks for."""

        _reading_paused = False

        def resume_reading(self, *, resume_parser: bool = True) -> None:
            """Do nothing: all has been read."""

    reader = aiohttp.StreamReader(Whole(), 1 << 16, loop=asyncio.get_running_loop())  # type: ignore[arg-type]
    reader.feed_data(json.dumps(body).encode())
    reader.feed_eof()
    return reader


@asynccontextmanager
async def open_site(folder: Path, **settings: Any) -> AsyncIterator[Site]:
    """Run a server with accounts of each sort."""
    built: list[Server] = []

    def build(given: ApiServerDependencies) -> Server:
        built.append(build_api_server(given))
        return built[-1]

    configuration = ClusterConfiguration(name="access", port=0, db="memory:", without=QUIET, **settings)
    state = StateDirectory(folder)
    async with Cluster(configuration, state, make_api_server=build) as running:
        admin = bearer(running.token)
        site = Site(
            built[0], running.url, Certificates(state.certificates), {"token": admin, "anonymous": Credential()}
        )
        yield site


async def _settle(site: Site) -> None:
    """Create accounts, a custom resource and a server behind this one; learn what is served."""
    for account in ("plain", "viewer"):
        metadata = {"name": account, "namespace": "default"}
        await _made(site, "/api/v1/namespaces/default/serviceaccounts", {"metadata": metadata})
        path = f"/api/v1/namespaces/default/serviceaccounts/{account}/token"
        answer = await _made(site, path, {"spec": {}})
        site.credentials["account" if account == "plain" else account] = bearer(answer["status"]["token"])
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    subject = {"kind": "ServiceAccount", "name": "viewer", "namespace": "default"}
    binding = {"metadata": {"name": "viewer"}, "roleRef": role, "subjects": [subject]}
    await _made(site, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    certificates = site.certificates
    site.credentials |= {
        "certificate": Credential(
            certificate=x509.load_pem_x509_certificate(certificates.admin.read_bytes())
        ),
        "node": Credential(certificate=issue(certificates, *NODE, CLIENT).certificate),
        "bad token": bearer("no-token-of-this-server"),
        "a token with more": bearer(site.credentials["token"].headers["Authorization"].split()[1] + "x"),
        "forged account": bearer(site.credentials["account"].headers["Authorization"].split()[1][:-4] + "AAAA"),
        "authority's certificate": Credential(
            certificate=x509.load_pem_x509_certificate(certificates.authority.read_bytes())
        ),
        "certificate without use": Credential(certificate=issue(certificates, "x", ["system:masters"], ()).certificate),
        "server's certificate": Credential(
            certificate=x509.load_pem_x509_certificate(certificates.serving.read_bytes())
        ),
    }  # fmt: skip
    await _made(site, "/apis/apiregistration.k8s.io/v1/apiservices", _behind())
    site.rows = await _served(site)


def _behind() -> Object:
    spec = {"group": "behind.example", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    spec |= {"service": {"name": "s", "namespace": "default"}, "insecureSkipTLSVerify": True}
    return {"metadata": {"name": "v1.behind.example"}, "spec": spec}


async def _made(site: Site, path: str, body: Object) -> Object:
    status, answer = await site.ask("token", "POST", path, body)
    assert status == 201, answer
    return answer


async def _served(site: Site) -> Rows:
    """Return a row for each resource, part of one, and path."""
    versions = ["/api/v1"]
    _, groups = await site.ask("token", "GET", "/apis")
    versions += [f"/apis/{one['groupVersion']}" for group in groups["groups"] for one in group["versions"]]
    rows: Rows = {}
    for version in versions:
        status, listed = await site.ask("token", "GET", version)
        if status == 200:
            rows |= {
                f"{version.removeprefix('/apis/').removeprefix('/api/')} {one['name']}": _requests(version, one)
                for one in listed["resources"]
            }
    rows["behind.example/v1 things"] = _requests("/apis/behind.example/v1", {"name": "things", "namespaced": True})
    _, root = await site.ask("token", "GET", "/")
    for path in sorted({*root["paths"], *UNLISTED}):
        rows[_path_row(path)] = {method.lower(): f"{method} {path}" for method in PATH_METHODS}
    return rows


def _path_row(path: str) -> str:
    """Return the row of a path; the many checks below a health endpoint are one."""
    first, _, rest = path.removeprefix("/").partition("/")
    return f"/{first}/CHECK" if first in ("healthz", "livez", "readyz") and rest else path


def _requests(version: str, resource: Object) -> dict[str, str]:
    """Return a request for each verb on a resource, none of which changes anything."""
    plural, _, part = resource["name"].partition("/")
    root = f"{version}/namespaces/default/{plural}" if resource["namespaced"] else f"{version}/{plural}"
    named = f"{root}/no-such" + (f"/{part}" if part else "")
    if part:
        return {verb: f"{METHODS[verb]} {named}" for verb in ("create", "delete", "get", "patch", "update")}
    paths = {verb: named if verb in ("delete", "get", "patch", "update") else root for verb in METHODS}
    paths["deletecollection"] += "?dryRun=All"
    paths["watch"] += "?watch=true&resourceVersion=odd"
    return {verb: f"{method} {paths[verb]}" for verb, method in METHODS.items()}


async def table_of(site: Site) -> dict[str, dict[str, str]]:
    """Return who may do what, by row."""
    table: dict[str, dict[str, str]] = {}
    for row, requests in site.rows.items():
        allowed = {}
        for who in LIMITED:
            verbs = [verb for verb, one in requests.items() if await site.admits(who, *one.split(" ", 1))]
            if verbs:
                allowed[who] = " ".join(verbs)
        table[row] = allowed
    for what, headers in IMPERSONATED.items():
        row = f"impersonate {what}"
        table[row] = {who: "get" for who in LIMITED if await site.admits(who, "GET", "/readyz", **headers)}
    return table


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A server over TLS."""
    async with open_site(tmp_path_factory.mktemp("state")) as made:
        await _settle(made)
        yield made


@pytest.mark.timeout(300)
async def test_everybody_may_do_what_the_table_says_and_nothing_else(site: Site) -> None:
    expected = json.loads(TABLE.read_text())
    table = await table_of(site)
    assert sorted(table) == sorted(expected), (
        "an endpoint is new, or gone: decide who may use it, and say so in the table"
    )
    assert {row: allowed for row, allowed in table.items() if allowed != expected[row]} == {}


async def test_all_that_is_routed_is_in_the_table(site: Site) -> None:
    assert site.server.api_server is not None
    registry = site.server.api_server.registry
    routed = {f"{group}/{version} {plural}".lstrip("/") for group, version, plural in registry.resources}
    for (group, version, plural), resource in registry.resources.items():
        at = f"{group}/{version}".lstrip("/")
        routed |= {f"{at} {plural}/{sub.name}" for sub in resource.kind.subresources}
    served = {row for row in site.rows if not row.startswith("/")}
    told_differently = {
        row for row in routed - served if row.partition(" ")[2].partition("/")[0] == "componentstatuses"
    }
    assert {row for row in routed - served - told_differently if not _later(row, registry)} == set()


def _later(row: str, registry: Any) -> bool:
    """Return whether a part of an object does not exist in this version, although its kind lists it."""
    version, _, resource = row.partition(" ")
    group, _, short = version.rpartition("/")
    plural, _, part = resource.partition("/")
    return part == "status" and "status" not in registry.resources[group, short, plural].node.fields


@pytest.mark.parametrize("who", ["token", "certificate"])
async def test_the_administrator_may_do_everything(site: Site, who: str) -> None:
    for requests in site.rows.values():
        for request in requests.values():
            assert await site.admits(who, *request.split(" ", 1)), request
    for headers in IMPERSONATED.values():
        status, answer = await site.ask(who, "GET", "/readyz", **headers)
        assert status == 200, answer


BAD = (
    "bad token", "a token with more", "forged account", "authority's certificate", "certificate without use",
    "server's certificate",
)  # fmt: skip


@pytest.mark.parametrize("who", BAD)
async def test_a_bad_credential_is_nobody_everywhere(site: Site, who: str) -> None:
    for requests in site.rows.values():
        for request in requests.values():
            status, answer = await site.ask(who, *request.split(" ", 1))
            assert (status, answer["message"]) == (401, "Unauthorized"), request


async def test_without_tls_and_token_everybody_may_do_everything(tmp_path: Path, site: Site) -> None:
    async with open_site(tmp_path, tls=False) as open_to_all:
        for requests in site.rows.values():
            for request in requests.values():
                assert await open_to_all.admits("anonymous", *request.split(" ", 1)), request


async def test_without_tls_but_with_a_token_nobody_is_anonymous(tmp_path: Path, site: Site) -> None:
    expected = json.loads(TABLE.read_text())
    async with open_site(tmp_path, tls=False, token="given") as asking:
        for row, requests in site.rows.items():
            let_in = [verb for verb, one in requests.items() if await asking.admits("anonymous", *one.split(" ", 1))]
            assert " ".join(let_in) == expected[row].get("anonymous", ""), row
            assert await asking.admits("token", *requests["get"].split(" ", 1))


# Over TLS: what the handshake lets through, and whom the server takes it for

REVIEW: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def _whoami(site: Site, files: tuple[str, str]) -> str:
    context = ssl.create_default_context(cafile=str(site.certificates.authority))
    context.load_cert_chain(*files)
    async with (
        aiohttp.ClientSession() as session,
        session.post(site.url + REVIEW, json={}, ssl=context) as response,
    ):
        answer = await response.json()
    return str(answer["status"]["userInfo"]["username"]) if response.status == 201 else str(response.status)


async def test_a_client_certificate_names_its_user(site: Site, tmp_path: Path) -> None:
    assert await _whoami(site, issue(site.certificates, *NODE, CLIENT).write(tmp_path)) == "system:node:n1"
    admin = (str(site.certificates.admin), str(site.certificates.admin_key))
    assert await _whoami(site, admin) == "kubernetes-admin"


async def test_a_certificate_without_use_and_the_authoritys_own_are_refused(site: Site, tmp_path: Path) -> None:
    assert await _whoami(site, issue(site.certificates, "x", ["system:masters"], ()).write(tmp_path)) == "401"
    assert await _whoami(site, (str(site.certificates.authority), str(site.certificates.authority_key))) == "401"


async def test_a_servers_certificate_ends_the_handshake(site: Site) -> None:
    with pytest.raises(aiohttp.ClientError):
        await _whoami(site, (str(site.certificates.serving), str(site.certificates.serving_key)))


async def test_over_tls_a_server_answers_to_any_name(site: Site) -> None:
    context = ssl.create_default_context(cafile=str(site.certificates.authority))
    headers = {"Host": "kubernetes.default.svc", "Origin": "https://dashboard.example"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{site.url}/readyz", headers=headers, ssl=context) as answer,
    ):
        assert answer.status == 200


async def main() -> None:
    """Print the table as the server has it."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_site(Path(folder)) as made:
            await _settle(made)
            rows = (
                f"  {json.dumps(row)}: {json.dumps(allowed)}" for row, allowed in sorted((await table_of(made)).items())
            )
            sys.stdout.write("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    asyncio.run(main())
