"""Completion of an import: adds the objects that every API server creates, where the dump lacks them."""

from dataclasses import replace
from typing import Final

from mockkube.api.times import parse_time
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.cluster.snapshots.snapshot_contents import KEY_PREFIX, SnapshotContents

# Nodes report their leases themselves.
_NAMESPACES: Final = f"{KEY_PREFIX}core/namespaces/"
_LEASES: Final = f"{KEY_PREFIX}coordination.k8s.io/leases/"


async def complete_contents(contents: SnapshotContents) -> tuple[SnapshotContents, list[str]]:
    """Return the contents with what a cluster of the same version and namespaces has, and the keys that were added."""
    namespaces = {key: value for key, value in contents.entries.items() if key.startswith(_NAMESPACES)}
    empty = replace(contents, entries=namespaces)
    async with SimulatedCluster(SimulatedClusterConfig(contents=empty, start=parse_time(contents.time))) as cluster:
        page = await cluster.store.list(KEY_PREFIX)
    missing = {
        one.key: one.value
        for one in page.entries
        if one.key not in contents.entries and not one.key.startswith(_LEASES)
    }
    return replace(contents, entries={**contents.entries, **missing}), list(missing)
