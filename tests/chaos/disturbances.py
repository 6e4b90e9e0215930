"""What happens to a cluster in one round. A new disturbance is one class and one entry of DISTURBANCES."""

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from cluster_process import ClusterProcess

LIFE_SECONDS_MAX: Final = 0.8
"""How long a cluster works before it is disturbed, at most."""
START_SECONDS: Final = 1.0
"""How long a start takes, about."""
CLEAN_EXIT: Final = 0
NOT_YET_RUNNING: Final = -signal.SIGTERM
"""The exit code of a process that has been stopped before it read its first module: nothing has begun."""


@dataclass(slots=True)
class Round:
    """One round: what a disturbance acts on."""

    cluster: ClusterProcess
    chance: random.Random
    start_again: Callable[[], Awaitable[ClusterProcess]]
    """Starts the next process on the same database."""
    wrong: list[str] = field(default_factory=list)


class Disturbance:
    """Something that happens to a cluster at work; the process has ended when `apply` returns."""

    name: ClassVar[str]
    weight: ClassVar[int] = 1

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


DISTURBANCES: Final[tuple[Disturbance, ...]] = (Kill(), KillWhileStarting(), Terminate(), TerminateWhileStarting())
