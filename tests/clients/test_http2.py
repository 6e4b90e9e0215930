"""HTTP/2 as clients negotiate it: kubectl by itself, curl with and without TLS."""

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.clients.conftest import Kubectl, RunningCluster


def test_kubectl_speaks_http2(kubectl: "Kubectl") -> None:
    environment = {**kubectl.environment, "GODEBUG": "http2debug=1"}
    command = [kubectl.path, "get", "namespaces", "--output", "name"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "namespace/default" in done.stdout
    assert "http2: Transport received SETTINGS" in done.stderr


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_curl_gets_the_version_it_asks_for(cluster: "RunningCluster", version: str) -> None:
    curl = shutil.which("curl")
    if curl is None or "HTTP2" not in subprocess.run([curl, "--version"], capture_output=True, text=True).stdout:
        pytest.skip("no curl with HTTP/2 on this machine")
    command = [curl, "--silent", "--show-error", version, "--cacert", cluster.ca_file]
    command += ["--header", f"Authorization: Bearer {cluster.token}", "--write-out", "\n%{http_version} %{http_code}"]
    done = subprocess.run([*command, f"{cluster.url}/version"], capture_output=True, text=True, check=True)
    body, _, said = done.stdout.rpartition("\n")
    assert json.loads(body)["major"] == "1"
    assert said == f"{'2' if version == '--http2' else '1.1'} 200"
