"""Times at which metrics-server scrapes kubelets: every 15 seconds."""

from datetime import UTC, datetime, timedelta
from typing import Final

# upstream metrics-server 0.8: --metric-resolution, pkg/storage/pod.go (freshContainerMinMetricsResolution)
RESOLUTION_SECONDS: Final = 15
# A container that has run for less time at a scrape has no usage yet, nor has its pod.
FRESH_SECONDS_MIN: Final = 10
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def get_last_scrape(now: datetime) -> datetime:
    """Return the time of the last scrape."""
    return now - timedelta(seconds=(now - _EPOCH).total_seconds() % RESOLUTION_SECONDS)


def get_window_seconds(started_at: datetime, scrape: datetime) -> int | None:
    """Return the time over which a scrape measures what started then; None if that is too short."""
    age = (scrape - started_at).total_seconds()
    return None if age < FRESH_SECONDS_MIN else min(int(age), RESOLUTION_SECONDS)
