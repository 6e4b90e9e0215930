"""A command loads what it needs and nothing else: what is not imported costs no time."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import contextlib, io, json, sys
from mockkube.cli.main import run
with contextlib.redirect_stdout(io.StringIO()):
    run(json.loads(sys.argv[1]))
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
STANDARD_DATACLASS = re.compile(r"^(from dataclasses import .*\bdataclass\b|@dataclasses\.dataclass)", re.M)
HEAVY = {
    *("aiohttp", "asyncio", "cryptography", "jinja2", "sqlalchemy"),
    "yaml",
}


def loaded(script: str, *arguments: str) -> set[str]:
    """Return the top-level modules a fresh interpreter has loaded after a script that prints them."""
    command = [sys.executable, "-c", script, *arguments]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help"),
        pytest.param(["version"], id="version"),
        pytest.param(["up", "--help"], id="help of up"),
        pytest.param(["up", "--port", "x"], id="a wrong flag"),
    ],
)
def test_what_serves_nothing_loads_no_server(arguments: list[str]) -> None:
    names = loaded(LOADED, json.dumps(arguments))
    assert "mockkube" in names
    assert names & HEAVY == set()


def test_a_store_in_memory_loads_no_sql() -> None:
    script = """
import json, sys
from mockkube_storage.engines.catalogue import open_store
open_store("memory:")
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
    names = loaded(script)
    assert "mockkube_storage" in names
    assert names & {"sqlalchemy", "aiosqlite", "asyncpg"} == set()


def test_the_assembly_loads_neither_sql_nor_cryptography() -> None:
    script = """
import json, sys
import mockkube.cluster.cluster
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
    names = loaded(script)
    assert "aiohttp" in names
    assert names & {"sqlalchemy", "aiosqlite", "asyncpg", "cryptography", "yaml"} == set()


def test_dataclasses_are_lazy() -> None:
    """The standard decorator compiles methods while a module is imported: a third of a start with all components."""
    root = Path(__file__).parents[2]
    standard = [
        str(path.relative_to(root))
        for path in (root / "mockkube").rglob("*.py")
        if path.name != "lazy_dataclasses.py" and STANDARD_DATACLASS.search(path.read_text())
    ]
    assert standard == [], "import dataclass from mockkube.lazy_dataclasses"


def test_a_cluster_without_election_loads_none_of_it() -> None:
    script = """
import asyncio, json, sys
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig

async def start(**fields):
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=1, **fields))):
        return [name for name in sys.modules if name.rpartition(".")[2] in json.loads(sys.argv[1])]

print(json.dumps([len(asyncio.run(start())), *asyncio.run(start(leader_elect=True))]))
"""
    modules = ["leader_election", "lease_holder_client", "leader_elected_runner", "node_shards", "sharded_kubelets"]
    command = [sys.executable, "-c", script, json.dumps(modules)]
    without, *with_election = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert without == 0
    assert {name.rpartition(".")[2] for name in with_election} == set(modules)


START = """
import json, os, signal, sys
from mockkube.api.lazy_table import decode
from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.foreground import run_in_foreground

def ready(running):
    print(json.dumps([sorted(sys.modules), decode.cache_info().currsize]), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

run_in_foreground(resolve_configuration(json.loads(sys.argv[1]), os.environ, None), os.environ, ready=ready)
"""
ALONE = ("scheduler,controllers,kubelets",)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("flags", "modules_max", "types_max", "unneeded"),
    [
        pytest.param(
            {"ephemeral": True, "without": ALONE},
            465,
            220,
            {"sqlalchemy", "yaml", "re2", "hpack", "cryptography"},
            id="memory, API server",
        ),
        pytest.param(
            {"without": ALONE}, 445, 50, {"sqlalchemy", "yaml", "re2", "hpack", "cryptography"}, id="SQLite, API server"
        ),
        pytest.param(
            {"ephemeral": True},
            870,
            220,
            {"sqlalchemy", "yaml", "re2", "hpack", "cryptography"},
            id="memory, all components",
        ),
        pytest.param({}, 890, 180, {"sqlalchemy", "yaml", "re2", "hpack", "cryptography"}, id="SQLite, all components"),
    ],
)
def test_a_start_imports_no_more_than_it_did(
    flags: dict[str, object], modules_max: int, types_max: int, unneeded: set[str], tmp_path: Path
) -> None:
    """Modules take a third of a millisecond each. Before raising a bound, see whether a new module can come later.

    All types of a version, with their Go types, would be 1,300.
    """
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", START, json.dumps({"port": "0", **flags})]
    for _ in range(2):  # the first start issues certificates
        started = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    modules, types = json.loads(started.stdout)
    assert {name.partition(".")[0] for name in modules} & unneeded == set()
    assert types <= types_max
    # Only our own: how many modules the libraries and Python itself import depends on their versions.
    assert sum(name.startswith("mockkube") for name in modules) <= modules_max
