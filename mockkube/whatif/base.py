"""Base of a what-if: objects of a cluster, node groups, prices."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from mockkube.api.json_objects import Object
from mockkube.cluster.control.schemas import GROUP
from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents
from mockkube.features.components import API_SERVER
from mockkube.lazy_dataclasses import dataclass

_NODE_GROUP: tuple[str, str] = (GROUP, "NodeGroup")


@dataclass(frozen=True, slots=True)
class WhatIfBase:
    """Cluster before any change; `prices` are those of nodes per hour by type of instance, `*` for all others."""

    name: str
    contents: SnapshotContents
    node_groups: Sequence[Object] = ()
    prices: Mapping[str, float] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Version of the API server."""
        return str(self.contents.components.get(API_SERVER, {}).get("version", ""))


def is_node_group(obj: Object) -> bool:
    """Return whether an object is a NodeGroup, which a snapshot cannot hold."""
    return (str(obj.get("apiVersion", "")).rpartition("/")[0], obj.get("kind")) == _NODE_GROUP
