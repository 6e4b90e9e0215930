"""Kubeconfig reader: server address, trusted certificates and credentials of a context."""

# upstream 1.36: staging/src/k8s.io/client-go/tools/clientcmd/{client_config,validation}.go
import ssl
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from mockkube.client.tls import load_client_certificate, make_client_tls_context

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNSUPPORTED: Final = {
    "exec": "runs a program for its credentials",
    "auth-provider": "asks a provider for its credentials",
    "username": "logs in with a password",
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
    """Return the access settings of a context, by default the current one; raise KubeconfigError."""
    config = _parse_file(path)
    name = context or config.get("current-context") or ""
    if not name:
        raise _error(path, "it has no current context", "set one with `kubectl config use-context`")
    return _Kubeconfig(path, config).rest_config(name)


def _parse_file(path: Path) -> dict[str, Any]:
    try:
        config = yaml.load(path.read_bytes(), Loader=_LOADER)
    except OSError as error:
        raise _error(path, f"{error.strerror}", "give a file that can be read") from None
    except (yaml.YAMLError, ValueError):
        raise _error(path, "it is not YAML", "correct it") from None
    if not isinstance(config, dict):
        raise _error(path, "it is not a kubeconfig", "correct it")
    return config


@dataclass(frozen=True, slots=True)
class _Kubeconfig:
    """One parsed kubeconfig; paths in it are relative to its directory."""

    path: Path
    config: Mapping[str, Any]

    def rest_config(self, context: str) -> RestConfig:
        """Return server, certificates and credentials of a context."""
        chosen = self._find_entry("context", context)
        cluster_name, user_name = str(chosen.get("cluster", "")), str(chosen.get("user", ""))
        cluster = self._find_entry("cluster", cluster_name)
        # A context without a user is valid: requests are anonymous then.
        user = self._find_entry("user", user_name) if user_name else {}
        server = str(cluster.get("server") or "").rstrip("/")
        if not server.startswith(("http://", "https://")):
            raise self._error(f"cluster {cluster_name!r} has no server that begins with http", "name one")
        # Better an error here than anonymous requests that the server rejects one by one.
        for key, problem in _UNSUPPORTED.items():
            if user.get(key):
                raise self._error(f"user {user_name!r} {problem} ({key})", "give it a token or a client certificate")
        return RestConfig(
            server=server,
            authority=self._read_data(cluster, "certificate-authority"),
            insecure=bool(cluster.get("insecure-skip-tls-verify")),
            server_name=str(cluster.get("tls-server-name") or ""),
            certificate=self._read_data(user, "client-certificate"),
            key=self._read_data(user, "client-key"),
            token=self._read_token(user),
        )

    def _find_entry(self, section: str, name: str) -> Mapping[str, Any]:
        for entry in self.config.get(f"{section}s") or ():
            if isinstance(entry, dict) and entry.get("name") == name:
                found = entry.get(section) or {}
                if isinstance(found, dict):
                    return found
        known = [str(entry.get("name")) for entry in self.config.get(f"{section}s") or () if isinstance(entry, dict)]
        raise self._error(f"there is no {section} {name!r}", f"choose one of: {', '.join(known) or 'none'}")

    def _read_data(self, entry: Mapping[str, Any], name: str) -> bytes:
        """Return the inline `-data` of a field, else the content of the file it names."""
        if data := entry.get(f"{name}-data"):
            try:
                return b64decode(str(data), validate=True)
            except ValueError:
                raise self._error(f"{name}-data is not base64", "correct it") from None
        return self._read_file(str(entry[name])) if entry.get(name) else b""

    def _read_token(self, user: Mapping[str, Any]) -> str:
        if token := user.get("token"):
            return str(token)
        return self._read_file(str(user["tokenFile"])).decode().strip() if user.get("tokenFile") else ""

    def _read_file(self, name: str) -> bytes:
        try:
            return (self.path.parent / name).read_bytes()
        except OSError as error:
            raise self._error(f"{name}: {error.strerror}", "make it readable") from None

    def _error(self, problem: str, remedy: str) -> KubeconfigError:
        return _error(self.path, problem, remedy)


def _error(path: Path, problem: str, remedy: str) -> KubeconfigError:
    return KubeconfigError(f"kubeconfig {path}: {problem}: {remedy}")
