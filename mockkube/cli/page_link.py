"""Links to the page of a cluster, as its API server issues them, and the exploration that the page shows."""

import json
import ssl
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from mockkube.cli.live_cluster import LiveCluster
from mockkube.client.kubeconfig import RestConfig
from mockkube.cluster.configuration.errors import StartError

_LINK_PATH = "/components/kube-apiserver/ui"
_SECONDS_MAX = 30.0
_OK = 200


def issue_link(config: RestConfig) -> str:
    """Return a link that logs in the user of a kubeconfig once; StartError if the cluster issues none."""
    response = LiveCluster(config).read_control_api(_LINK_PATH)
    try:
        answer = json.loads(response.body)
    except ValueError:
        answer = {}
    if response.status != _OK or not isinstance(answer, dict) or "url" not in answer:
        why = answer.get("message", "") if isinstance(answer, dict) else ""
        raise StartError(
            f"{config.server} has no page: {why or f'it answers {response.status}'}: "
            "name a cluster of 'mockkube up' with --name, and a user who may get components/ui"
        )
    return str(answer["url"])


def upload_exploration(link: str, content: bytes, tls: ssl.SSLContext | None) -> None:
    """Log in with a link, and give its page the result of an exploration."""
    parts = urlsplit(link)
    host = parts.hostname or ""
    connection = (
        HTTPConnection(host, parts.port, timeout=_SECONDS_MAX)
        if tls is None
        else HTTPSConnection(host, parts.port, timeout=_SECONDS_MAX, context=tls)
    )
    try:
        with closing(connection):
            body = json.dumps({"code": parts.fragment})
            connection.request("POST", "/ui/login", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            cookie = response.headers.get("Set-Cookie", "").partition(";")[0]
            headers = {"Cookie": cookie, "Mockkube-Ui-Key": json.loads(response.read()).get("key", "")}
            connection.request("PUT", "/ui/exploration", content, {**headers, "Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
            if response.status != _OK:
                raise StartError(f"the page refuses the exploration: {answer.get('message', '')}")
            connection.request("POST", "/ui/logout", "{}", {**headers, "Content-Type": "application/json"})
            connection.getresponse().read()
    except (OSError, HTTPException, ValueError) as error:
        raise StartError(f"the page of the cluster does not answer: {error or type(error).__name__}") from None
