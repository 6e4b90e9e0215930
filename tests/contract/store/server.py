"""A program for tests: serves the store of a directory on a port until it is killed."""

import asyncio
import socket
import sys

from mockkube_storage.engines.log import LogStore
from mockkube_storage.remote.server import StoreServer


async def main(directory: str, port: int) -> None:
    """Serve, and print the port once clients may connect."""
    async with LogStore(directory, fsync=False) as store:
        server = StoreServer(store, version="3.6.5")
        listening = socket.create_server(("127.0.0.1", port))
        await server.listen(listening)
        print(listening.getsockname()[1], flush=True)
        await server.run()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
