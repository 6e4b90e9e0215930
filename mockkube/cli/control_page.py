"""Read a page of the control API of the cluster in a kubeconfig."""

import urllib.request
from typing import Final

from mockkube.client.kubeconfig import RestConfig

CONTROL: Final = "/apis/control.mockkube.dev/v1alpha1"


def read_page(config: RestConfig, path: str = "", *, seconds: float) -> bytes:
    """Return a page below the root of the control API; raise HTTPError, OSError or KubeconfigError."""
    headers = {"Authorization": f"Bearer {config.token}"} if config.token else {}
    request = urllib.request.Request(config.server + CONTROL + path, headers=headers)
    with urllib.request.urlopen(request, timeout=seconds, context=config.tls()) as answer:
        page: bytes = answer.read()
        return page
