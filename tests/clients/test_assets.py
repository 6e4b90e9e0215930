"""The executables that `mockkube assets` writes, started as controller-runtime's envtest starts the real ones."""

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

pytestmark = pytest.mark.heavy

MOCKKUBE = [sys.executable, "-m", "mockkube"]
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 20
POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: RequestResponse, resources: [{group: "", resources: [configmaps]}]}
- {level: None}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Authority:
    """A CA like envtest's, with serving and client certificates."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = f"ca-{directory.name}"
        certificate = self._sign(self._key, self._name, (), is_authority=True)
        self.path, _ = self._write("ca", self._key, certificate)

    def issue(self, name: str, groups: tuple[str, ...] = (), *, serving: bool = False) -> tuple[Path, Path]:
        """Return the files of a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        return self._write(name, key, self._sign(key, name, groups, serving=serving))

    def _sign(
        self, key: ec.EllipticCurvePrivateKey, name: str, groups: tuple[str, ...], *, is_authority: bool = False,
        serving: bool = False,
    ) -> x509.Certificate:  # fmt: skip
        now = datetime.now(UTC)
        names = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        names += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self._name)])
        builder = (
            x509.CertificateBuilder(issuer, x509.Name(names), key.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            usage = ExtendedKeyUsageOID.SERVER_AUTH if serving else ExtendedKeyUsageOID.CLIENT_AUTH
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if serving:
            alternatives = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _write(self, name: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> tuple[Path, Path]:
        certificate_path, key_path = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        certificate_path.write_bytes(certificate.public_bytes(Encoding.PEM))
        key_path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
        return certificate_path, key_path


@dataclass
class ControlPlane:
    """An `etcd` and API servers on it, as envtest starts them."""

    assets: Path
    home: Path
    flags: tuple[str, ...] = ()
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)
        self.authority = Authority(self.home / "pki")
        (self.home / "certs").mkdir()
        for path, name in zip(self.authority.issue("serving", serving=True), ("crt", "key"), strict=True):
            shutil.copy(path, self.home / "certs" / f"apiserver.{name}")
        self.signer = self.authority.issue("sa-signer")
        self.admin = self.authority.issue("admin", ("system:masters",))
        self.etcd_port = free_port()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def start(self, name: str, command: str, url: str, *arguments: str) -> None:
        """Start an executable in a process group of its own and wait until it is healthy."""
        with (self.home / f"{name}.log").open("ab") as log:
            process = self.processes[name] = subprocess.Popen(
                [self.assets / command, *arguments], stdout=log, stderr=log, process_group=0
            )
        ends_at = time.monotonic() + START_SECONDS_MAX
        context = ssl._create_unverified_context() if url.startswith("https") else None
        while time.monotonic() < ends_at:
            assert process.poll() is None, (self.home / f"{name}.log").read_text()
            try:
                with urllib.request.urlopen(url, context=context, timeout=START_SECONDS_MAX) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                time.sleep(0.01)
        raise TimeoutError(f"{name} did not become healthy")

    def start_etcd(self) -> None:
        url = f"http://127.0.0.1:{self.etcd_port}"
        self.start(
            "etcd", "etcd", f"{url}/health", f"--data-dir={self.home}/data", f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}", "--listen-peer-urls=http://localhost:0", "--unsafe-no-fsync=true",
        )  # fmt: skip

    def start_server(self, name: str = "api", *flags: str) -> "Api":
        port = free_port()
        url = f"https://127.0.0.1:{port}"
        self.start(
            name, "kube-apiserver", f"{url}/healthz", "--allow-privileged=true", "--authorization-mode=RBAC",
            "--bind-address=127.0.0.1", f"--cert-dir={self.home}/certs", f"--client-ca-file={self.authority.path}",
            "--disable-admission-plugins=ServiceAccount", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            f"--secure-port={port}", f"--service-account-issuer={url}/",
            f"--service-account-key-file={self.signer[0]}", f"--service-account-signing-key-file={self.signer[1]}",
            "--service-cluster-ip-range=10.0.0.0/24", *self.flags, *flags,
        )  # fmt: skip
        return Api(url, self.authority.path, self.admin)

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal to the process group; return the exit code."""
        process = self.processes.pop(name)
        os.killpg(process.pid, number)
        return process.wait(STOP_SECONDS_MAX)


@dataclass
class Api:
    """Requests to one API server, as one user."""

    url: str
    authority: Path
    certificate: tuple[Path, Path] | None
    token: str = ""

    def call(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """Return the decoded answer; its `code` is the status of an error."""
        context = ssl.create_default_context(cafile=str(self.authority))
        if self.certificate is not None:
            context.load_cert_chain(*self.certificate)
        request = urllib.request.Request(self.url + path, method=method, headers={**(headers or {})})
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, context=context, timeout=START_SECONDS_MAX) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return json.loads(error.read())

    def create_config_map(self, name: str, value: str = "v") -> Any:
        body = {"metadata": {"name": name}, "data": {"key": value}}
        return self.call("POST", "/api/v1/namespaces/default/configmaps", body)

    def config_maps(self) -> list[str]:
        found = self.call("GET", "/api/v1/namespaces/default/configmaps")
        return sorted(item["metadata"]["name"] for item in found["items"])


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("assets")
    written = subprocess.run([*MOCKKUBE, "assets", directory], capture_output=True, text=True, check=True)
    assert written.stdout == f"{directory}\n"
    return directory


@pytest.fixture
def plane(assets: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    with ControlPlane(assets, tmp_path / "plane") as plane:
        plane.start_etcd()
        yield plane


def test_help_and_version(assets: Path) -> None:
    def output(name: str, flag: str) -> str:
        return subprocess.run([assets / name, flag], capture_output=True, text=True, check=True).stdout

    help_text = output("kube-apiserver", "--help")
    # envtest looks for flags at the beginning of lines.
    assert re.search(r"(?m)^\s*--service-account-issuer\b", help_text)
    assert not re.search(r"(?m)^\s*--insecure-port\b", help_text)
    assert output("kube-apiserver", "--version") == "Kubernetes v1.36.4\n"
    assert output("etcd", "--version").startswith("etcd Version: 3.")
    assert "--data-dir" in output("etcd", "--help")


def test_layouts(tmp_path: Path) -> None:
    command = [*MOCKKUBE, "assets", tmp_path, "--layout", "envtest", "--version", "1.35"]
    found = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    assert re.fullmatch(r"1\.35\.\d+-(linux|darwin)-(amd64|arm64)", found.name)
    assert found.parent == tmp_path / "k8s"
    version = subprocess.run([found / "kube-apiserver", "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("Kubernetes v1.35.")


def test_flags_that_the_real_one_refuses(assets: Path) -> None:
    refused = subprocess.run([assets / "kube-apiserver", "--nonsense=1"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (1, "Error: unknown flag: --nonsense\n")
    refused = subprocess.run([assets / "kube-apiserver"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert re.match(r'E\d{4} .*\] "command failed" err="\[--etcd-servers must be specified', refused.stderr)


def test_users_and_permissions(plane: ControlPlane) -> None:
    api = plane.start_server()
    jane = Api(api.url, api.authority, plane.authority.issue("jane", ("devs",)))
    nobody = Api(api.url, api.authority, None)
    path = "/api/v1/namespaces/default/configmaps"
    assert api.create_config_map("a")["metadata"]["name"] == "a"
    assert jane.call("GET", path)["code"] == 403
    assert nobody.call("GET", path)["code"] == 403
    assert nobody.call("GET", "/version")["gitVersion"].startswith("v1.36")
    subject = {"kind": "Group", "name": "devs", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "devs"}, "subjects": [subject], "roleRef": role}
    api.call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", binding)
    assert jane.config_maps() == ["a"]


def test_service_account_tokens_are_signed_with_the_given_key(plane: ControlPlane) -> None:
    api = plane.start_server()
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    api.call("POST", accounts, {"metadata": {"name": "robot"}})
    token = api.call("POST", f"{accounts}/robot/token", {"spec": {"expirationSeconds": 3600}})["status"]["token"]
    robot = Api(api.url, api.authority, None, token)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    who = robot.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert who["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
    plane.stop("api")
    # Another server with the same key knows the token, although its own issuer is another one.
    other = plane.start_server("api", f"--service-account-issuer={api.url}/")
    again = Api(other.url, other.authority, None, token).call(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review
    )
    assert again["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"


def test_data_outlive_restarts_and_kills(plane: ControlPlane) -> None:
    api = plane.start_server()
    api.create_config_map("a")
    assert plane.stop("api") == 0
    api = plane.start_server()
    assert api.config_maps() == ["a"]
    api.create_config_map("b")
    plane.stop("api", signal.SIGKILL)
    plane.stop("etcd", signal.SIGKILL)
    plane.start_etcd()
    api = plane.start_server()
    assert api.config_maps() == ["a", "b"]


def test_a_server_waits_for_etcd_as_long_as_its_flag_says(plane: ControlPlane) -> None:
    plane.stop("etcd")
    with pytest.raises(AssertionError, match=r"command failed.*is not available"):
        plane.start_server("early", "--storage-initialization-timeout=10ms")
    starting = threading.Timer(0.5, plane.start_etcd)
    starting.start()
    assert "default" in plane.start_server().call("GET", "/api/v1/namespaces/default")["metadata"]["name"]
    starting.join()


def test_a_server_outlives_a_restart_of_etcd(plane: ControlPlane) -> None:
    api = plane.start_server()
    api.create_config_map("a")
    plane.stop("etcd")
    assert api.create_config_map("b")["code"] == 503
    plane.start_etcd()
    ends_at = time.monotonic() + START_SECONDS_MAX
    while api.create_config_map("b").get("code") == 503:
        assert time.monotonic() < ends_at
    assert api.config_maps() == ["a", "b"]


def test_two_servers_on_one_etcd_see_each_other(plane: ControlPlane) -> None:
    first, second = plane.start_server("first"), plane.start_server("second")
    for index in range(20):
        first.create_config_map(f"a{index:02}")
        # Read at once: a server never answers from before a write that has been acknowledged.
        assert f"a{index:02}" in second.config_maps()
    taken = second.create_config_map("a00")
    assert taken["reason"] == "AlreadyExists"
    old = first.call("GET", "/api/v1/namespaces/default/configmaps/a00")
    second.call("PUT", "/api/v1/namespaces/default/configmaps/a00", {**old, "data": {"key": "second"}})
    lost = first.call("PUT", "/api/v1/namespaces/default/configmaps/a00", {**old, "data": {"key": "first"}})
    assert lost["reason"] == "Conflict"


def test_audit_log_and_static_tokens(assets: Path, tmp_path: Path) -> None:
    policy, log, tokens = tmp_path / "policy.yaml", tmp_path / "audit.log", tmp_path / "tokens.csv"
    policy.write_text(POLICY)
    tokens.write_text('secret,jane,uid-1,"system:masters"\n')
    flags = (f"--audit-policy-file={policy}", f"--audit-log-path={log}", f"--token-auth-file={tokens}")
    with ControlPlane(assets, tmp_path / "plane", flags) as plane:
        plane.start_etcd()
        api = plane.start_server()
        jane = Api(api.url, api.authority, None, "secret")
        jane.create_config_map("a", "x")
        jane.call("GET", "/api/v1/namespaces/default/configmaps/none", headers={"Impersonate-User": "joe"})
        assert Api(api.url, api.authority, None, "other").call("GET", "/api")["code"] == 401
        events = [json.loads(line) for line in log.read_text().splitlines()]
    created, denied = events
    assert created["verb"] == "create"
    assert created["user"] == {"username": "jane", "uid": "uid-1", "groups": ["system:masters", "system:authenticated"]}
    assert created["objectRef"]["name"] == "a"
    assert created["requestObject"]["data"] == created["responseObject"]["data"] == {"key": "x"}
    assert created["responseStatus"] == {"metadata": {}, "code": 201}
    assert denied["impersonatedUser"]["username"] == "joe"
    assert denied["responseStatus"]["reason"] == "Forbidden"
    assert denied["annotations"]["authorization.k8s.io/decision"] == "forbid"


def test_tolerations_of_pods_last_as_long_as_the_flags_say(plane: ControlPlane) -> None:
    api = plane.start_server(
        "api", "--default-not-ready-toleration-seconds=7", "--default-unreachable-toleration-seconds=8"
    )
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    tolerations = api.call("POST", "/api/v1/namespaces/default/pods", pod)["spec"]["tolerations"]
    assert {one["key"].partition("/")[2]: one["tolerationSeconds"] for one in tolerations} == {
        "not-ready": 7,
        "unreachable": 8,
    }


def test_request_headers_of_a_proxy(assets: Path, tmp_path: Path) -> None:
    proxies = Authority(tmp_path / "proxies")
    flags = (
        f"--requestheader-client-ca-file={proxies.path}", "--requestheader-allowed-names=proxy",
        "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    )  # fmt: skip
    headers = {"X-Remote-User": "jane", "X-Remote-Group": "system:masters", "X-Remote-Extra-Team": "red"}
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    with ControlPlane(assets, tmp_path / "plane", flags) as plane:
        plane.start_etcd()
        api = plane.start_server()

        def ask(certificate: tuple[Path, Path] | None) -> Any:
            return Api(api.url, api.authority, certificate).call("POST", path, review, headers)

        user = ask(proxies.issue("proxy"))["status"]["userInfo"]
        assert (user["username"], user["extra"]["team"]) == ("jane", ["red"])
        assert "system:masters" in user["groups"]
        # Whoever has no certificate of the proxies' CA, or another name, is not believed.
        assert ask(None)["code"] == 403
        assert ask(proxies.issue("other"))["code"] == 403
        joe = ask(plane.authority.issue("joe"))
        assert joe["status"]["userInfo"]["username"] == "joe"
        # Aggregated servers learn of the same proxies.
        published = api.call("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
        assert published["data"] == {
            "client-ca-file": plane.authority.path.read_text(),
            "requestheader-allowed-names": '["proxy"]',
            "requestheader-client-ca-file": proxies.path.read_text(),
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-username-headers": '["X-Remote-User"]',
        }


def test_controllers(tmp_path: Path) -> None:
    command = [*MOCKKUBE, "assets", tmp_path / "assets", "--nodes", "1"]
    subprocess.run(command, capture_output=True, check=True)
    with ControlPlane(tmp_path / "assets", tmp_path / "plane") as plane:
        plane.start_etcd()
        api = plane.start_server()
        api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
        api.call("DELETE", "/api/v1/namespaces/gone")
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
        api.call("POST", "/api/v1/namespaces/default/pods", pod)
        ends_at = time.monotonic() + START_SECONDS_MAX
        while (
            api.call("GET", "/api/v1/namespaces/gone").get("reason") != "NotFound"
            or api.call("GET", "/api/v1/namespaces/default/pods/p")["status"]["phase"] != "Running"
        ):
            assert time.monotonic() < ends_at
            time.sleep(0.05)


def test_the_server_ends_with_the_test_process(assets: Path, tmp_path: Path) -> None:
    """A killed test binary leaves nothing running behind."""
    url = f"http://127.0.0.1:{free_port()}"
    start = (
        "import subprocess, sys; child = subprocess.Popen(sys.argv[1:], process_group=0); "
        "print(child.pid, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", start, assets / "etcd", f"--data-dir={tmp_path}/d", f"--listen-client-urls={url}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    ends_at = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=START_SECONDS_MAX):
                break
        except OSError:
            assert time.monotonic() < ends_at
    parent.kill()
    parent.wait()
    while Path(f"/proc/{child}").exists() and Path(f"/proc/{child}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < ends_at
        time.sleep(0.05)
    parent.stdout.close()
    assert parent.stdin is not None
    parent.stdin.close()
