"""Any sequence of commands gives on each engine what it gives on the memory engine."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from mockkube_storage.engines.catalogue import open_store
from mockkube_storage.engines.log import LogStore
from mockkube_storage.errors import StoreError
from mockkube_storage.model import Event
from mockkube_storage.store import Store

from tests.contract.store.etcd_cluster import run_cluster, run_etcd, skip_without_etcd

if TYPE_CHECKING:
    from tests.contract.store.conftest import Serve

EXAMPLES = int(os.environ.get("MOCKKUBE_MODEL_EXAMPLES", "25"))
KEYS = st.sampled_from(["/a/1", "/a/2", "/a/é", "/a/\U0001f600", "/a/\uffff", "/b/1", "/b", "c"])
PREFIXES = st.sampled_from(["", "/", "/a/", "/b", "d"])
VALUES = st.binary(max_size=3)
BACK = st.integers(min_value=-1, max_value=12)


class Comparison(RuleBasedStateMachine):
    """The engine under test beside the model, each told the same."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.model = open_store("memory:")
        self.run(self.model.start())
        self.open_engine()

    def fresh_url(self) -> str:
        raise NotImplementedError

    def open_engine(self) -> None:
        self.opened = open_store(self.fresh_url())
        self.run(self.opened.start())

    async def restart_engine(self) -> None:
        await self.opened.close()
        await self.opened.start()

    async def close_engine(self) -> None:
        await self.opened.close()

    @property
    def engine(self) -> Store:
        return self.opened

    def run(self, work: Any) -> Any:
        return self.runner.run(work)

    async def run_together(self, writes: Sequence[Awaitable[Any]]) -> list[Any]:
        return await asyncio.gather(*writes)

    def compare(self, command: str, *args: Any, **named: Any) -> None:
        outcomes = [self.run(_outcome(store, command, args, named)) for store in (self.model, self.engine)]
        assert outcomes[0] == outcomes[1]

    def ago(self, back: int) -> int:
        """A revision that many writes ago; one in the future for -1."""
        return max(1, self.model.revision - back)

    @initialize()
    def begin_with_something(self) -> None:
        for key in ("/a/1", "/b/1"):
            self.compare("create", key, b"first")

    @rule(key=KEYS, value=VALUES)
    def create(self, key: str, value: bytes) -> None:
        self.compare("create", key, value)

    @rule(key=KEYS, value=VALUES, stale=st.booleans(), delete=st.booleans())
    def follow(self, key: str, value: bytes, *, stale: bool, delete: bool) -> None:
        current = self.run(self.model.get(key))
        expected = 1 if current is None else current.revision - stale
        if delete:
            self.compare("delete", key, expected=expected)
        else:
            self.compare("update", key, value, expected=expected)

    @rule(keys=st.lists(KEYS, min_size=2, max_size=6), delete=st.booleans())
    def write_together(self, keys: list[str], *, delete: bool) -> None:
        """Writes that arrive at once and share a transaction."""

        async def together(store: Store) -> list[Any]:
            currents = [await store.get(key) for key in keys]
            writes = [
                _outcome(store, "create", (key, b"together"), {})
                if current is None
                else _outcome(store, "delete", (key,), {"expected": current.revision})
                if delete
                else _outcome(store, "update", (key, b"together"), {"expected": current.revision})
                for key, current in zip(keys, currents, strict=True)
            ]
            return await self.run_together(writes)

        assert self.run(together(self.model)) == self.run(together(self.engine))

    @rule(key=KEYS, back=BACK)
    def get_of_the_past(self, key: str, back: int) -> None:
        self.compare("get", key, revision=self.ago(back))

    @rule(prefix=PREFIXES, start=st.one_of(st.just(""), KEYS), limit=st.integers(0, 3), back=BACK)
    def list_of_the_past(self, prefix: str, start: str, limit: int, back: int) -> None:
        self.compare("list", prefix, start=start, limit=limit, revision=self.ago(back))

    @rule(prefix=PREFIXES, start=st.one_of(st.just(""), KEYS), limit=st.integers(0, 3))
    def list_of_the_present(self, prefix: str, start: str, limit: int) -> None:
        self.compare("list", prefix, start=start, limit=limit)

    @rule(prefix=PREFIXES, back=BACK)
    def watch(self, prefix: str, back: int) -> None:
        after = self.ago(back)
        sentinel = f"{prefix}~{self.model.revision}"
        self.compare("create", sentinel, b"")
        if after >= self.model.revision:
            return
        seen = [self.run(_watched(store, prefix, after)) for store in (self.model, self.engine)]
        assert seen[0] == seen[1]

    @rule(back=BACK)
    def compact(self, back: int) -> None:
        self.compare("compact", self.ago(back))

    @rule()
    def restart(self) -> None:
        self.run(self.model.close())
        self.run(self.model.start())
        self.run(self.restart_engine())

    @invariant()
    def at_the_same_revision(self) -> None:
        engine = self.engine
        assert self.run(engine.current_revision()) == engine.revision == self.model.revision

    def teardown(self) -> None:
        self.run(self.model.close())
        self.run(self.close_engine())
        self.runner.close()


def test_any_commands_give_the_same_on_sqlite() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = iter(range(1_000_000))

        class SqliteComparison(Comparison):
            def fresh_url(self) -> str:
                return f"sqlite:///{Path(folder) / str(next(files))}"

        _play(SqliteComparison)


def test_any_commands_give_the_same_on_a_log() -> None:
    with tempfile.TemporaryDirectory() as folder:
        directories = iter(range(1_000_000))

        class LogComparison(Comparison):
            def fresh_url(self) -> str:
                return f"log:///{Path(folder) / str(next(directories))}"

        _play(LogComparison)


@pytest.mark.parametrize("clients", [1, 2])
def test_any_commands_give_the_same_on_a_remote_store(serve: "Serve", clients: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directories = iter(range(1_000_000))

        class RemoteComparison(Comparison):
            """The clients of a server take turns; the server restarts with them."""

            def open_engine(self) -> None:
                self.directory = Path(folder) / str(next(directories))
                self.run(self.start_clients())

            async def start_clients(self) -> None:
                self.stack = AsyncExitStack()
                served = await self.stack.enter_async_context(LogStore(str(self.directory), fsync=False))
                url = await self.stack.enter_async_context(serve(served))
                self.turns = cycle([await self.stack.enter_async_context(open_store(url)) for _ in range(clients)])

            async def restart_engine(self) -> None:
                await self.close_engine()
                await self.start_clients()

            async def close_engine(self) -> None:
                await self.stack.aclose()

            @property
            def engine(self) -> Store:
                return next(self.turns)

        _play(RemoteComparison)


def test_any_commands_give_the_same_on_postgresql(empty_postgres: Any) -> None:
    class PostgresqlComparison(Comparison):
        def fresh_url(self) -> str:
            return str(self.run(empty_postgres()))

    _play(PostgresqlComparison)


@pytest.mark.parametrize(
    "members", [pytest.param(1, id="one member"), pytest.param(3, id="three members", marks=pytest.mark.slow)]
)
def test_any_commands_give_the_same_on_etcd(members: int) -> None:
    skip_without_etcd()
    with tempfile.TemporaryDirectory() as folder:
        directories = iter(range(1_000_000))

        class EtcdComparison(Comparison):
            """Each example has an etcd of its own: revisions never begin anew. A restart uses the next member."""

            def fresh_url(self) -> str:
                self.stack = AsyncExitStack()
                directory = Path(folder) / str(next(directories))
                return f"{self.run(self.run_members(directory))}?prefix=/prefix"

            async def run_members(self, directory: Path) -> str:
                if members == 1:
                    return (await self.stack.enter_async_context(run_etcd(directory))).url
                cluster = await self.stack.enter_async_context(run_cluster(directory, has_proxies=False))
                return cluster.url

            async def run_together(self, writes: Sequence[Awaitable[Any]]) -> list[Any]:
                # etcd handles the requests of a connection in any order, so it chooses another winner.
                return [await write for write in writes]

            async def close_engine(self) -> None:
                await super().close_engine()
                await self.stack.aclose()

        _play(EtcdComparison)


def _play(machine: type[Comparison]) -> None:
    limits = settings(
        max_examples=EXAMPLES, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(machine, settings=limits)


async def _outcome(store: Store, command: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a command returns, or the class and the data of what it raises."""
    try:
        return await getattr(store, command)(*args, **named)
    except StoreError as error:
        return type(error), vars(error)


async def _watched(store: Store, prefix: str, after: int) -> Any:
    """Every event from a revision to the present, whose last write is of this prefix; or what went wrong."""
    seen: list[Event] = []
    await store.current_revision()
    async with store.watch(prefix, after=after) as watch:
        try:
            while not seen or seen[-1].revision < store.revision:
                seen += await anext(watch)
        except StoreError as error:
            return type(error), vars(error)
    return seen
