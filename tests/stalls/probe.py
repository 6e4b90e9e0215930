"""Measures how long the event loop is away, in processor time, and how much memory is taken.

Wall time says as much of the machine as of the code: a loop that waits for a processor is late through no fault of its
own. So two things are measured that other processes hardly change: the processor time of the loop's thread in one turn,
and the processor time of the whole process between two ticks of the loop, which grows when another thread keeps the
interpreter to itself.
"""

import asyncio
import ctypes
import gc
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

TICK_SECONDS: Final = 0.005
SAMPLE_SECONDS: Final = 0.01
FRAMES_MAX: Final = 12


class MeasuredLoop(asyncio.SelectorEventLoop):
    """An event loop that remembers its longest turn."""

    def __init__(self) -> None:
        super().__init__()
        self.longest_turn = 0.0
        self.turns = 0.0
        """Seconds of processor time of all turns."""
        self.samples: list[str] = []
        """What the loop's thread was seen at in this turn, and then in the longest."""
        self.longest_samples: list[str] = []

    def _run_once(self) -> None:
        began = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        seconds = time.thread_time() - began
        self.turns += seconds
        if seconds > self.longest_turn:
            self.longest_turn, self.longest_samples = seconds, self.samples
        self.samples = []


class Sampler(threading.Thread):
    """Looks again and again where the thread that starts it is, and tells its loop."""

    def __init__(self, loop: MeasuredLoop) -> None:
        super().__init__(daemon=True, name="sampler")
        self._loop, self._thread, self._done = loop, threading.get_ident(), threading.Event()

    def run(self) -> None:
        """Sample until stopped."""
        while not self._done.wait(SAMPLE_SECONDS):
            frame = sys._current_frames().get(self._thread)
            self._loop.samples.append("" if frame is None else _stack(frame))

    def stop(self) -> None:
        """Sample no more."""
        self._done.set()


def _stack(frame: FrameType | None) -> str:
    places: list[str] = []
    while frame is not None and len(places) < FRAMES_MAX:
        code = frame.f_code
        places.append(f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return " < ".join(places)


def _function_of(place: str) -> str:
    file, _, name = place.partition(" ")
    return f"{file.partition(':')[0]} {name}"


def summary(samples: list[str]) -> str:
    """Return the functions in which most of the samples are, the commonest first."""
    functions = Counter[str]()
    for stack in samples:
        functions.update({_function_of(place) for place in stack.split(" < ") if place})
    return ", ".join(f"{name} {count}" for name, count in functions.most_common(FRAMES_MAX))


@dataclass(slots=True)
class Ticker:
    """Ticks in a loop, and remembers how much processor time passed between two ticks at the most."""

    loop: MeasuredLoop
    longest: float = 0.0
    last: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to tick."""
        self.last = time.process_time()
        self._plan()

    def stop(self) -> None:
        """Tick no more."""
        if self.timer is not None:
            self.timer.cancel()

    def _plan(self) -> None:
        self.timer = self.loop.call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        now = time.process_time()
        self.longest = max(self.longest, now - self.last)
        self.last = now
        self._plan()

    def reset(self) -> None:
        """Forget what was measured."""
        self.longest = self.loop.longest_turn = 0.0
        self.last = time.process_time()

    @property
    def stall_seconds(self) -> float:
        """The longest time that the loop was away."""
        return max(self.longest, self.loop.longest_turn)


def memory_mib(name: str = "VmRSS") -> float:
    """Return how much memory this process has, or with `VmHWM` had at the most; 0 where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    line = next((line for line in status.splitlines() if line.startswith(f"{name}:")), f"{name}: 0")
    return int(line.split()[1]) / 1024


def forget_peak() -> None:
    """Let the most memory be what there is now, and that be in use."""
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return
