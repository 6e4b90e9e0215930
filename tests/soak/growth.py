"""Growth that samples of a process show: of memory by a line through all, of counts by their smallest values."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

Sample = Mapping[str, Any]
KIB_PER_HOUR_MAX: Final = 1024
"""By how much memory may grow in an hour for each 1,000 live objects."""
HOURS_MIN: Final = 0.5
"""In a shorter time the noise of a single sample is larger than what may be added."""
SAMPLES_MIN: Final = 3
STORE_GROWTH_MAX: Final = 1.25
COUNTED: Final = ("tasks", "handles", "threads", "live_objects")
DRIFT_MAX: Final = 5
"""By how many the counts may differ: connections that are just closing, threads of pools."""


def find_growth(times: Sequence[float], samples: Sequence[Sample]) -> list[str]:
    """Return what grows in samples that were taken at these seconds, after a warm-up."""
    if len(samples) < SAMPLES_MIN:
        return ["too few rounds to judge: give it more time"]
    return [*_find_growing_counts(samples), *_find_growing_memory([at / 3600 for at in times], samples)]


def _find_growing_counts(samples: Sequence[Sample]) -> list[str]:
    # The smallest figures of both halves: some samples count connections that are still open, a leak counts in all.
    middle = len(samples) // 2
    first, last = (
        {what: min(sample[what] for sample in half) for what in (*COUNTED, "store_bytes")}
        for half in (samples[:middle], samples[middle:])
    )
    wrong = [f"{what}: {first[what]} became {last[what]}" for what in COUNTED if last[what] - first[what] > DRIFT_MAX]
    if last["store_bytes"] > STORE_GROWTH_MAX * first["store_bytes"]:
        wrong.append(f"the store grew from {first['store_bytes']} to {last['store_bytes']} bytes")
    return wrong


def _find_growing_memory(hours: Sequence[float], samples: Sequence[Sample]) -> list[str]:
    """Print by how much memory grows with time; return it if that is certainly too much."""
    thousands = statistics.fmean(sample["live_objects"] for sample in samples) / 1000
    growth, error = (part / thousands for part in fit_growth(hours, [sample["rss_kib"] for sample in samples]))
    blocks, _ = fit_growth(hours, [sample["blocks"] for sample in samples])
    print(
        f"after the warm-up of {hours[0] * 60:.0f} minutes: {samples[0]['rss_kib'] / 1024:.1f} to "
        f"{samples[-1]['rss_kib'] / 1024:.1f} MiB in {hours[-1] - hours[0]:.2f} h; {growth:.0f} KiB an hour per 1,000 "
        f"live objects, with a standard error of {error:.0f}; {blocks:.0f} blocks an hour"
    )
    if growth <= KIB_PER_HOUR_MAX:
        return []
    if hours[-1] - hours[0] < HOURS_MIN or growth - 2 * error <= KIB_PER_HOUR_MAX:
        print("NOT CERTAIN: memory may grow by more than it should; only a longer run can tell")
        return []
    return [f"memory grows by {growth:.0f} KiB an hour per 1,000 live objects"]


def fit_growth(times: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return the slope of a straight line through the values (least squares), and its standard error."""
    slope, start = statistics.linear_regression(times, values)
    middle = statistics.fmean(times)
    left = sum((value - start - slope * at) ** 2 for at, value in zip(times, values, strict=True))
    spread = sum((at - middle) ** 2 for at in times)
    return slope, math.sqrt(left / (len(times) - 2) / spread)
