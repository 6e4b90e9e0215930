from datetime import UTC, datetime, timedelta
from decimal import Decimal

from mockkube.apiserver.registry.simulated_kubelets import CpuCounters

START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ("uid", "app")


def after(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def test_time_adds_up_and_never_decreases() -> None:
    counters = CpuCounters()
    assert counters.count(KEY, START, after(10), Decimal(2)) == 20
    assert counters.count(KEY, START, after(20), Decimal("0.5")) == 25
    assert counters.count(KEY, START, after(20), Decimal(0)) == 25


def test_a_restarted_container_starts_over() -> None:
    counters = CpuCounters()
    counters.count(KEY, START, after(100), Decimal(1))
    assert counters.count(KEY, after(100), after(130), Decimal(1)) == 30
