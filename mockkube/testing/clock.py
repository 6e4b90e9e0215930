"""`kube.clock`: the time of a cluster, which a test moves if it is virtual."""

from datetime import datetime, timedelta

from mockkube_cel.golang import gotime

from mockkube.api.times import parse_time
from mockkube.cluster.configuration.values import VIRTUAL_CLOCK
from mockkube.cluster.control.clock import CLOCK_NAME, format_moment
from mockkube.cluster.control_plane import ControlPlane
from mockkube.cluster.execution.virtual_time_executor import VirtualTimeExecutor
from mockkube.runtime.clock import Clock
from mockkube.testing.cluster_loop import ClusterLoop
from mockkube.testing.errors import RealTimeError

# Seconds, a timedelta, or text as kubectl takes it: 90s, 1h30m.
Duration = float | timedelta | str


def parse_duration(duration: Duration) -> timedelta:
    """Return a duration; ValueError if the text is none, or it is negative."""
    if isinstance(duration, str):
        parsed = gotime.parse_duration(duration)
        if parsed is None:
            raise ValueError(f"{duration!r} is no duration: give seconds, a timedelta, or text like 1h30m")
        found = timedelta(microseconds=parsed.nanos // 1000)
    else:
        found = duration if isinstance(duration, timedelta) else timedelta(seconds=duration)
    if found < timedelta():
        raise ValueError(f"time does not go back: {duration!r}")
    return found


class KubeClock:
    """Clock of the cluster. It can be moved with the setting `clock="virtual"`, else the machine's time passes."""

    def __init__(self, control_plane: ControlPlane, loop: ClusterLoop) -> None:
        self._control_plane = control_plane
        self._loop = loop

    @property
    def is_virtual(self) -> bool:
        """True if time stands still until the test moves it."""
        return self._control_plane.virtual_executor is not None

    def now(self) -> datetime:
        """Return the time of the cluster."""
        return self._clock.now()

    def advance(self, duration: Duration) -> datetime:
        """Advance time, and return the new one when the components have done all that was due until then.

        `duration` is seconds, a timedelta or text like `1h30m`. Raises RealTimeError unless the time is virtual, and
        LivelockError if components keep each other busy for ever.
        """
        return self._loop.run(lambda: self._advance(parse_duration(duration)))

    async def advance_async(self, duration: Duration) -> datetime:
        """Advance time from asynchronous code; see `advance`."""
        return await self._loop.run_async(lambda: self._advance(parse_duration(duration)))

    def sleep_until(self, moment: datetime | str) -> datetime:
        """Advance time to a moment, like `2030-01-01T00:05:00Z`; ValueError if it has passed. See `advance`."""
        return self._loop.run(lambda: self._sleep_until(moment))

    async def sleep_until_async(self, moment: datetime | str) -> datetime:
        """Advance time to a moment from asynchronous code; see `sleep_until`."""
        return await self._loop.run_async(lambda: self._sleep_until(moment))

    @property
    def _clock(self) -> Clock:
        return self._control_plane.api_server_dependencies.clock

    async def _advance(self, duration: timedelta) -> datetime:
        executor = self.require_executor()
        return await self.move_to(executor, self._clock.now() + duration)

    async def _sleep_until(self, moment: datetime | str) -> datetime:
        executor = self.require_executor()
        target, now = parse_time(moment) if isinstance(moment, str) else moment, self._clock.now()
        if target < now:
            raise ValueError(f"time does not go back: it is {format_moment(now)}")
        return await self.move_to(executor, target)

    def require_executor(self) -> VirtualTimeExecutor:
        """Return the executor that moves the time; RealTimeError in real time."""
        executor = self._control_plane.virtual_executor
        if executor is None:
            raise RealTimeError(
                "the cluster runs in real time, which passes by itself: mark the test with"
                ' @pytest.mark.mockkube(clock="virtual") to move it'
            )
        return executor

    async def move_to(self, executor: VirtualTimeExecutor, moment: datetime) -> datetime:
        """Move virtual time to a moment; return the time when all components are at rest there."""
        # The Clock of the control API shows the time, so that one is moved; its status follows.
        spec = {"mode": VIRTUAL_CLOCK, "advanceTo": format_moment(moment)}
        await self._control_plane.control_api.update_spec("clocks", CLOCK_NAME, spec)
        await executor.advance_to(moment)
        return self._clock.now()
