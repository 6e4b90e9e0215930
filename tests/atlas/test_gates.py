"""Every gate is in the atlas, as the code reads it now; a sample is played again."""

import json
from pathlib import Path

import pytest

from mockkube.atlas.atlas import load_entries, make_tasks
from mockkube.atlas.gate_entry import GateEntry, GateStatus
from mockkube.atlas.gate_history import list_stages
from mockkube.atlas.gate_plan import make_plan
from mockkube.atlas.gate_readers import find_readers, list_gates
from mockkube.atlas.gate_trial import make_trial
from mockkube.atlas.gate_workload import load_reasons, load_workloads
from mockkube.explore.plans.loading import load
from mockkube.report.gate_markdown import render_gate, render_index

ROOT = Path(__file__).parents[2]
GATES, ATLAS = ROOT / "conformance" / "gates", ROOT / "docs" / "atlas"
# Played in seconds; `make atlas` plays all.
SAMPLE = ("HostnameOverride", "PodReadyToStartContainersCondition", "StrictIPCIDRValidation")


@pytest.fixture(scope="module")
def entries() -> dict[str, GateEntry]:
    return {entry.gate: entry for entry in load_entries(ATLAS / "atlas.json")}


def test_every_gate_that_a_component_reads_has_a_workload() -> None:
    assert sorted(load_workloads(GATES)) == sorted(find_readers()), "write conformance/gates/GATE.yaml"


def test_rules_of_default_roles_are_read_by_the_api_server() -> None:
    assert find_readers()["KubeletFineGrainedAuthz"] == {"kube-apiserver": ("apiserver/authorization/data/roles.txt",)}


def test_for_every_other_gate_there_is_a_reason() -> None:
    assert sorted(load_reasons(GATES)) == sorted(set(list_gates()) - set(find_readers()))


def test_what_the_proposals_state_is_about_known_gates() -> None:
    facts = json.loads((GATES / "keps.json").read_text())
    assert facts.keys() <= set(list_gates())
    assert facts["JobManagedBy"]["number"] == 4368


def test_components_whose_real_code_reads_a_gate_are_tried_or_named(entries: dict[str, GateEntry]) -> None:
    entry = entries["PodGroupPreemptionPolicy"]
    assert (entry.exercised, entry.not_tried) == (("kube-apiserver",), ("kube-scheduler",))
    assert "`kube-scheduler`: read by the real one, but the simulated one does not" in render_gate(entry)


def test_the_atlas_has_every_gate_of_every_release(entries: dict[str, GateEntry]) -> None:
    assert sorted(entries) == sorted(list_gates()), "run `make atlas`"
    assert [entry.stages for entry in entries.values()] == [list_stages(gate) for gate in entries]


def test_the_atlas_names_the_components_that_read_a_gate_now(entries: dict[str, GateEntry]) -> None:
    written = {gate: [one.component for one in entry.readers] for gate, entry in entries.items() if entry.readers}
    assert written == {gate: list(components) for gate, components in find_readers().items()}, "run `make atlas`"


def test_no_gate_that_can_be_tried_was_left_out(entries: dict[str, GateEntry]) -> None:
    for gate, workload in load_workloads(GATES).items():
        locked = make_trial(workload) is None
        expected = (
            GateStatus.LOCKED if locked else GateStatus.UNOBSERVABLE if workload.unobservable else GateStatus.PLAYED
        )
        assert (gate, entries[gate].status) == (gate, expected)
        # Who writes a workload wants to see something; what cannot be seen says why.
        assert entries[gate].is_tried or expected is not GateStatus.PLAYED, gate


def test_the_pages_are_those_of_the_entries(entries: dict[str, GateEntry]) -> None:
    assert (ATLAS / "README.md").read_text() == render_index(list(entries.values()))
    written = {path.stem: path.read_text() for path in ATLAS.glob("*.md") if path.stem != "README"}
    assert written == {
        gate: render_gate(entry) for gate, entry in entries.items() if entry.status is not GateStatus.NOT_SIMULATED
    }


@pytest.mark.heavy
@pytest.mark.parametrize("gate", SAMPLE)
def test_a_gate_has_the_same_entry_when_it_is_played_again(gate: str, entries: dict[str, GateEntry]) -> None:
    [task] = make_tasks(GATES, [gate])
    assert task.run() == entries[gate], "run `make atlas`"


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["JobManagedBy", "VolumeLimitScaling"])
def test_so_has_one_that_two_components_read(gate: str, entries: dict[str, GateEntry]) -> None:
    [task] = make_tasks(GATES, [gate])
    assert task.run() == entries[gate], "run `make atlas`"


def test_each_workload_makes_a_plan_that_can_be_explored() -> None:
    plans = [
        make_plan(trial)
        for workload in load_workloads(GATES).values()
        if not workload.unobservable and (trial := make_trial(workload)) is not None
    ]
    assert len(plans) > 80
    assert {plan.workload_after for plan in plans} == {"", "kube-apiserver"}


@pytest.mark.parametrize("path", sorted((GATES / "upgrades").glob("*.yaml")), ids=lambda path: path.stem)
def test_upstreams_upgrades_are_plans_of_all_components(path: Path) -> None:
    assert [change.after.version for change in load(path).changes] == ["1.36"] * 4
