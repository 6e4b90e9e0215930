"""Garbage collection that costs little: schemas and cases that stay are many, and each full collection walks them all.

With Python's own thresholds full collections take two thirds of the time of `tests/unit/apiserver`.
"""

import gc
import resource
import sys
from typing import Final

import pytest

_THRESHOLDS: Final = (50_000, 20, 1_000_000)
"""Full collections do not start by themselves; see `_Memory`."""
_GROWTH_BYTES_MAX: Final = 512 << 20
_MAXRSS_UNIT_BYTES: Final = 1 if sys.platform == "darwin" else 1024

gc.disable()  # collecting tests leaves no garbage behind


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exclude the collected tests from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.enable()
    session.config.pluginmanager.register(_Memory())


class _Memory:
    """Runs a full collection once the peak memory of this process has grown by 512 MiB since the last one."""

    def __init__(self) -> None:
        self._peak_bytes = _read_peak_bytes()

    def pytest_runtest_teardown(self) -> None:
        """Look at the memory after each test."""
        if _read_peak_bytes() - self._peak_bytes > _GROWTH_BYTES_MAX:
            gc.collect()
            self._peak_bytes = _read_peak_bytes()


def _read_peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT_BYTES
