"""A program for test_remote_store: prints the value of a key for every line that it reads."""

import asyncio
import sys

from mockkube_storage.engines.catalogue import open_store


async def main(url: str, key: str) -> None:
    """Answer line by line. The loop does not turn while it waits for a line."""
    async with open_store(url) as store:
        while sys.stdin.readline():
            entry = await store.get(key)
            print("" if entry is None else entry.value.decode(), flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2]))
