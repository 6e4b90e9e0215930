"""The soak finds what grows, and nothing in what only varies."""

import random
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

growth: Final[Any] = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("growth.py"))))
TIMES: Final = [900.0 + 60 * number for number in range(45)]
STEADY: Final = {"rss_kib": 230_000, "blocks": 10**6, "tasks": 174, "handles": 29, "threads": 12, "live_objects": 1400}


def make_samples(kib_per_hour: float = 0.0, noise_kib: float = 2000.0) -> list[dict[str, Any]]:
    chance = random.Random(1)
    sample = {**STEADY, "store_bytes": 3_200_000}
    return [{**sample, "rss_kib": 230_000 + kib_per_hour * at / 3600 + chance.gauss(0, noise_kib)} for at in TIMES]


def test_what_only_varies_is_no_growth() -> None:
    samples = make_samples()
    for sample in samples[20:40:2]:  # connections that are still open
        sample.update(tasks=184, handles=39)
    assert growth.find_growth(TIMES, samples) == []


def test_memory_that_grows_is_found() -> None:
    [found] = growth.find_growth(TIMES, make_samples(kib_per_hour=20 * 1024))
    assert found.startswith("memory grows by 1")


def test_growth_that_noise_may_explain_is_printed_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert growth.find_growth(TIMES, make_samples(kib_per_hour=4 * 1024, noise_kib=8000.0)) == []
    assert "NOT CERTAIN" in capsys.readouterr().out


def test_a_short_run_does_not_judge_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert growth.find_growth(TIMES[:10], make_samples(kib_per_hour=50 * 1024)[:10]) == []
    assert "NOT CERTAIN" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["tasks", "handles", "threads", "live_objects"])
def test_a_count_whose_floor_rises_is_found(what: str) -> None:
    samples = make_samples()
    for number, sample in enumerate(samples):
        sample[what] += number // 3
    assert growth.find_growth(TIMES, samples) == [f"{what}: {STEADY[what]} became {STEADY[what] + 7}"]


def test_a_store_that_grows_is_found() -> None:
    samples = make_samples()
    for number, sample in enumerate(samples):
        sample["store_bytes"] += number * 100_000
    assert growth.find_growth(TIMES, samples) == ["the store grew from 3200000 to 5400000 bytes"]


def test_too_few_samples_are_no_success() -> None:
    assert growth.find_growth(TIMES[:2], make_samples()[:2]) != []
