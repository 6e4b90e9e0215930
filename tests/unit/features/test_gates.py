"""Which gates are on at a version, and how a component reports them."""

import pytest

from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gates import GateState, enabled_gates, gate_registry, gate_states
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import PROPOSAL_TRAINS, ReleaseTrain
from mockkube.features.versions import Version

COMPARISON = "TaintTolerationComparisonOperators"
SEMVER = "TaintTolerationNodeAffinitySemverComparisonOperators"
CEL = "TaintTolerationCEL"


def at(minor: int, **overrides: bool) -> frozenset[str]:
    return enabled_gates(Version(1, minor), overrides)


@pytest.mark.parametrize(
    ("gate", "minor", "on"),
    [
        pytest.param("NodeDeclaredFeatures", 34, False, id="not born yet"),
        pytest.param("NodeDeclaredFeatures", 35, False, id="alpha"),
        pytest.param("NodeDeclaredFeatures", 36, True, id="beta and on by default"),
        pytest.param("NodeDeclaredFeatures", 37, True, id="GA and locked"),
        pytest.param("SidecarContainers", 37, True, id="graduated, its gate removed"),
        pytest.param("GangScheduling", 37, False, id="given up, its gate removed"),
        pytest.param("GitRepoVolumeDriver", 36, False, id="deprecated and off"),
        pytest.param("DRAFractionalCapacityRange", 37, False, id="on only where no 1.36 is to be expected"),
        pytest.param("NodeDeclaredFeatures", 39, True, id="younger than the newest table"),
        pytest.param("TopologyManagerPolicyOptions", 33, True, id="GA, not locked in the tables of its time"),
        pytest.param("NoSuchGate", 36, False, id="never heard of"),
    ],
)
def test_the_defaults_of_a_release(gate: str, minor: int, on: bool) -> None:
    assert (gate in at(minor)) is on


def test_an_override_counts_where_the_gate_can_be_set() -> None:
    assert COMPARISON in at(36, **{COMPARISON: True})
    assert "NodeDeclaredFeatures" not in at(36, NodeDeclaredFeatures=False)


@pytest.mark.parametrize(
    ("gate", "minor", "value"),
    [
        pytest.param("NoSuchGate", 36, True, id="unknown"),
        pytest.param(COMPARISON, 34, True, id="younger than the version"),
        pytest.param("SidecarContainers", 36, False, id="locked on"),
        pytest.param("GitRepoVolumeDriver", 36, True, id="locked off"),
    ],
)
def test_an_override_that_cannot_be_followed_changes_nothing(gate: str, minor: int, value: bool) -> None:
    assert at(minor, **{gate: value}) == at(minor)


def test_all_alpha_turns_on_what_is_alpha_and_not_set_by_name() -> None:
    gates = at(36, AllAlpha=True, **{COMPARISON: False})
    assert {"AllAlpha", "GenericWorkload", CEL} <= gates
    assert COMPARISON not in gates
    assert gates >= at(36)


def test_all_beta_off_leaves_the_other_stages_alone() -> None:
    gates = at(36, AllBeta=False, NodeDeclaredFeatures=True)
    assert "HostnameOverride" not in gates
    assert {"NodeDeclaredFeatures", "SidecarContainers"} <= gates


def test_a_gate_can_be_set_by_its_alias() -> None:
    assert SEMVER in at(36, TolerationAffinitySemverOperators=True)


def test_the_proposals_are_unknown_before_they_board() -> None:
    assert {SEMVER, CEL}.isdisjoint(gate_registry(Version(1, 34)).histories)
    assert {SEMVER, CEL} <= gate_registry(Version(1, 35)).histories.keys()


def test_a_what_if_train_moves_a_proposal() -> None:
    beta = (GateStage(Version(1, 37), Maturity.ALPHA, False), GateStage(Version(1, 38), Maturity.BETA, True))
    trains = (*PROPOSAL_TRAINS, ReleaseTrain(CEL, stages=beta))
    assert CEL not in gate_registry(Version(1, 36), trains).histories
    assert CEL not in enabled_gates(Version(1, 37), {}, trains)
    assert CEL in enabled_gates(Version(1, 38), {}, trains)


def test_a_what_if_train_rewrites_a_gate_of_upstream() -> None:
    stages = (GateStage(Version(1, 35), Maturity.ALPHA, False), GateStage(Version(1, 36), Maturity.BETA, True))
    trains = (ReleaseTrain(COMPARISON, stages=stages),)
    assert COMPARISON not in enabled_gates(Version(1, 35), {}, trains)
    assert COMPARISON in enabled_gates(Version(1, 36), {}, trains)


def test_a_train_may_leave_out_what_had_graduated() -> None:
    trains = (ReleaseTrain("SidecarContainers", stages=(GateStage(Version(1, 38), Maturity.ALPHA, False),)),)
    assert "SidecarContainers" not in enabled_gates(Version(1, 37), {}, trains)


@pytest.mark.parametrize(
    ("minor", "known"), [(33, 191), (34, 208), (35, 220), (36, 244), (37, 256)], ids=lambda value: str(value)
)
def test_states_count_every_gate_of_the_binary_and_the_proposals(minor: int, known: int) -> None:
    assert len(gate_states(Version(1, minor))) == known


def test_states_name_the_stage_as_the_metric_does() -> None:
    found = {state.name: state for state in gate_states(Version(1, 36), {COMPARISON: True})}
    assert found[COMPARISON] == GateState(COMPARISON, "ALPHA", True)
    assert found["HostnameOverride"] == GateState("HostnameOverride", "BETA", True)
    assert found["SidecarContainers"] == GateState("SidecarContainers", "", True)
    assert found["GitRepoVolumeDriver"] == GateState("GitRepoVolumeDriver", "DEPRECATED", False)
    assert found["AllAlpha"] == GateState("AllAlpha", "ALPHA", False)
    assert list(found) == sorted(found)


def test_states_leave_out_what_is_younger_than_the_emulated_version() -> None:
    old = EffectiveVersion(Version(1, 36), Version(1, 34), Version(1, 33))
    names = {state.name for state in gate_states(Version(1, 36), effective_version=old)}
    assert COMPARISON not in names
    assert "HostnameOverride" in names


def test_the_scheduler_lacks_a_gate_of_the_controller_managers() -> None:
    gate = "ControllerManagerReleaseLeaderElectionLockOnExit"
    assert gate in {state.name for state in gate_states(Version(1, 36), component="kube-controller-manager")}
    assert gate not in {state.name for state in gate_states(Version(1, 36), component="kube-scheduler")}


def test_a_minimum_compatibility_version_can_turn_a_default_on() -> None:
    alone = EffectiveVersion(Version(1, 37), Version(1, 37), Version(1, 37))
    found = {state.name: state.enabled for state in gate_states(Version(1, 37), effective_version=alone)}
    assert found["DRAFractionalCapacityRange"] is True
