"""Kills a cluster at work again and again: what it acknowledged is kept, and its database stays sound.

In each round a cluster is started on the database that the last round left behind; what it lists is compared with what
earlier ones have acknowledged; clients write and watch; then one of `disturbances.py` happens, and the integrity of the
database is checked. PostgreSQL and etcd take part where they are installed, and are killed, too. If no PostgreSQL can
be started, MOCKKUBE_TEST_POSTGRES is the URL of a database that may be emptied.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from cluster_process import ClusterProcess
from databases import (
    ETCD,
    SKIP_ETCD,
    Database,
    EtcdDatabase,
    KillableDatabase,
    LogDatabase,
    OwnPostgresqlDatabase,
    PostgresqlDatabase,
    SqliteDatabase,
)
from disturbances import DISTURBANCES, Disturbance, Round
from faults import NO_MACHINE, Machine
from ledger import Ledger
from load import Load, UnexpectedAnswerError
from postgresql_server import find_binaries

ROUNDS: Final = 1000
REPORT_EVERY: Final = 25
REPLICAS: Final = 4
SETTLE_SECONDS_MAX: Final = 120
POSTGRES: Final = "MOCKKUBE_TEST_POSTGRES"
ENGINES: Final = ("sqlite", "log", "postgresql", "etcd")
MACHINE: Final = "machine"
PROCESSES: Final = "processes"


@dataclass(slots=True)
class Chaos:
    """The rounds on one database."""

    database: Database
    home: Path
    chance: random.Random
    disturbances: Sequence[Disturbance]
    machine: Machine | None = None
    ledger: Ledger = field(default_factory=Ledger)
    wrong: list[str] = field(default_factory=list)
    applied: Counter[str] = field(default_factory=Counter)

    async def run(self, rounds: int) -> None:
        """Play the rounds, then see that the components bring what they look after to rest."""
        began = time.perf_counter()
        await self.database.empty()
        for number in range(1, rounds + 1):
            await self._play(number)
            if number % REPORT_EVERY == 0 or number == rounds:
                self._report(number, time.perf_counter() - began)
        await self._settle()

    def _report(self, number: int, seconds: float) -> None:
        applied = ", ".join(f"{count} {name}" for name, count in sorted(self.applied.items()))
        print(
            f"{self.database.name}: {number} rounds in {seconds:.0f} s ({applied}), "
            f"{self.ledger.writes} acknowledged writes, {len(self.wrong)} findings",
            flush=True,
        )

    async def _start(self) -> ClusterProcess:
        return await ClusterProcess.start(self.home, self.database.url, self.machine)

    async def _play(self, number: int) -> None:
        cluster = await self._start()
        try:
            ready = await cluster.wait_until_ready()
            async with _session(ready["token"]) as session:
                load = Load(ready["url"], session, self.ledger, self.chance, number)
                revision = await self._compare(number, load)
                disturbance = self.chance.choices(self.disturbances, [one.weight for one in self.disturbances])[0]
                self.applied[disturbance.name] += 1
                given = Round(cluster, load, self.database, self.machine, self.chance, self._start)
                async with asyncio.TaskGroup() as group:
                    group.create_task(load.work(revision))
                    group.create_task(disturbance.apply(given))
            self._note(number, given.wrong)
        except* UnexpectedAnswerError as errors:
            self._note(number, list_messages(errors))
        finally:
            await cluster.kill()
        self._note(number, [error] if (error := cluster.find_error()) else [])
        self._note(number, await self.database.check(cluster.state))

    async def _compare(self, number: int, load: Load) -> int:
        listed, revision = await load.list()
        self._note(number, self.ledger.check(listed, revision))
        return revision

    def _note(self, number: int, wrong: Sequence[str]) -> None:
        for one in wrong:
            self.wrong.append(f"{self.database.name}, round {number}: {one}")
            print(f"FOUND {self.wrong[-1]}", flush=True)

    async def _settle(self) -> None:
        cluster = await self._start()
        try:
            ready = await cluster.wait_until_ready()
            async with _session(ready["token"]) as session:
                load = Load(ready["url"], session, self.ledger, self.chance, 0)
                await self._compare(0, load)
                await load.scale(REPLICAS)
                deadline = time.monotonic() + SETTLE_SECONDS_MAX
                while time.monotonic() < deadline:
                    if await load.is_settled(REPLICAS):
                        return
                    await asyncio.sleep(0.1)
                self._note(0, ["the deployment does not come to rest after the last round"])
        finally:
            await cluster.terminate()


def list_messages(error: BaseException) -> list[str]:
    """Return the messages of an error, or of all in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        return [message for one in error.exceptions for message in list_messages(one)]
    return [str(error)]


def _session(token: str) -> aiohttp.ClientSession:
    session = aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"})
    # A request of a connection that breaks may have been carried out: a second one would be answered for the first.
    session._retry_connection = False
    return session


def open_database(engine: str) -> Database | None:
    """Return the database of an engine; None if there is none here."""
    url, binaries = os.environ.get(POSTGRES, ""), find_binaries()
    match engine:
        case "sqlite":
            return SqliteDatabase()
        case "log":
            return LogDatabase()
        case "postgresql" if binaries is not None:
            return OwnPostgresqlDatabase(binaries)
        case "postgresql" if url:
            return PostgresqlDatabase(url)
        case "postgresql":
            print(f"PostgreSQL is left out: it is not installed, and {POSTGRES} is not the URL of a database to empty")
        case "etcd" if ETCD:
            return EtcdDatabase()
        case "etcd":
            print(f"etcd is left out: {SKIP_ETCD}")
    return None


def choose_disturbances(database: Database, machine: Machine | None, names: str) -> list[Disturbance]:
    """Return the disturbances with these names, or all, that are possible here."""
    if machine is None and names != PROCESSES:
        print(f"faults of the machine are left out: {NO_MACHINE}")
    return [
        one
        for one in DISTURBANCES
        if _is_chosen(one, names)
        and (machine is not None or not one.needs_machine)
        and (database.is_in_process or not one.needs_own_disk)
        and (isinstance(database, KillableDatabase) or not one.needs_killable_database)
    ]


def _is_chosen(one: Disturbance, names: str) -> bool:
    group = MACHINE if one.needs_machine else PROCESSES
    return not names or one.name in names.split(",") or group in names.split(",")


async def play(given: argparse.Namespace) -> list[str]:
    """Play all rounds on each database; return what was found."""
    wrong: list[str] = []
    for engine in ENGINES if given.engine == "all" else [given.engine]:
        database = open_database(engine)
        if database is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine.build(Path(folder))
            chosen = choose_disturbances(database, machine, given.disturb)
            chaos = Chaos(database, Path(folder), random.Random(given.seed), chosen, machine)
            try:
                await chaos.run(given.rounds)
            finally:
                await database.close()
            wrong += chaos.wrong
    return wrong


def main() -> int:
    """Run from the command line; 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="per engine")
    parser.add_argument("--engine", choices=("all", *ENGINES), default="all")
    names = ",".join((PROCESSES, MACHINE, *(one.name for one in DISTURBANCES)))
    parser.add_argument("--disturb", default="", help=f"only these: {names}")
    parser.add_argument("--seed", type=int, default=1)
    return 1 if asyncio.run(play(parser.parse_args())) else 0


if __name__ == "__main__":
    sys.exit(main())
