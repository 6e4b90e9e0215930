"""What is wrong with a run, by comparison with undisturbed ones."""

from dataclasses import replace

import pytest

from mockkube.perturb.differences import DifferenceKind, StateDifference
from mockkube.perturb.findings import Problem, find_problems
from mockkube.perturb.normalization import ObjectId
from mockkube.perturb.perturbation import Perturbation
from mockkube.perturb.recorder import ControllerRequest, RunRecord
from mockkube.perturb.reference import Reference
from mockkube.perturb.workload import ForbiddenState
from tests.unit.perturb.records import change, record, request, workload

DISTURBED = Perturbation("crash/1/x", "crash", 1, "a crash")
DELETED = (change("a", 1), change("a", 5, gone=True))
CREATED_AGAIN = (change("a", 7, uid="other"), change("a", 9, uid="other", gone=True))


def problems(run: RunRecord, *references: RunRecord, **fields: object) -> list[Problem]:
    load = workload(**fields)
    return find_problems(run, Reference.from_records(references or (record(),), load), load)


def deletion(revision: int, status: int = 200) -> ControllerRequest:
    return request("delete", "configmaps", "a", revision=revision, status=status)


class TestDeletions:
    USUAL = record(deletion(1), changes=DELETED)

    def test_one_more_object_of_a_name_is_too_much(self) -> None:
        run = record(deletion(1), deletion(7), changes=(*DELETED, *CREATED_AGAIN), perturbation=DISTURBED)
        (one,) = problems(run, self.USUAL)
        assert str(one.kind) == "deletes too much"
        assert one.text == "deletes 2 of configmaps ns/a; undisturbed 1"

    @pytest.mark.parametrize(
        "run",
        [
            pytest.param(
                record(deletion(1), deletion(1), changes=DELETED, perturbation=DISTURBED), id="twice the same"
            ),
            pytest.param(
                record(deletion(1), deletion(6, 404), changes=DELETED, perturbation=DISTURBED), id="it is gone"
            ),
            pytest.param(record(changes=DELETED, perturbation=DISTURBED), id="somebody else does it"),
        ],
    )
    def test_no_more_than_undisturbed_is_right(self, run: RunRecord) -> None:
        assert problems(run, self.USUAL) == []


@pytest.mark.parametrize(
    ("run", "kind", "text"),
    [
        pytest.param(
            replace(record(), differences=[StateDifference(DifferenceKind.LOST, ObjectId("pods", "ns", "p"))]),
            "object lost",
            "pods ns/p is missing",
            id="lost",
        ),
        pytest.param(
            replace(record(), endless_writes=["patch pods p: 9.0 a second"]),
            "writes never end",
            "patch pods p: 9.0 a second",
            id="endless",
        ),
        pytest.param(replace(record(), failed_invariants=["no"]), "invariant broken", "no", id="invariant"),
        pytest.param(replace(record(), error="it ends"), "fails", "it ends", id="error"),
    ],
)
def test_problems_have_a_kind(run: RunRecord, kind: str, text: str) -> None:
    assert [(str(one.kind), one.text) for one in problems(run)] == [(kind, text)]


def test_an_object_must_never_be_as_forbidden() -> None:
    run = record(changes=[change("a", 1, data={"x": "0"}), change("a", 2, data={"x": "1"})])
    (one,) = problems(run, never=(ForbiddenState({"data": {"x": "0"}}),))
    assert (str(one.kind), one.text) == ("forbidden state", "configmaps ns/a was as it must never be")


class TestReference:
    def test_rest_is_longer_than_the_longest_pause(self) -> None:
        changes = [change("a", 1, at=1.0), change("a", 2, at=1.8)]
        assert Reference.from_records([record(changes=changes)], workload()).quiet_seconds == pytest.approx(1.2)

    def test_a_pause_of_the_workload_file_is_taken(self) -> None:
        assert Reference.from_records([record()], workload(quiet_seconds=4.0)).quiet_seconds == 4.0

    def test_what_differs_between_undisturbed_runs_is_not_compared(self) -> None:
        runs = [record(), record(), record()]
        for index, run in enumerate(runs):
            for step in run.steps:
                names = {"a": {"data": {"x": str(index), "y": "1"}}, f"db-{index}": {"data": {}}}
                step.objects = {
                    ObjectId("configmaps", "ns", name): {"metadata": {"name": name}, **rest}
                    for name, rest in names.items()
                }
        reference = Reference.from_records(runs[:2], workload())
        assert [str(one) for one in reference.patterns] == ["configmaps/db-*: metadata.name"]
        assert [str(one) for one in reference.learnt] == ["configmaps/a: data.x"]
