"""Reconciling objects of a control kind while writes fail."""

import asyncio
from collections.abc import Iterable
from errno import ENOSPC

import pytest
from mockkube_storage.errors import Unavailable
from mockkube_storage.model import Entry

from mockkube.api.errors import Conflict
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.watch_cache import Collection
from mockkube.cluster.control.reconciler import RETRY_SECONDS, Reconciler
from mockkube.runtime.virtual_time import VirtualClock

DISK_FULL = Unavailable("cluster.db", "the disk is full")


class Writer:
    """Reconciles names, and fails the first time."""

    def __init__(self, error: Exception) -> None:
        self.calls: list[tuple[str, ...]] = []
        self._error = error

    async def reconcile(self, names: Iterable[str]) -> None:
        self.calls.append(tuple(names))
        if len(self.calls) == 1:
            raise self._error


def decode_nothing(entry: Entry) -> CachedObject:
    raise AssertionError(f"{entry.key} is decoded")


async def let_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def make_reconciler(writer: Writer, clock: VirtualClock) -> Reconciler:
    return Reconciler(Collection("/registry/mockkube.dev/components/", decode_nothing), clock, writer.reconcile)


@pytest.mark.parametrize("names", [("one", "two"), ()], ids=["names", "no names"])
@pytest.mark.parametrize(
    "error",
    [Unavailable("cluster.db", "the disk is full"), Conflict("changed"), OSError(ENOSPC, "no space")],
    ids=["store", "registry", "file"],
)
async def test_what_cannot_be_written_is_reconciled_again_later(error: Exception, names: tuple[str, ...]) -> None:
    clock, writer = VirtualClock(), Writer(error)
    reconciler = make_reconciler(writer, clock)
    reconciler.enqueue(*names)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(reconciler.run())
        await let_run()
        assert writer.calls == [names]
        clock.move_to(clock.monotonic() + RETRY_SECONDS)
        await let_run()
        assert writer.calls == [names, names]
        running.cancel()


async def test_a_step_raises_the_error() -> None:
    writer = Writer(DISK_FULL)
    reconciler = make_reconciler(writer, VirtualClock())
    reconciler.enqueue("one")
    with pytest.raises(Unavailable):
        await reconciler.step()
    assert not reconciler.is_ready()
