"""A control plane that answers questions about its memory; `run.py` starts it and asks.

Each line on the standard input asks for one measurement, taken after compaction and garbage collection, and is answered
by a line of JSON. The end of the input stops the process.
"""

import asyncio
import gc
import json
import os
import signal
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from figures import count_handles, read_memory_kib, trim_memory

from mockkube.cluster import cluster
from mockkube.cluster.api_servers.api_server import ApiServerDependencies, Server
from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.foreground import run_in_foreground

TYPES_MAX: Final = 40
given: list[ApiServerDependencies] = []
built: list[Server] = []
snapshots: list[tracemalloc.Snapshot] = []
build_api_server = cluster.build_api_server


def build(surroundings: ApiServerDependencies) -> Server:
    """Build the API server, and remember it and its store."""
    given.append(surroundings)
    built.append(build_api_server(surroundings))
    return built[-1]


async def measure(types: bool) -> Mapping[str, Any]:
    """Return what must not grow."""
    store = given[-1].store
    # Twice: the first time only up to the revision of the last compaction. Watch caches keep the changes since then.
    server = built[-1].api_server
    assert server is not None
    for _ in range(2):
        await server._store_maintenance.compact()
    entries = (await store.list("/")).entries
    live: Counter[str] = Counter(entry.key.split("/")[2] + "/" + entry.key.split("/")[3] for entry in entries)
    live_bytes = sum(len(entry.value) for entry in entries)
    del entries
    trim_memory()
    return {
        "rss_kib": read_memory_kib(),
        "blocks": sys.getallocatedblocks(),
        "tasks": len(asyncio.all_tasks()),
        "handles": count_handles(),
        "threads": threading.active_count(),
        "live_objects": live.total(),
        "live_bytes": live_bytes,
        "revision": store.revision,
        "live": dict(live.most_common(TYPES_MAX)) if types else {},
        "types": count_types() if types else {},
        "grown": trace_growth() if types else [],
    }


def count_types() -> Mapping[str, int]:
    """Return the most frequent types of objects."""
    counts = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
    return dict(counts.most_common(TYPES_MAX))


def trace_growth() -> list[str]:
    """Return where the memory was allocated that has been added since the last call; nothing unless it is traced."""
    if not tracemalloc.is_tracing():
        return []
    snapshots.append(tracemalloc.take_snapshot())
    if len(snapshots) < 2:
        return []
    before = snapshots.pop(0)
    return [str(one) for one in snapshots[0].compare_to(before, "lineno")[:TYPES_MAX]]


def answer(loop: asyncio.AbstractEventLoop) -> None:
    """Answer questions until there are no more."""
    try:
        for line in sys.stdin:
            sample = asyncio.run_coroutine_threadsafe(measure("types" in line), loop).result()
            sys.stdout.write(json.dumps(sample) + "\n")
            sys.stdout.flush()
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def ready(running: cluster.RunningCluster) -> None:
    """Say where the cluster is, and begin to answer."""
    sys.stdout.write(running.render_ready_file())
    sys.stdout.flush()
    threading.Thread(target=answer, args=(asyncio.get_running_loop(),), daemon=True).start()


def main() -> None:
    """Run a cluster: the first argument is its directory, the others are settings, as JSON."""
    home, settings = sys.argv[1], json.loads(sys.argv[2])
    cluster.build_api_server = build
    run_in_foreground(resolve_configuration(settings, {}), {"HOME": home, "XDG_STATE_HOME": home}, ready=ready)


if __name__ == "__main__":
    main()
