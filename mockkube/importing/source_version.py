"""Version of the cluster that a dump was taken from."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import section, sections, string
from mockkube.features.versions import Version

API_SERVER_LABELS: Final = {"component": "kube-apiserver", "tier": "control-plane"}
_MINOR: Final = re.compile(r"v?(\d+\.\d+)")


def parse_minor(text: str) -> Version | None:
    """Return the minor version at the beginning of a text like `v1.36.2-eks-1a2b3c`; None if there is none."""
    match = _MINOR.match(text)
    return None if match is None else Version.parse(match[1])


def find_api_servers(pods: Iterable[ReadOnlyObject]) -> list[Version]:
    """Return the versions of the API servers that run as static pods."""
    found = []
    for pod in pods:
        labels = section(pod, "metadata", "labels")
        if pod["metadata"].get("namespace") == "kube-system" and API_SERVER_LABELS.items() <= labels.items():
            for container in sections(pod, "spec", "containers"):
                version = parse_minor(string(container, "image").partition("@")[0].rpartition(":")[2])
                if version is not None:
                    found.append(version)
    return found


def find_kubelet_version(node: ReadOnlyObject) -> Version | None:
    """Return the version of a node's kubelet."""
    return parse_minor(string(node, "status", "nodeInfo", "kubeletVersion"))


def find_version(pods: Iterable[ReadOnlyObject], nodes: Iterable[ReadOnlyObject]) -> Version | None:
    """Return the version of the API servers, or that of the newest kubelet, which no API server is older than."""
    if servers := find_api_servers(pods):
        return max(servers)
    return max((version for node in nodes if (version := find_kubelet_version(node))), default=None)


def find_common_version(versions: Iterable[Version]) -> Version | None:
    """Return the most frequent version; of several, the newest."""
    counts = Counter(versions)
    return max(counts, key=lambda version: (counts[version], version), default=None)
