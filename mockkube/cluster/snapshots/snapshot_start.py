"""Start of a cluster from a snapshot: its components in the configuration, its objects in an empty store."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mockkube_storage.store import Store

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.configuration.values import ComponentConfiguration
from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents, UnreadableSnapshotError
from mockkube.features.components import API_SERVER
from mockkube.features.versions import Version


def load_snapshot(path: Path) -> SnapshotContents:
    """Return the contents of a snapshot's file; raise StartError if they cannot be read."""
    try:
        return SnapshotContents.from_bytes(path.read_bytes())
    except OSError as error:
        raise StartError(f"snapshot {path}: {error.strerror}: give a file that 'mockkube import' wrote") from None
    except UnreadableSnapshotError as error:
        raise StartError(f"snapshot {path}: {error}: make one with 'mockkube import DUMP --to FILE'") from None


def configure_from_snapshot(
    configuration: ClusterConfiguration, components: Mapping[str, ReadOnlyObject]
) -> ClusterConfiguration:
    """Return a configuration with the components of a snapshot; versions and gates that were given take precedence."""
    own = {name: _to_configuration(spec) for name, spec in components.items()}
    if "version" in configuration.given_settings:
        own = {name: replace(one, version=None) for name, one in own.items()}
    elif API_SERVER in own:
        configuration = replace(configuration, version=own[API_SERVER].version or configuration.version)
    given = configuration.components
    merged = {name: given[name].merge_over(one) if name in given else one for name, one in own.items()}
    return replace(configuration, components={**given, **merged})


def _to_configuration(spec: ReadOnlyObject) -> ComponentConfiguration:
    return ComponentConfiguration(Version.parse(spec["version"]), dict(spec.get("featureGates") or {}))


def find_stopped(components: Mapping[str, Object]) -> list[str]:
    """Return the components of a snapshot that do not run."""
    return [name for name, spec in components.items() if not spec.get("running", True)]


async def fill_store(store: Store, contents: SnapshotContents) -> None:
    """Write the objects of a snapshot to an empty store; raise StartError if it has objects already."""
    if (await store.list("/registry/", limit=1)).entries:
        raise StartError("snapshot: the cluster has objects already: give another --name, or --ephemeral")
    await contents.restore_into(store)
