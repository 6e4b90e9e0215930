"""Read-only access to a running cluster through a kubeconfig.

It reads what kubectl reads, with the standard library only: `mockkube scan` lists objects once and ends.
"""

import contextlib
import json
import os
import re
import socket
import ssl
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from mockkube.cli.options import find_state_directory, start_hint
from mockkube.client.tls import load_client_certificate, make_client_tls_context
from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.cluster.state.kubeconfig import CONTEXT_PREFIX
from mockkube.cluster.state.state_directory import StateDirectory

PAGE_MAX: Final = 500
TIMEOUT_SECONDS: Final = 30.0
_GATE_LINE: Final = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)",stage="\w*"\} ([01])$', re.M)


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """URL, credentials and TLS context of a cluster."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None


def read_kubeconfig(paths: list[Path], context: str | None) -> ClusterAccess:
    """Return the access that the kubeconfigs define; raise ConfigurationError if they are incomplete."""
    # As with kubectl, the first file that has an entry wins.
    configs = [(path, _load_kubeconfig(path)) for path in paths if path.exists()]
    where = os.pathsep.join(map(str, paths))
    if not configs:
        raise ConfigurationError(f"--kubeconfig: {where}: no such file: give one, or manifests with -f")
    wanted = context or next((c["current-context"] for _, c in configs if c.get("current-context")), None)
    if wanted is None:
        raise ConfigurationError(f"--kubeconfig: {where}: no current context: name one with --context")
    path, entry = _find_entry(configs, "contexts", wanted, where)
    _, cluster = _find_entry(configs, "clusters", entry.get("cluster"), where)
    user = _find_entry(configs, "users", entry["user"], where)[1] if entry.get("user") else {}
    return _build_access(cluster, user, path.parent)


def kubeconfig_paths(kubeconfig: str | None, name: str | None, environment: Mapping[str, str]) -> list[Path]:
    """Return the given kubeconfig, that of the named cluster, or those that kubectl reads.

    Without any of these it is that of the cluster `default`. Raise ConfigurationError if the file does not exist.
    """
    if kubeconfig and name is not None:
        raise ConfigurationError("--kubeconfig and --name: both say which cluster: leave one out")
    if kubeconfig:
        return [Path(kubeconfig).expanduser()]
    if name is not None or environment.get("MOCKKUBE_NAME"):
        return [_kubeconfig_of_directory(find_state_directory(name))]
    paths = kubectl_paths(environment)
    if any(path.exists() for path in paths) or environment.get("KUBECONFIG"):
        return paths
    return [_kubeconfig_of_directory(find_state_directory("default"))]


def _kubeconfig_of_directory(directory: StateDirectory) -> Path:
    if not directory.kubeconfig.exists():
        raise ConfigurationError(f"there is no cluster {directory.name!r}: {start_hint(directory.name)}")
    return directory.kubeconfig


def kubectl_paths(environment: Mapping[str, str]) -> list[Path]:
    """Return the kubeconfigs that kubectl reads."""
    if given := environment.get("KUBECONFIG"):
        return [Path(part).expanduser() for part in given.split(os.pathsep) if part]
    return [Path("~/.kube/config").expanduser()]


def require_listener(url: str, context: str) -> None:
    """Raise StartError if nothing listens at the URL of a kubeconfig's context."""
    place = urlsplit(url)
    try:
        port = place.port or (443 if place.scheme == "https" else 80)
        socket.create_connection((place.hostname or "", port), TIMEOUT_SECONDS).close()
    except ConnectionRefusedError:
        ours = context.startswith(CONTEXT_PREFIX)
        other = "start that cluster, or name another with --kubeconfig or --name"
        remedy = start_hint(context.removeprefix(CONTEXT_PREFIX)) if ours else other
        raise StartError(f"nothing runs at {url}: {remedy}") from None
    except (OSError, ValueError):
        return  # the request that follows reports it in full


def current_context(paths: Sequence[Path]) -> str:
    """Return the current context, empty if there is none."""
    found = (_load_kubeconfig(path).get("current-context") for path in paths if path.exists())
    return next((str(name) for name in found if name), "")


def _load_kubeconfig(path: Path) -> dict[str, Any]:
    import yaml

    try:
        config = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise ConfigurationError(f"--kubeconfig: {path}: {error.strerror}: give a readable file") from None
    except (yaml.YAMLError, ValueError):
        raise ConfigurationError(f"--kubeconfig: {path}: not valid YAML: correct it, or give another") from None
    if not isinstance(config, dict):
        raise ConfigurationError(f"--kubeconfig: {path}: not a kubeconfig: give another")
    return config


def _find_entry(
    configs: list[tuple[Path, dict[str, Any]]], section: str, name: Any, where: str
) -> tuple[Path, dict[str, Any]]:
    singular = section.removesuffix("s")
    for path, config in configs:
        for entry in config.get(section) or ():
            if isinstance(entry, dict) and entry.get("name") == name:
                return path, entry.get(singular) or {}
    raise ConfigurationError(f"--kubeconfig: {where}: no {singular} {name!r}: give a file that has it")


def _build_access(cluster: Mapping[str, Any], user: Mapping[str, Any], directory: Path) -> ClusterAccess:
    url = str(cluster.get("server", ""))
    if urlsplit(url).scheme not in ("http", "https"):
        raise ConfigurationError(f"--kubeconfig: server {url!r} is no URL: it must begin with https:// or http://")
    headers = {}
    if user.get("token"):
        headers["Authorization"] = f"Bearer {user['token']}"
    elif user.get("tokenFile"):
        token = _read_data(user, "tokenFile", "", directory)
        headers["Authorization"] = f"Bearer {(token or b'').decode().strip()}"
    elif user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}".encode()
        headers["Authorization"] = f"Basic {b64encode(pair).decode()}"
    elif user.get("exec") or user.get("auth-provider"):
        raise ConfigurationError(
            "--kubeconfig: credentials from a plugin are not read: give a user with a token or a certificate, "
            "or save the objects with 'kubectl get -o yaml' and give them with -f"
        )
    return ClusterAccess(
        url, headers, _build_ssl_context(cluster, user, directory) if url.startswith("https") else None
    )


def _build_ssl_context(cluster: Mapping[str, Any], user: Mapping[str, Any], directory: Path) -> ssl.SSLContext:
    authority = _read_data(cluster, "certificate-authority", "certificate-authority-data", directory)
    try:
        context = make_client_tls_context(authority or b"", insecure=bool(cluster.get("insecure-skip-tls-verify")))
        certificate = _read_data(user, "client-certificate", "client-certificate-data", directory)
        key = _read_data(user, "client-key", "client-key-data", directory)
        if certificate and key:
            load_client_certificate(context, certificate, key)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--kubeconfig: a certificate or key cannot be read: {error}: correct it") from None
    return context


def _read_data(entry: Mapping[str, Any], file_key: str, data_key: str, directory: Path) -> bytes | None:
    """Return the data of an entry, or of the file that it names."""
    if data_key and entry.get(data_key):
        try:
            return b64decode(str(entry[data_key]))
        except ValueError:
            raise ConfigurationError(f"--kubeconfig: {data_key} is not base64: correct it") from None
    if not entry.get(file_key):
        return None
    path = directory / str(entry[file_key])
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"--kubeconfig: {path}: {error.strerror}: make it readable") from None


class LiveCluster:
    """Cluster that is read with GET requests; raises StartError if it does not answer."""

    def __init__(self, access: ClusterAccess) -> None:
        self._login = access

    def read_version(self) -> str:
        """Return the version as `major.minor`."""
        info = self._get("/version") or {}
        # Managed clusters report a minor version like `29+`.
        digits = "".join(letter for letter in str(info.get("minor", "")) if letter.isdigit())
        return f"{info.get('major', '')}.{digits}"

    def read_gates(self) -> dict[str, bool]:
        """Return the gates in the metrics of the API server; none if they cannot be read."""
        text = self._request("/metrics", accept="text/plain")[1].decode(errors="replace")
        return {gate: value == "1" for gate, value in _GATE_LINE.findall(text)}

    def list_objects(self, api_version: str, plural: str, kind: str) -> Iterator[dict[str, Any]]:
        """Yield every object of a resource, page by page; none if the cluster does not serve it."""
        root = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
        query: dict[str, Any] = {"limit": PAGE_MAX}
        while True:
            page = self._get(f"{root}/{plural}?{urlencode(query)}")
            if page is None:
                return
            for item in page.get("items") or ():
                # Items of a list carry neither kind nor apiVersion.
                yield {**item, "apiVersion": api_version, "kind": kind}
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return
            query["continue"] = token

    def _get(self, path: str) -> dict[str, Any] | None:
        """Return the JSON object at a path, None for 404."""
        status, body = self._request(path)
        return None if status == 404 else self._parse_response(path, status, body)

    def _request(self, path: str, accept: str = "application/json") -> tuple[int, bytes]:
        target = urlsplit(self._login.url)
        try:
            with contextlib.closing(self._connect(target.hostname or "", target.port)) as connection:
                headers = {"Accept": accept, **self._login.headers}
                connection.request("GET", target.path.rstrip("/") + path, headers=headers)
                response = connection.getresponse()
                return response.status, response.read()
        except (OSError, HTTPException) as error:
            raise StartError(f"{self._login.url} does not answer: {error or type(error).__name__}") from None

    def _parse_response(self, path: str, status: int, body: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if status != 200 or not isinstance(answer, dict):
            why = answer.get("message") if isinstance(answer, dict) else None
            raise StartError(
                f"{self._login.url} answers {status} to {path.partition('?')[0]}: {why or 'no JSON object'}"
            )
        return answer

    def _connect(self, host: str, port: int | None) -> HTTPConnection:
        if self._login.tls is None:
            return HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        return HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=self._login.tls)
