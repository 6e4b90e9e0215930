"""Temporary clusters: with an address, in this event loop, leaving no files behind."""

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mockkube.cluster.cluster import Cluster, RunningCluster
from mockkube.cluster.configuration.cluster_configuration import SETTINGS, ClusterConfiguration, resolve_configuration
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.state.state_directory import StateDirectory


def make_temporary_configuration(settings: Mapping[str, Any]) -> ClusterConfiguration:
    """Return the configuration of a temporary cluster, by default on a free port.

    `settings` are those of `mockkube up` by their names in Python; ConfigurationError if one is invalid.
    """
    reject_unknown_settings(settings)
    return resolve_configuration({"ephemeral": True, "port": 0, **settings}, {})


def reject_unknown_settings(settings: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for unknown settings."""
    known = [setting.name for setting in SETTINGS]
    if unknown := [name for name in settings if name not in known]:
        raise ConfigurationError("; ".join(_explain_unknown(name, known) for name in unknown))


def _explain_unknown(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    remedy = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    return f"unknown setting {name!r}: {remedy}"


@asynccontextmanager
async def run_temporary_cluster(configuration: ClusterConfiguration) -> AsyncIterator[RunningCluster]:
    """Run a cluster in this event loop, with its files in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="mockkube-") as directory:
        async with Cluster(configuration, StateDirectory(Path(directory) / configuration.name)) as running:
            yield running
