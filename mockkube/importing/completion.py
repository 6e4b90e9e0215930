"""Completion of an import: adds the objects that every API server creates, where the dump lacks them."""

from dataclasses import replace

from mockkube.api.times import parse_time
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.cluster.snapshots.snapshot_contents import KEY_PREFIX, SnapshotContents

# Nodes report their leases themselves.
_LEASES = f"{KEY_PREFIX}coordination.k8s.io/leases/"


async def complete_contents(contents: SnapshotContents) -> tuple[SnapshotContents, list[str]]:
    """Return the contents with what an empty cluster of the same version has, and the keys that were added."""
    empty = replace(contents, entries={})
    async with SimulatedCluster(SimulatedClusterConfig(contents=empty, start=parse_time(contents.time))) as cluster:
        page = await cluster.store.list(KEY_PREFIX)
    missing = {
        one.key: one.value
        for one in page.entries
        if one.key not in contents.entries and not one.key.startswith(_LEASES)
    }
    return replace(contents, entries={**contents.entries, **missing}), list(missing)
