"""Temporary clusters: with an address, in this event loop, leaving no files behind."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from mockkube.cluster.api_servers.store_templates import get_store_templates
from mockkube.cluster.cluster import Cluster, RunningCluster
from mockkube.cluster.configuration.cluster_configuration import SETTINGS, ClusterConfiguration, resolve_configuration
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.state.atomic_files import PRIVATE, make_private_directory
from mockkube.cluster.state.certificates import ensure_certificates
from mockkube.cluster.state.server_names import find_machine_names
from mockkube.cluster.state.state_directory import StateDirectory
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random

_PREFIX: Final = "mockkube-cluster-"


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
    async with open_temporary_cluster(configuration) as cluster, cluster as running:
        yield running


@asynccontextmanager
async def open_temporary_cluster(
    configuration: ClusterConfiguration, *, random: Random | None = None
) -> AsyncIterator[Cluster]:
    """Yield a cluster, not started, with its files in a temporary directory that is deleted in the end."""
    _delete_abandoned_directories()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as path:
        directory = StateDirectory(Path(path) / configuration.name, durable=False)
        if configuration.tls:
            _write_certificates(directory.certificates, configuration.bind)
        yield Cluster(configuration, directory, random=random, store_templates=get_store_templates())


def _write_certificates(directory: Path, bind: str) -> None:
    """Write the certificates that all temporary clusters of this process share."""
    make_private_directory(directory)
    for name, content in _load_certificates(bind).items():
        with open(directory / name, "xb", opener=_open_private) as file:
            file.write(content)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)


@lru_cache(maxsize=4)
def _load_certificates(bind: str) -> Mapping[str, bytes]:
    """Return keys and certificates by file name; issuing them takes longer than the rest of a second start."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as path:
        ensure_certificates(Path(path), find_machine_names(bind), now=RealClock().now())
        return {file.name: file.read_bytes() for file in Path(path).iterdir()}


@lru_cache(maxsize=1)
def _delete_abandoned_directories() -> None:
    """Delete directories of temporary clusters whose process was killed, once in each process."""
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/*/lock"):
        with suppress(OSError):  # another user's, or its process deletes it at the same time
            # A lock without a pid is about to be locked for the first time.
            if lock.stat().st_size and StateDirectory(lock.parent).find_holder_pid() is None:
                shutil.rmtree(lock.parent.parent)
