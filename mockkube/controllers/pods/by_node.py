"""Index of pods by the node they are bound to."""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Indexer, Informer


def pods_by_node(pods: Informer) -> Indexer:
    """Return the index of pods by node name."""
    return pods.index("spec.nodeName", _index_by_node)


def _index_by_node(pod: ReadOnlyObject) -> tuple[str, ...]:
    name = pod["spec"].get("nodeName", "")
    return (name,) if name else ()
