"""Writes of control objects by the cluster itself, while others write them, too."""

from mockkube_storage.store import Store

from mockkube.cluster.control.control_api import ControlApi
from mockkube.cluster.temporary_cluster import make_temporary_configuration, open_temporary_cluster


class RivalStore:
    """Store in which somebody writes or deletes an entry just before it is to be deleted the first time."""

    def __init__(self, store: Store, *, deletes: bool) -> None:
        self._store, self._deletes, self.attempts = store, deletes, 0

    async def delete(self, key: str, *, expected: int) -> object:
        self.attempts += 1
        if self.attempts == 1:
            entry = await self._store.get(key)
            assert entry is not None
            if self._deletes:
                await self._store.delete(key, expected=entry.revision)
            else:
                await self._store.update(key, entry.value, expected=entry.revision)
        return await self._store.delete(key, expected=expected)


async def delete_beside_a_rival(*, deletes: bool) -> tuple[int, list[str]]:
    """Delete a Fault; return the number of attempts, and the Faults that are left."""
    async with open_temporary_cluster(make_temporary_configuration({})) as cluster, cluster:
        api: ControlApi = cluster.control_plane.control_api
        await api.create_object("faults", "gone", {"match": {"resources": ["secrets"]}, "inject": {"delaySeconds": 1}})
        store = api._store
        rival = RivalStore(store, deletes=deletes)
        api._store = rival  # type: ignore[assignment]
        try:
            await api.delete_object("faults", "gone")
        finally:
            api._store = store
        page = await store.list("/registry/control.mockkube.dev/faults/")
        return rival.attempts, [entry.key for entry in page.entries]


async def test_an_object_whose_status_is_written_meanwhile_is_deleted() -> None:
    assert await delete_beside_a_rival(deletes=False) == (2, [])


async def test_an_object_that_is_deleted_meanwhile_is_no_error() -> None:
    assert await delete_beside_a_rival(deletes=True) == (1, [])
