"""etcd executable: serves a store to API servers on the addresses of `--listen-client-urls`."""

import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from mockkube_storage.engines.memory import MemoryStore
from mockkube_storage.remote.server import StoreServer

VERSION: Final = "3.6.5"


def main(arguments: Sequence[str]) -> int:
    """Run etcd with a command line; return its exit code."""
    logging.basicConfig(level="INFO", stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    urls = "http://localhost:2379"
    for index, argument in enumerate(arguments):
        name, equals, value = argument.lstrip("-").partition("=")
        if name == "listen-client-urls":
            urls = value if equals else arguments[index + 1]
        elif name == "help":
            print("  --data-dir\n  --listen-client-urls\n  --unsafe-no-fsync")
            return 0
    asyncio.run(_serve(urls.split(",")))
    return 0


async def _serve(urls: Sequence[str]) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    store = MemoryStore()
    await store.start()
    server = StoreServer(store, version=VERSION)
    running = loop.create_task(server.run())
    for url in urls:
        split = urlsplit(url)
        for host, port in await server.listen(split.hostname or "localhost", split.port or 0):
            print(f"serving clients on http://{host}:{port}", file=sys.stderr, flush=True)
    await stop.wait()
    server.close()
    running.cancel()
    await asyncio.wait([running])
    await store.close()
