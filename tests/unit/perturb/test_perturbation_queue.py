"""Perturbations that share a run, and the order in which they are tried."""

import pytest

from mockkube.perturb.perturbation import Perturbation, combine
from mockkube.perturb.perturbation_queue import PerturbationQueue


def one(identifier: str, *, last_step: int | None = None) -> Perturbation:
    kind, step, _ = identifier.split("/")
    return Perturbation(identifier, kind, int(step), f"text of {identifier}", last_step=last_step)


def take_all(*planned: Perturbation) -> list[list[str]]:
    queue = PerturbationQueue(planned)
    runs = []
    while queue:
        runs.append([taken.id for taken in queue.take_together()])
    return runs


@pytest.mark.parametrize(
    ("planned", "runs"),
    [
        pytest.param(
            [one("crash/1/a"), one("crash/1/b"), one("crash/2/a")],
            [["crash/1/a", "crash/2/a"], ["crash/1/b"]],
            id="one in each step",
        ),
        pytest.param(
            [one("lag/1/a", last_step=2), one("crash/2/a"), one("crash/3/a")],
            [["lag/1/a", "crash/3/a"], ["crash/2/a"]],
            id="none during one that lasts",
        ),
        pytest.param(
            [one(f"read-error/0/{number}") for number in range(9)],
            [[f"read-error/0/{number}" for number in range(8)], ["read-error/0/8"]],
            id="several failed reads of a step",
        ),
        pytest.param(
            [one("read-error/0/a"), one("crash/0/a")],
            [["read-error/0/a"], ["crash/0/a"]],
            id="no failed read with a crash",
        ),
    ],
)
def test_perturbations_share_a_run_if_their_steps_differ(planned: list[Perturbation], runs: list[list[str]]) -> None:
    assert take_all(*planned) == runs


def test_what_is_put_back_alone_shares_no_run() -> None:
    queue = PerturbationQueue([one("crash/2/a"), one("crash/3/a")])
    queue.put_back([one("crash/1/a")], alone=True)
    assert [[taken.id for taken in queue.take_together()] for _ in range(2)] == [
        ["crash/1/a"],
        ["crash/2/a", "crash/3/a"],
    ]


def test_those_alike_come_last_after_two_findings() -> None:
    queue = PerturbationQueue([one("crash/1/a"), one("lag/1/a")])
    for number in (1, 2):
        queue.note_finding(one(f"crash/{number}/a"))
    assert [queue.take().id, queue.take().id] == ["lag/1/a", "crash/1/a"]


def test_a_combination_names_its_parts_in_the_order_of_their_steps() -> None:
    both = combine([one("lag/2/a", last_step=3), one("crash/1/a")])
    assert (both.id, both.kind, list(both.steps)) == ("crash/1/a+lag/2/a", "crash+lag", [1, 2, 3])
    assert [part.id for part in both.list_parts()] == ["crash/1/a", "lag/2/a"]
    assert combine([one("crash/1/a")]).id == "crash/1/a"
