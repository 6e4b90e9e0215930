"""Watchdog thread: logs the stack of a blocked event loop, and ends a process that does not stop."""

import asyncio
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock, RealClock

# Exit code of a process that the watchdog ended; the store then has what a killed process leaves.
BLOCKED_EXIT_CODE: Final = 5
_FRAMES_MAX: Final = 40

_LOG: Final = logging.getLogger("mockkube.watchdog")


@dataclass(frozen=True, slots=True)
class WatchdogLimits:
    """Limits of a watchdog."""

    # The stack of a loop that is blocked this long is logged; while stopping, the process ends.
    stall_seconds: float = 5.0
    # Stopping may take this long, even if the loop is not blocked.
    stop_seconds: float = 5.0
    tick_seconds: float = 0.25


class Watchdog:
    """Watches one event loop from its own thread, until `close`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        limits: WatchdogLimits | None = None,
        clock: Clock | None = None,
        end_process: Callable[[int], object] = os._exit,
    ) -> None:
        """Watch the loop of the calling thread; `end_process` ends the process immediately."""
        self._loop = loop
        self._limits, self._clock, self._end_process = limits or WatchdogLimits(), clock or RealClock(), end_process
        self._watched_thread_id = threading.get_ident()
        # When the loop got a callback that it has not run yet; None if there is none.
        self._pinged_at: float | None = None
        self._is_blocked = False
        self._stopping_since: float | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def begin_stop(self) -> None:
        """Start the time limit for stopping; safe in a signal handler."""
        if self._stopping_since is None:
            self._stopping_since = self._clock.monotonic()

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._closed.wait(self._limits.tick_seconds):
            self.check()

    def check(self) -> None:
        """Check the loop once; the thread calls this periodically."""
        now = self._clock.monotonic()
        if self._pinged_at is None:
            self._ping(now)
        waited = 0.0 if self._pinged_at is None else now - self._pinged_at
        if waited >= self._limits.stall_seconds and not self._is_blocked:
            self._is_blocked = True
            _LOG.error("the event loop has not turned for %.1f s:\n%s", waited, self._format_stacks())
        stopping = None if self._stopping_since is None else now - self._stopping_since
        if stopping is None:
            return
        if min(waited, stopping) >= self._limits.stall_seconds or stopping >= self._limits.stop_seconds:
            _LOG.critical("stopping takes longer than %.1f s: ending the process\n%s", stopping, self._format_stacks())
            self._end_process(BLOCKED_EXIT_CODE)

    def _ping(self, now: float) -> None:
        self._pinged_at = now
        try:
            self._loop.call_soon_threadsafe(self._handle_ping, now)
        except RuntimeError:  # the loop is closed
            self._pinged_at = None

    def _handle_ping(self, asked_at: float) -> None:
        self._pinged_at = None
        if self._is_blocked:
            self._is_blocked = False
            _LOG.error("the event loop turns again after %.1f s", self._clock.monotonic() - asked_at)

    def _format_stacks(self) -> str:
        """Return the stack of the watched thread, and where the loop's tasks wait."""
        frame = sys._current_frames().get(self._watched_thread_id)
        lines = [] if frame is None else traceback.format_stack(frame, limit=_FRAMES_MAX)
        return "".join([*lines, *(_format_task(task) for task in _get_tasks(self._loop))])


def _get_tasks(loop: asyncio.AbstractEventLoop) -> list["asyncio.Task[object]"]:
    try:
        return sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())[:_FRAMES_MAX]
    except RuntimeError:  # the set of tasks has changed under our eyes too often
        return []


def _format_task(task: "asyncio.Task[object]") -> str:
    stack = task.get_stack(limit=1)
    where = f'File "{stack[-1].f_code.co_filename}", line {stack[-1].f_lineno}' if stack else "not started"
    return f"  task {task.get_name()}: {where}\n"
