"""Read-only access to a running cluster through a kubeconfig.

It reads what kubectl reads, without an event loop: `mockkube scan` lists objects once and ends.
"""

import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from mockkube.cli.options import find_state_directory, start_hint
from mockkube.client.blocking_http import BlockingHttpClient, HttpResponse, NoResponseError, list_objects
from mockkube.client.kubeconfig import RestConfig
from mockkube.cluster.configuration.errors import ConfigurationError, StartError
from mockkube.cluster.state.kubeconfig import CONTEXT_PREFIX
from mockkube.cluster.state.state_directory import StateDirectory

PAGE_MAX: Final = 500
TIMEOUT_SECONDS: Final = 30.0
CONTROL_API: Final = "/apis/control.mockkube.dev/v1alpha1"
_GATE_LINE: Final = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)",stage="\w*"\} ([01])$', re.M)


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


class LiveCluster:
    """Cluster that is read with GET requests; raises StartError if it does not answer."""

    def __init__(self, config: RestConfig) -> None:
        """Raise KubeconfigError if a certificate cannot be read."""
        self._client = BlockingHttpClient(config)

    def read_version(self) -> str:
        """Return the version as `major.minor`."""
        info = self._get("/version") or {}
        # Managed clusters report a minor version like `29+`.
        digits = "".join(letter for letter in str(info.get("minor", "")) if letter.isdigit())
        return f"{info.get('major', '')}.{digits}"

    def read_gates(self) -> dict[str, bool]:
        """Return the gates in the metrics of the API server; none if they cannot be read."""
        text = self._request("/metrics", accept="text/plain").body.decode(errors="replace")
        return {gate: value == "1" for gate, value in _GATE_LINE.findall(text)}

    def read_control_api(self, path: str = "", *, seconds: float = TIMEOUT_SECONDS) -> HttpResponse:
        """Return the response of the control API to a path below its root."""
        return self._request(CONTROL_API + path, seconds=seconds)

    def list_objects(self, api_version: str, plural: str, kind: str) -> Iterator[dict[str, Any]]:
        """Return every object of a resource, read page by page; none if the cluster does not serve it."""
        return list_objects(self._get, api_version, plural, kind, page_size=PAGE_MAX)

    def _get(self, path: str) -> dict[str, Any] | None:
        """Return the JSON object at a path, None for 404."""
        response = self._request(path)
        return None if response.status == 404 else self._parse_response(path, response)

    def _request(
        self, path: str, *, accept: str = "application/json", seconds: float = TIMEOUT_SECONDS
    ) -> HttpResponse:
        try:
            return self._client.get(path, seconds=seconds, accept=accept)
        except NoResponseError as error:
            raise StartError(str(error)) from None

    def _parse_response(self, path: str, response: HttpResponse) -> dict[str, Any]:
        try:
            answer = json.loads(response.body)
        except ValueError:
            answer = None
        if response.status != 200 or not isinstance(answer, dict):
            why = answer.get("message") if isinstance(answer, dict) else None
            place = path.partition("?")[0]
            raise StartError(f"{self._client.server} answers {response.status} to {place}: {why or 'no JSON object'}")
        return answer
