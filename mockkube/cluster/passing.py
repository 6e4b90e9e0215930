"""A cluster for a while: with an address, and nothing left of it afterwards."""

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mockkube.cluster.assembly import Cluster, Running
from mockkube.cluster.configuration import ClusterConfiguration, resolve
from mockkube.cluster.state import StateDirectory


def configuration_of(settings: Mapping[str, Any]) -> ClusterConfiguration:
    """Return the configuration of a cluster that nothing outlives, on a free port unless told otherwise.

    `settings` are those of `mockkube up` by their names in Python; ConfigurationError for what cannot be meant.
    """
    return resolve({"ephemeral": True, "port": 0, **settings}, {})


@asynccontextmanager
async def passing_cluster(configuration: ClusterConfiguration) -> AsyncIterator[Running]:
    """Run a cluster in this event loop; its files are in a directory that goes with it."""
    with tempfile.TemporaryDirectory(prefix="mockkube-") as directory:
        async with Cluster(configuration, StateDirectory(Path(directory) / configuration.name)) as running:
            yield running
