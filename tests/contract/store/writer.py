"""A program for test_crash: writes to a store until it is killed, and prints each write once acknowledged."""

import asyncio
import os
import sys

from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.store import Store

VALUE = b"v" * 2048


async def churn(store: Store, writer: int, run: str) -> None:
    """Create, update, delete, over and over."""
    for n in range(1_000_000):
        key = f"/{run}/{writer}/{n}"
        entry = await store.create(key, VALUE)
        acknowledge("P", entry.revision, key)
        if n % 2:
            entry = await store.update(key, VALUE, expected=entry.revision)
            acknowledge("P", entry.revision, key)
        if n % 4 == 3:
            acknowledge("?", entry.revision, key)
            entry = await store.delete(key, expected=entry.revision)
            acknowledge("D", entry.revision, key)
        if n % 50 == 49:
            await store.compact(entry.revision)


def acknowledge(kind: str, revision: int, key: str) -> None:
    """One line, written at once: a pipe keeps what is in it when the writer dies.

    P: it is there. ?: about to be deleted, so that either is right. D: it is not.
    """
    os.write(1, f"{kind} {revision} {key}\n".encode())


async def main(url: str, run: str) -> None:
    """Write from eight tasks at a time."""
    async with open_store(url) as store, asyncio.TaskGroup() as group:
        os.write(1, b"ready\n")
        for writer in range(8):
            group.create_task(churn(store, writer, run))


asyncio.run(main(sys.argv[1], sys.argv[2]))
