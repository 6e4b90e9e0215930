"""What happens to a cluster in one round. A new disturbance is one class and one entry of DISTURBANCES."""

import asyncio
import random
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from cluster_process import ClusterProcess
from databases import Database, KillableDatabase
from faults import Machine, MachineFaults
from load import CONFIG_MAPS, GONE, Load

LIFE_SECONDS_MAX: Final = 0.8
"""How long a cluster works before it is disturbed, at most."""
START_SECONDS: Final = 1.0
"""How long a start takes, about."""
CLEAN_EXIT: Final = 0
FAULT_SECONDS_MAX: Final = 0.8
RECOVERY_SECONDS_MAX: Final = 30.0
CLOCK_JUMPS: Final = (-864_000, -3600, -1, 1, 3600, 864_000)
SYNC_MILLISECONDS: Final = (20, 100, 500)
RESET_EVERY: Final = (20, 100, 500)
NOT_YET_RUNNING: Final = -signal.SIGTERM
"""The exit code of a process that has been stopped before it read its first module: nothing has begun."""


@dataclass(slots=True)
class Round:
    """One round: what a disturbance acts on."""

    cluster: ClusterProcess
    load: Load
    database: Database
    machine: Machine | None
    chance: random.Random
    start_again: Callable[[], Awaitable[ClusterProcess]]
    """Starts the next process on the same database."""
    wrong: list[str] = field(default_factory=list)


class Disturbance:
    """Something that happens to a cluster at work; the process has ended when `apply` returns."""

    name: ClassVar[str]
    weight: ClassVar[int] = 1
    needs_machine: ClassVar[bool] = False
    """Whether it needs faults of the machine."""
    needs_killable_database: ClassVar[bool] = False
    needs_own_disk: ClassVar[bool] = False
    """Whether the database must be written by the cluster's own process."""

    async def apply(self, given: Round) -> None:
        """Disturb the cluster; add to `given.wrong` what it should have survived."""
        raise NotImplementedError


class Kill(Disturbance):
    """SIGKILL at a random moment."""

    name = "kill"
    weight = 6

    async def apply(self, given: Round) -> None:
        """Let it work for a while, then kill it."""
        await asyncio.sleep(given.chance.uniform(0, LIFE_SECONDS_MAX))
        await given.cluster.kill()


class KillWhileStarting(Disturbance):
    """SIGKILL, and again at a random moment of the next start."""

    name = "kill-start"
    weight = 2

    async def apply(self, given: Round) -> None:
        """Kill twice."""
        await asyncio.sleep(given.chance.uniform(0, LIFE_SECONDS_MAX))
        await given.cluster.kill()
        second = await given.start_again()
        try:
            await asyncio.sleep(given.chance.uniform(0, START_SECONDS))
        finally:
            await second.kill()


class Terminate(Disturbance):
    """SIGTERM at a random moment: the process ends by itself, and cleanly."""

    name = "terminate"
    weight = 1

    async def apply(self, given: Round) -> None:
        """Ask it to stop."""
        await asyncio.sleep(given.chance.uniform(0, LIFE_SECONDS_MAX))
        code = await given.cluster.terminate()
        if code != CLEAN_EXIT:
            given.wrong.append(f"SIGTERM ended it with exit code {code}: {given.cluster.log.read_text()[-2000:]}")


class TerminateWhileStarting(Disturbance):
    """SIGKILL, then SIGTERM at a random moment of the next start, which undoes what it has begun."""

    name = "terminate-start"
    weight = 2

    async def apply(self, given: Round) -> None:
        """Kill it, and ask the next one to stop."""
        await given.cluster.kill()
        second = await given.start_again()
        try:
            await asyncio.sleep(given.chance.uniform(0, START_SECONDS))
            code = await second.terminate()
        finally:
            await second.kill()
        if code not in (CLEAN_EXIT, NOT_YET_RUNNING):
            given.wrong.append(f"SIGTERM ended a start with exit code {code}: {second.log.read_text()[-2000:]}")


class FullDisk(Disturbance):
    """No write is acknowledged while the disk is full; reads are answered; writes go on once there is space."""

    name = "full-disk"
    needs_machine = needs_own_disk = True

    async def apply(self, given: Round) -> None:
        """Fill the disk for a while, then kill the process."""
        assert given.machine is not None
        await asyncio.sleep(given.chance.uniform(0, LIFE_SECONDS_MAX))
        with given.machine.suffer(MachineFaults(is_disk_full=True)):
            await asyncio.sleep(given.chance.uniform(0, FAULT_SECONDS_MAX))
            if await _is_written(given):
                given.wrong.append("a write was acknowledged with a full disk")
            try:
                await given.load.list()
            except GONE as error:
                given.wrong.append(f"a read fails with a full disk: {error}, {given.cluster.describe()}")
        if not await _recovers(given):
            given.wrong.append(f"no write succeeds although the disk has space: {given.cluster.describe()}")
        await given.cluster.kill()


async def _recovers(given: Round) -> bool:
    deadline = time.monotonic() + RECOVERY_SECONDS_MAX
    while time.monotonic() < deadline:
        if await _is_written(given):
            return True
        await asyncio.sleep(0.1)
    return False


async def _is_written(given: Round) -> bool:
    try:
        await given.load.send("POST", CONFIG_MAPS, {"metadata": {"generateName": "space-"}})
    except GONE:
        return False
    return True


class KillDatabase(Disturbance):
    """The database is killed while the cluster works, and started again: writes go on."""

    name = "kill-database"
    weight = 3
    needs_killable_database = True

    async def apply(self, given: Round) -> None:
        """Kill the database, then the process."""
        assert isinstance(given.database, KillableDatabase)
        await asyncio.sleep(given.chance.uniform(0, LIFE_SECONDS_MAX))
        await given.database.restart(given.chance.uniform(0, FAULT_SECONDS_MAX))
        if not await _recovers(given):
            given.wrong.append(f"no write succeeds although the database runs again: {given.cluster.describe()}")
        await given.cluster.kill()


class _FaultThenKill(Disturbance):
    """Something is wrong with the machine until SIGKILL."""

    needs_machine = True

    def choose(self, chance: random.Random) -> MachineFaults:
        """Return what is wrong."""
        raise NotImplementedError

    async def apply(self, given: Round) -> None:
        """Let it happen at a random moment, and kill the process later."""
        assert given.machine is not None
        await asyncio.sleep(given.chance.uniform(0, LIFE_SECONDS_MAX))
        with given.machine.suffer(self.choose(given.chance)):
            await asyncio.sleep(given.chance.uniform(0, FAULT_SECONDS_MAX))
            await given.cluster.kill()


class SlowDisk(_FaultThenKill):
    """Each sync takes long."""

    name = "slow-disk"
    needs_own_disk = True

    def choose(self, chance: random.Random) -> MachineFaults:
        """Return a delay."""
        return MachineFaults(sync_milliseconds=chance.choice(SYNC_MILLISECONDS))


class JumpingClock(_FaultThenKill):
    """The clock of the machine jumps ahead or back, and with the next start back again."""

    name = "jumping-clock"

    def choose(self, chance: random.Random) -> MachineFaults:
        """Return a jump of a second to ten days."""
        return MachineFaults(clock_seconds=chance.choice(CLOCK_JUMPS))


class ResetConnections(_FaultThenKill):
    """Connections of clients, and those to the database, are reset again and again."""

    name = "reset-connections"

    def choose(self, chance: random.Random) -> MachineFaults:
        """Return how often."""
        return MachineFaults(reset_every=chance.choice(RESET_EVERY))


DISTURBANCES: Final[tuple[Disturbance, ...]] = (
    Kill(),
    KillWhileStarting(),
    Terminate(),
    TerminateWhileStarting(),
    KillDatabase(),
    FullDisk(),
    SlowDisk(),
    JumpingClock(),
    ResetConnections(),
)
