"""A proposal that this project does not have, written as the next one would be."""

import pytest

from mockkube.api.fields import invalid
from mockkube.api.validation.extensions import reject_toleration_operator
from mockkube.features.gates import enabled_gates
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.matching.taints import TaintRules, UnreadableValue, compile_toleration
from mockkube.proposals.catalogue import PROPOSALS, TRAINS
from mockkube.proposals.proposal import Operator, Proposal, by_pair

V136, V137, V138 = Version(1, 36), Version(1, 37), Version(1, 38)
TRAIN = ReleaseTrain(
    "TaintTolerationPrefix", stages=(GateStage(V137, Maturity.ALPHA, False), GateStage(V138, Maturity.BETA, True))
)


def check(toleration, at):
    return [] if toleration.get("value") else [invalid(f"{at}.value", "", "must not be empty with operator Prefix")]


def matches(value, taint_value):
    return taint_value.startswith(value)


PREFIX = Proposal(
    kep=9999,
    gate=TRAIN.gate,
    train=TRAIN,
    tolerations={"Prefix": Operator(check, by_pair(matches), reject_toleration_operator)},
)


@pytest.mark.parametrize(("version", "there"), [(V136, False), (V137, True), (V138, True)], ids=str)
def test_it_is_there_from_its_alpha_on(version, there):
    assert PREFIX.is_known_to(version, (TRAIN,)) is there


def test_its_gate_is_on_from_its_beta_on():
    assert [TRAIN.gate in enabled_gates(version, trains=(TRAIN,)) for version in (V137, V138)] == [False, True]


def test_nobody_has_it_whose_trains_do_not_bring_it():
    assert PREFIX.is_known_to(V138, ()) is False


def test_a_part_may_wait_for_a_later_stage():
    later = Proposal(kep=9999, gate=TRAIN.gate, train=TRAIN, since=Maturity.BETA)
    assert [later.is_known_to(version, (TRAIN,)) for version in (V137, V138)] == [False, True]


def test_its_operator_judges_and_matches():
    operator = PREFIX.tolerations["Prefix"]
    assert [
        str(error) for error in operator.to_operator_rule(TRAIN.gate, reject_toleration_operator).check({}, "t")
    ] == ['t.value: Invalid value: "": must not be empty with operator Prefix']
    rules = TaintRules({"Prefix": operator.test})
    toleration = compile_toleration({"key": "zone", "operator": "Prefix", "value": "eu-"}, rules)
    assert [toleration.tolerates({"key": "zone", "value": value}) for value in ("eu-1", "us-1")] == [True, False]


def test_a_value_that_an_operator_cannot_read_does_not_match_and_is_reported():
    greater = by_pair(lambda value, taint_value: int(taint_value) > int(value))
    assert (greater("5")("6"), greater("5")("4")) == (True, False)
    outcome = greater("5")("high")
    assert isinstance(outcome, UnreadableValue)
    assert (outcome.owner, outcome.value) == ("taint", "high")


def test_proposals_stand_in_the_order_of_their_numbers_once():
    keps = [proposal.kep for proposal in PROPOSALS]
    assert keps == sorted(set(keps))


def test_every_operator_is_declared_once():
    names = [name for proposal in PROPOSALS for name in (*proposal.tolerations, *proposal.toleration_fields)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("proposal", PROPOSALS, ids=lambda one: str(one.kep))
def test_some_train_or_release_brings_every_proposal(proposal):
    assert proposal.gate in enabled_gates(V136, {proposal.gate: True}, TRAINS)


@pytest.mark.parametrize("proposal", PROPOSALS, ids=lambda one: str(one.kep))
def test_no_proposal_takes_a_released_operator(proposal):
    released = {"Equal", "Exists"}
    assert released.isdisjoint(proposal.tolerations)
