"""A writer that is killed at any moment leaves every acknowledged write, and a clean database."""

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.engines.log import LogStore
from mockkube_storage.store import Store

from tests.contract.store.etcd_cluster import run_cluster, run_etcd, skip_without_etcd

if TYPE_CHECKING:
    from tests.contract.store.conftest import Serve

ROUNDS = int(os.environ.get("MOCKKUBE_CRASH_ROUNDS", "5"))
LIFE_SECONDS_MAX = 0.3
VALUE = b"v" * 2048
WRITER = Path(__file__).with_name("writer.py")


@pytest.mark.timeout(60 + 5 * ROUNDS)
async def test_sqlite_keeps_every_acknowledged_write_when_the_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    acknowledged: dict[str, tuple[str, int]] = {}
    for number in range(ROUNDS):
        acknowledged |= _write_and_die(str(path), number)
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        async with open_store(str(path)) as store:
            await _check(store, acknowledged)
    assert len(acknowledged) >= ROUNDS


@pytest.mark.timeout(60 + 5 * ROUNDS)
async def test_a_log_keeps_every_acknowledged_write_when_the_writer_is_killed(tmp_path: Path) -> None:
    acknowledged: dict[str, tuple[str, int]] = {}
    for number in range(ROUNDS):
        acknowledged |= _write_and_die(f"log:///{tmp_path}", number)
        async with open_store(f"log:///{tmp_path}") as store:
            await _check(store, acknowledged)
    assert len(acknowledged) >= ROUNDS


@pytest.mark.timeout(60 + 5 * ROUNDS)
async def test_a_server_keeps_every_acknowledged_write_when_the_client_is_killed(
    tmp_path: Path, serve: "Serve"
) -> None:
    acknowledged: dict[str, tuple[str, int]] = {}
    async with LogStore(str(tmp_path)) as served, serve(served) as url, open_store(url) as store:
        for number in range(ROUNDS):
            acknowledged |= await asyncio.to_thread(_write_and_die, url, number)
            await _check(store, acknowledged)
    assert len(acknowledged) >= ROUNDS


@pytest.mark.timeout(60 + 5 * ROUNDS)
async def test_postgresql_keeps_every_acknowledged_write_when_the_writer_is_killed(
    empty_postgres: Callable[[], Awaitable[str]],
) -> None:
    url = await empty_postgres()
    acknowledged: dict[str, tuple[str, int]] = {}
    for number in range(ROUNDS):
        acknowledged |= _write_and_die(url, number)
        async with open_store(url) as store:
            await _check(store, acknowledged)
    assert len(acknowledged) >= ROUNDS


@pytest.mark.timeout(60 + 5 * ROUNDS)
async def test_etcd_keeps_every_acknowledged_write_when_the_writer_is_killed(tmp_path: Path) -> None:
    skip_without_etcd()
    acknowledged: dict[str, tuple[str, int]] = {}
    async with run_etcd(tmp_path / "etcd") as member:
        for number in range(ROUNDS):
            acknowledged |= await asyncio.to_thread(_write_and_die, member.url, number)
            async with open_store(member.url) as store:
                await _check(store, acknowledged)
    assert len(acknowledged) >= ROUNDS


@pytest.mark.slow
@pytest.mark.timeout(60 + 5 * ROUNDS)
async def test_each_member_of_etcd_has_every_acknowledged_write_when_the_writer_is_killed(tmp_path: Path) -> None:
    skip_without_etcd()
    acknowledged: dict[str, tuple[str, int]] = {}
    async with run_cluster(tmp_path, has_proxies=False) as cluster:
        for number in range(ROUNDS):
            acknowledged |= await asyncio.to_thread(_write_and_die, cluster.url_from(number % 3), number)
            for other in range(3):
                async with open_store(cluster.url_from(other)) as store:
                    await _check(store, acknowledged)
    assert len(acknowledged) >= ROUNDS


def _write_and_die(url: str, number: int) -> dict[str, tuple[str, int]]:
    """Run a writer, kill it at some moment; return the last acknowledged write of each key."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(WRITER), url, str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        threading.Timer(random.Random(number).uniform(0.02, LIFE_SECONDS_MAX), writer.kill).start()
        output = writer.stdout.read().decode()
    assert writer.returncode == -9
    lines = [line.split(" ") for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {key.rstrip("\n"): (kind, int(revision)) for kind, revision, key in lines}


async def _check(store: Store, acknowledged: dict[str, tuple[str, int]]) -> None:
    """Each key is as last acknowledged, or newer: the write that was under way may have been done."""
    entries = {entry.key: entry for entry in (await store.list("/")).entries}
    assert store.revision >= max((revision for _, revision in acknowledged.values()), default=0)
    for key, (kind, revision) in acknowledged.items():
        entry = entries.get(key)
        if kind == "P":
            assert entry is not None, f"{key} was written at {revision} and is gone"
            assert entry.revision >= revision
        elif kind == "D":
            assert entry is None, f"{key} was deleted at {revision} and is back"
        assert entry is None or entry.value == VALUE
