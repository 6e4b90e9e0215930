"""Release trains as a configuration gives them."""

import re
from typing import Any

import pytest

from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import PROPOSAL_TRAINS, parse_trains
from mockkube.features.versions import Version

CEL = "TaintTolerationCEL"
SEMVER = "TaintTolerationNodeAffinitySemverComparisonOperators"


def test_nothing_given_leaves_the_proposed() -> None:
    assert parse_trains([]) == PROPOSAL_TRAINS


def test_a_train_replaces_the_proposed_one_of_its_gate() -> None:
    stages = [{"version": "1.35", "maturity": "Alpha"}, {"version": "1.38", "maturity": "beta"}]
    trains = {train.gate: train for train in parse_trains([{"gate": CEL, "stages": stages}])}
    assert trains.keys() == {train.gate for train in PROPOSAL_TRAINS}
    assert trains[CEL].stages == (
        GateStage(Version(1, 35), Maturity.ALPHA, False),
        GateStage(Version(1, 38), Maturity.BETA, True),
    )


def test_a_train_keeps_the_aliases_of_the_one_it_replaces() -> None:
    stages = [{"version": "1.36", "maturity": "GA", "default": True, "locked": True}]
    trains = {train.gate: train for train in parse_trains([{"gate": SEMVER, "stages": stages}])}
    assert trains[SEMVER].aliases == ("TolerationAffinitySemverOperators",)
    assert trains[SEMVER].stages[0].locked


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        pytest.param("CEL", "release trains: 'CEL' is not a list", id="no list"),
        pytest.param([CEL], "a release train is 'TaintTolerationCEL': give a mapping", id="no mapping"),
        pytest.param([{"stages": []}], "a release train names no gate", id="no gate"),
        pytest.param([{"gate": CEL}], "stages of TaintTolerationCEL: None is not a list", id="no stages"),
        pytest.param([{"gate": CEL, "stages": []}], "TaintTolerationCEL has no stages", id="empty stages"),
        pytest.param([{"gate": CEL, "stage": []}], "a release train: unknown field 'stage'", id="a field misspelled"),
        pytest.param(
            [{"gate": CEL, "stages": [{"version": "1.35", "maturity": "gold"}]}],
            "'gold' is not a maturity: give Alpha, Beta, GA, Deprecated",
            id="no maturity",
        ),
        pytest.param(
            [{"gate": CEL, "stages": [{"version": 1.4, "maturity": "Beta"}]}],
            "1.4 is not a version: give one in quotes",
            id="a version without quotes",
        ),
        pytest.param(
            [{"gate": CEL, "stages": [{"version": "1.36", "maturity": "Beta", "default": "yes"}]}],
            "default is 'yes': give true or false",
            id="no boolean",
        ),
        pytest.param(
            [{"gate": CEL, "stages": [{"version": v, "maturity": "Beta"} for v in ("1.37", "1.36")]}],
            "1.36 comes after 1.37: order them by version",
            id="backwards",
        ),
        pytest.param(
            [
                {
                    "gate": CEL,
                    "stages": [
                        {"version": "1.36", "maturity": "GA", "locked": True},
                        {"version": "1.37", "maturity": "GA"},
                    ],
                }
            ],
            "1.37 unlocks what 1.36 locked",
            id="unlocked again",
        ),
    ],
)
def test_what_is_wrong_with_a_train(value: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        parse_trains(value)
