"""Play schedules in copies of this process, so that the cluster is set up only once.

A copy has the whole cluster at the start of the window, plays one schedule, sends the result through a pipe, and ends.
"""

import asyncio
import gc
import os
import pickle
import select
import warnings
from collections.abc import Iterable, Iterator
from typing import Final, Self

from mockkube.explore.interleavings.invariants import Outcome
from mockkube.explore.interleavings.plan import InterleavingPlan
from mockkube.explore.interleavings.schedule import DEFAULT_SCHEDULE, Schedule
from mockkube.explore.interleavings.schedule_player import PlayedWindow, SchedulePlayer

_CHUNK_BYTES: Final = 1 << 16


class PlayFailed(Exception):
    """Raised when a copy of the process ended without a result."""


class _Copy:
    """A running copy of the process."""

    def __init__(self, number: int, pid: int, pipe: int) -> None:
        self.number, self.pid, self.pipe = number, pid, pipe
        self.received = bytearray()

    def receive(self) -> bool:
        """Read what has arrived; return whether that was the end."""
        chunk = os.read(self.pipe, _CHUNK_BYTES)
        self.received += chunk
        return not chunk

    def finish(self) -> PlayedWindow:
        """Return the result of a copy that has ended."""
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        try:
            result = pickle.loads(self.received)  # from a copy of this process
        except EOFError:
            raise PlayFailed("a process that ran a schedule was killed") from None
        if isinstance(result, BaseException):
            raise result
        assert isinstance(result, PlayedWindow)
        return result


class ForkedPlayer:
    """Plays schedules from one cluster that waits at the start of its window; a context manager.

    The event loop does not run while the process is copied: each copy lets it run on by itself.
    """

    def __init__(self, plan: InterleavingPlan, workers: int) -> None:
        self._plan, self._player, self._workers = plan, SchedulePlayer(plan), workers
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        try:
            self._runner.run(_warm_up(self._plan))
            self._runner.run(self._player.start())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        try:
            self._runner.run(self._player.close())
        finally:
            self._runner.close()

    def play_all(
        self, schedules: Iterable[Schedule], usual: Outcome | None = None, *, with_details: bool = False
    ) -> list[PlayedWindow]:
        """Play schedules, several at a time; return their results in order."""
        waiting: Iterator[tuple[int, Schedule]] = iter(enumerate(schedules))
        results: dict[int, PlayedWindow] = {}
        running: dict[int, _Copy] = {}
        while True:
            while len(running) < self._workers and (one := next(waiting, None)) is not None:
                copy = self._start(*one, usual, with_details=with_details)
                running[copy.pipe] = copy
            if not running:
                return [results[number] for number in sorted(results)]
            for pipe in select.select(list(running), [], [])[0]:
                if running[pipe].receive():
                    copy = running.pop(pipe)
                    results[copy.number] = copy.finish()

    def _start(self, number: int, schedule: Schedule, usual: Outcome | None, *, with_details: bool) -> _Copy:
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            # From Python 3.12 on, a fork of a process with threads warns: the copy uses none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid:
            os.close(writer)
            return _Copy(number, pid, reader)
        # A copy lives too short for collections to pay, and they would touch all memory that it shares.
        gc.disable()
        try:
            _send(writer, self._play(schedule, usual, with_details=with_details))
        finally:
            # Without clean-up: files, sockets and locks belong to the original.
            os._exit(0)

    def _play(self, schedule: Schedule, usual: Outcome | None, *, with_details: bool) -> PlayedWindow | BaseException:
        try:
            return self._runner.run(self._player.play(schedule, usual, with_details=with_details))
        except BaseException as error:
            return error


async def _warm_up(plan: InterleavingPlan) -> None:
    """Play the default schedule on a cluster of its own: modules and caches that it fills serve all copies."""
    player = SchedulePlayer(plan)
    try:
        await player.start()
        await player.play(DEFAULT_SCHEDULE)
    finally:
        await player.close()


def _send(writer: int, result: PlayedWindow | BaseException) -> None:
    try:
        body = pickle.dumps(result)
    except Exception:  # an error whose arguments cannot be sent
        body = pickle.dumps(PlayFailed(repr(result)))
    sent = memoryview(body)
    while sent:
        sent = sent[os.write(writer, sent) :]
