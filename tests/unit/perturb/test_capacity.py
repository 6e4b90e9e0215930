"""Number of runs at the same time."""

import pytest

from mockkube.perturb.capacity import ProcessorTimes, count_jobs


@pytest.mark.parametrize(
    ("own", "children", "expected"),
    [
        pytest.param(0.0, 0.0, 12, id="a run that only waits"),
        pytest.param(0.5, 1.0, 8, id="processes use both processors"),
        pytest.param(1.0, 0.0, 6, id="the clusters of all runs share one processor"),
        pytest.param(8.0, 9.0, 2, id="never less than one per processor"),
    ],
)
def test_runs_use_part_of_the_processors(own: float, children: float, expected: int) -> None:
    assert count_jobs(10.0, ProcessorTimes(own, children), processors=2) == expected


def test_times_of_this_process_grow() -> None:
    before = ProcessorTimes.read()
    sum(range(3_000_000))
    used = ProcessorTimes.read().since(before)
    assert used.own > 0
