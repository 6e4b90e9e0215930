"""What one client of a watch is given."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from mockkube.api.errors import Timeout
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation, deletion, options, updating, watching
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.watching import CacheWatcher


class Lab:
    """The ConfigMaps of a namespace, and watches on them."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.watches: list[CacheWatcher] = []

    def call(self, name: str = "") -> RequestScope:
        return RequestScope(User("u"), "lab", name)

    async def create(self, name: str, **labels: str) -> int:
        """Create one; return its revision."""
        obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}}
        return (await creation.create(self.resource, self.call(), obj, WriteOptions())).revision

    async def label(self, name: str, **labels: str) -> int:
        """Give one other labels; return its revision."""
        obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}}
        return (await updating.replace(self.resource, self.call(name), obj, WriteOptions())).object.revision

    async def delete(self, name: str) -> None:
        """Delete one."""
        await deletion.delete(self.resource, self.call(name), DeleteOptions())

    async def watch(self, namespace: str = "lab", **query: str) -> CacheWatcher:
        """Open a watch."""
        wanted = options.parse_list_options({"watch": ["1"], **{key: [text] for key, text in query.items()}})
        self.watches.append(await watching.open_watch(self.resource, namespace, wanted))
        return self.watches[-1]


@pytest_asyncio.fixture
async def lab(registry: Registry) -> AsyncIterator[Lab]:
    made = Lab(registry.resources["", "v1", "configmaps"])
    yield made
    for watch in made.watches:
        watch.close()


def taken(watch: CacheWatcher) -> list[tuple[str, str]]:
    """What waits: the type of each event and the name of its object."""
    return [(str(seen.type), seen.object.name) for seen in watch.take_events()]


async def test_a_watch_begins_with_what_is_there_and_goes_on(lab: Lab) -> None:
    await lab.create("a")
    watch = await lab.watch()
    assert watch.initial_count == 1
    await lab.create("b")
    await lab.delete("a")
    assert taken(watch) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert taken(watch) == []


async def test_a_watch_from_a_revision_sees_what_came_after(lab: Lab) -> None:
    first = await lab.create("a")
    await lab.create("b")
    watch = await lab.watch(resourceVersion=str(first))
    await lab.create("c")
    assert taken(watch) == [("ADDED", "b"), ("ADDED", "c")]
    assert watch.initial_count == 0


async def test_initial_events_can_be_had_at_any_revision_or_not_at_all(lab: Lab) -> None:
    first = await lab.create("a")
    both = {"resourceVersionMatch": "NotOlderThan", "resourceVersion": str(first)}
    assert taken(await lab.watch(sendInitialEvents="true", **both)) == [("ADDED", "a")]
    assert taken(await lab.watch(sendInitialEvents="false", **both)) == []


async def test_the_future_is_not_waited_for(lab: Lab) -> None:
    with pytest.raises(Timeout):
        await lab.watch(sendInitialEvents="true", resourceVersionMatch="NotOlderThan", resourceVersion="1000")


async def test_crossing_the_border_of_a_selection_is_coming_or_going(lab: Lab) -> None:
    watch = await lab.watch(labelSelector="side=left")
    await lab.create("a", side="right")
    await lab.label("a", side="left")
    await lab.label("a", side="left", more="1")
    left_at = await lab.label("a", side="right")
    await lab.delete("a")
    events = watch.take_events()
    assert [str(seen.type) for seen in events] == ["ADDED", "MODIFIED", "DELETED"]
    last = events[-1].object.load()["metadata"]
    assert (last["labels"], last["resourceVersion"]) == ({"side": "left", "more": "1"}, str(left_at))


async def test_other_namespaces_are_not_seen(lab: Lab) -> None:
    here, everywhere, elsewhere = await lab.watch(), await lab.watch(""), await lab.watch("labs")
    await lab.create("a")
    assert [len(watch.take_events()) for watch in (here, everywhere, elsewhere)] == [1, 1, 0]


async def test_a_client_that_falls_behind_is_ended_and_holds_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "PENDING_MAX", 3)
    slow, quick = await lab.watch(), await lab.watch()
    for name in "abcde":
        await lab.create(name)
        assert taken(quick) == [("ADDED", name)]
    await slow.wait()  # returns at once: its end is something to see
    assert slow.has_lagged
    assert slow.take_events() == []
    assert not quick.has_lagged


async def test_a_closed_watch_listens_no_more(lab: Lab) -> None:
    watch = await lab.watch()
    watch.close()
    watch.close()
    await lab.create("a")
    assert watch.take_events() == []
    assert lab.resource.collection.listeners == {}


async def test_the_revision_of_a_watch_is_that_of_the_server(lab: Lab) -> None:
    watch = await lab.watch()
    created = await lab.create("a")
    assert watch.revision == created
