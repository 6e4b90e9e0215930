"""Kubeconfig reader: server address, trusted certificates and credentials of a context, merged from files."""

# upstream 1.36: staging/src/k8s.io/client-go/tools/clientcmd/{client_config,validation}.go
import os
import ssl
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from mockkube.api.decoding import bounded_yaml
from mockkube.client.tls import load_client_certificate, make_client_tls_context
from mockkube.lazy_dataclasses import dataclass

_UNSUPPORTED: Final = {
    "exec": "runs a program for its credentials",
    "auth-provider": "asks a provider for its credentials",
}


class KubeconfigError(Exception):
    """Error in a kubeconfig; its text names the file, the place and the remedy."""


@dataclass(frozen=True, slots=True)
class RestConfig:
    """Address of a server, and the credentials to present there."""

    server: str
    # Certificates of the authorities that may sign the server's certificate; empty for those that the machine trusts.
    authority: bytes = b""
    insecure: bool = False
    # Name to expect in the server's certificate, if it differs from the host of the address.
    server_name: str = ""
    certificate: bytes = b""
    key: bytes = b""
    token: str = ""
    # File of the token, which takes precedence and is read for each request, because its content may be replaced.
    token_file: Path | None = None
    # Used without a token.
    username: str = ""
    password: str = ""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of requests that carry the credentials; empty without a token or password."""
        if token := self._read_token_file() or self.token:
            return {"Authorization": f"Bearer {token}"}
        if self.username:
            return {"Authorization": f"Basic {b64encode(f'{self.username}:{self.password}'.encode()).decode()}"}
        return {}

    def _read_token_file(self) -> str:
        """Return the present token of the file; empty if there is none, or while it cannot be read."""
        # upstream 1.36: client-go/transport/token_source.go
        try:
            return "" if self.token_file is None else self.token_file.read_text().strip()
        except (OSError, ValueError):
            return ""

    def tls(self) -> ssl.SSLContext | None:
        """Return the TLS context for the server; None for plain HTTP. Raises KubeconfigError."""
        if not self.server.startswith("https:"):
            return None
        subject = "certificate authority"
        try:
            context = make_client_tls_context(self.authority, insecure=self.insecure)
            subject = "client certificate"
            if self.certificate:
                load_client_certificate(context, self.certificate, self.key)
        except (ssl.SSLError, ValueError):
            raise KubeconfigError(f"the {subject} for {self.server} cannot be read: give one in PEM form") from None
        return context


def load(path: Path, context: str = "") -> RestConfig:
    """Return server and credentials of a context, by default the current one; raise KubeconfigError."""
    return _Kubeconfig(((path, _parse_file(path)),)).rest_config(context)


def load_merged(paths: Sequence[Path], context: str = "") -> RestConfig:
    """Return server and credentials of a context in the first file that has it, as kubectl does with KUBECONFIG.

    Files that do not exist are left out, unless none does. Raise KubeconfigError.
    """
    return _merge(paths).rest_config(context)


def find_current_context(paths: Sequence[Path]) -> str:
    """Return the current context of the first file that has one, empty if none has; raise KubeconfigError."""
    return _merge(paths).current_context


def _merge(paths: Sequence[Path]) -> "_Kubeconfig":
    existing = [path for path in paths if path.exists()] or paths[:1]
    return _Kubeconfig(tuple((path, _parse_file(path)) for path in existing))


def _parse_file(path: Path) -> dict[str, Any]:
    try:
        config = bounded_yaml.load(path.read_bytes())
    except OSError as error:
        raise _error(path, f"{error.strerror}", "give a file that can be read") from None
    except (yaml.YAMLError, ValueError):
        raise _error(path, "it is not YAML", "correct it") from None
    if not isinstance(config, dict):
        raise _error(path, "it is not a kubeconfig", "correct it")
    return config


@dataclass(frozen=True, slots=True)
class _Kubeconfig:
    """Parsed kubeconfigs; the first that has an entry wins, as in kubectl."""

    files: tuple[tuple[Path, Mapping[str, Any]], ...]

    @property
    def current_context(self) -> str:
        """Current context of the first file that has one; empty if none has."""
        return next((str(name) for _, config in self.files if (name := config.get("current-context"))), "")

    def rest_config(self, context: str) -> RestConfig:
        """Return server, certificates and credentials of a context, by default the current one."""
        name = context or self.current_context
        if not name:
            raise self._error("it has no current context", "set one with `kubectl config use-context`")
        _, chosen = self._find_entry("context", name)
        cluster_name, user_name = str(chosen.get("cluster", "")), str(chosen.get("user", ""))
        path, cluster = self._find_entry("cluster", cluster_name)
        # A context without a user is valid: requests are anonymous then.
        user_path, user = self._find_entry("user", user_name) if user_name else (path, {})
        server = str(cluster.get("server") or "").rstrip("/")
        if not server.startswith(("http://", "https://")):
            raise self._error(f"cluster {cluster_name!r} has no server that begins with http", "name one")
        # Better an error here than anonymous requests that the server rejects one by one.
        for key, problem in _UNSUPPORTED.items():
            if user.get(key):
                raise self._error(f"user {user_name!r} {problem} ({key})", "give it a token or a client certificate")
        return RestConfig(
            server=server,
            authority=_read_data(path, cluster, "certificate-authority"),
            insecure=bool(cluster.get("insecure-skip-tls-verify")),
            server_name=str(cluster.get("tls-server-name") or ""),
            certificate=_read_data(user_path, user, "client-certificate"),
            key=_read_data(user_path, user, "client-key"),
            token=_read_token(user_path, user),
            token_file=user_path.parent / str(user["tokenFile"]) if user.get("tokenFile") else None,
            username=str(user.get("username") or ""),
            password=str(user.get("password") or ""),
        )

    def _find_entry(self, section: str, name: str) -> tuple[Path, Mapping[str, Any]]:
        known: list[str] = []
        for path, config in self.files:
            entries = [entry for entry in config.get(f"{section}s") or () if isinstance(entry, dict)]
            for entry in entries:
                found = entry.get(section) or {}
                if entry.get("name") == name and isinstance(found, dict):
                    return path, found
            known += [str(entry.get("name")) for entry in entries]
        raise self._error(f"there is no {section} {name!r}", f"choose one of: {', '.join(known) or 'none'}")

    def _error(self, problem: str, remedy: str) -> KubeconfigError:
        return _error(os.pathsep.join(str(path) for path, _ in self.files), problem, remedy)


def _read_data(path: Path, entry: Mapping[str, Any], name: str) -> bytes:
    """Return the inline `-data` of a field, else the content of the file it names."""
    if data := entry.get(f"{name}-data"):
        try:
            return b64decode(str(data), validate=True)
        except ValueError:
            raise _error(path, f"{name}-data is not base64", "correct it") from None
    return _read_file(path, str(entry[name])) if entry.get(name) else b""


def _read_token(path: Path, user: Mapping[str, Any]) -> str:
    """Return the token beside a `tokenFile`, else the one in it."""
    if token := user.get("token"):
        return str(token)
    if not user.get("tokenFile"):
        return ""
    token = _read_file(path, str(user["tokenFile"])).decode(errors="replace").strip()
    if not token:
        raise _error(path, f"{user['tokenFile']} is empty", "write a token to it")
    return token


def _read_file(path: Path, name: str) -> bytes:
    """Return the content of a file that a kubeconfig names, relative to its directory."""
    try:
        return (path.parent / name).read_bytes()
    except OSError as error:
        raise _error(path, f"{name}: {error.strerror}", "make it readable") from None


def _error(path: Path | str, problem: str, remedy: str) -> KubeconfigError:
    return KubeconfigError(f"kubeconfig {path}: {problem}: {remedy}")
