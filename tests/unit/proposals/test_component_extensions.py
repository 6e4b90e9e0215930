"""What components of each version get of the proposals."""

import pytest

from mockkube.api.decoding.codec import Codec, DecodingState
from mockkube.api.validation.extensions import NO_EXTENSIONS
from mockkube.features.capabilities import Capabilities
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import compile_toleration
from mockkube.proposals.component_extensions import (
    TOLERATION,
    make_schema,
    make_schema_overlays,
    make_selector_operators,
    make_taint_rules,
    make_validation_extensions,
    proposals_known_to,
)

SEMVER = "TaintTolerationNodeAffinitySemverComparisonOperators"
CEL = "TaintTolerationCEL"
NUMERIC = "TaintTolerationComparisonOperators"
V134, V135, V136 = Version(1, 34), Version(1, 35), Version(1, 36)
SEMVERS = ["SemverEq", "SemverGt", "SemverLt"]


@pytest.mark.parametrize(
    ("version", "keps"), [(V134, []), (V135, [5471, 5500, 5721]), (V136, [5471, 5500, 5721])], ids=str
)
def test_proposals_are_aboard_from_their_alpha_on(version, keps):
    assert [proposal.kep for proposal in proposals_known_to(version)] == keps


def test_another_train_brings_a_proposal_elsewhere():
    trains = (ReleaseTrain(CEL, stages=(GateStage(Version(1, 38), Maturity.ALPHA, False),)),)
    assert 5500 not in [one.kep for one in proposals_known_to(Version(1, 37), trains)]
    assert 5500 in [one.kep for one in proposals_known_to(Version(1, 38), trains)]


def test_a_version_before_the_train_does_not_know_the_field():
    seen = {}
    for version in (V134, V136):
        schema, found = make_schema(version), DecodingState()
        decoded = Codec(schema).decode(
            schema.get_type(TOLERATION), {"expression": "true", "tolerationSeconds": 3}, found
        )
        seen[version] = (decoded, found.has_unknown_fields)
    assert seen == {
        V134: ({"tolerationSeconds": 3}, True),
        V136: ({"expression": "true", "tolerationSeconds": 3}, False),
    }


def test_an_empty_expression_is_none():
    schema = make_schema(V136)
    assert Codec(schema).decode(schema.get_type(TOLERATION), {"key": "a", "expression": ""}, DecodingState()) == {
        "key": "a"
    }


def test_the_field_is_described_for_explain():
    assert "CEL expression" in make_schema_overlays(V136)[TOLERATION]["expression"]["description"]
    assert make_schema_overlays(V134) == {}


def test_a_version_beyond_the_published_ones_has_the_newest_types():
    assert make_schema(Version(1, 39)).version == Version(1, 37)


def test_servers_of_a_version_share_types_and_rules():
    assert make_schema(V136) is make_schema(V136)
    assert make_validation_extensions(V136) is make_validation_extensions(V136)
    assert make_validation_extensions(V134) is NO_EXTENSIONS


def test_rules_name_the_gate_that_decides():
    extensions = make_validation_extensions(V136)
    gates = {name: rule.gate for name, rule in extensions.tolerations.items()}
    assert gates == {**dict.fromkeys(SEMVERS, SEMVER), "Gt": NUMERIC, "Lt": NUMERIC}
    assert {name: rule.gate for name, rule in extensions.node_selectors.items()} == dict.fromkeys(SEMVERS, SEMVER)
    assert {name: rule.gate for name, rule in extensions.toleration_fields.items()} == {"expression": CEL}


@pytest.mark.parametrize(
    ("gates", "operators", "compares"),
    [
        pytest.param((), [], [], id="none"),
        pytest.param((NUMERIC,), ["Gt", "Lt"], [], id="numbers"),
        pytest.param((SEMVER,), SEMVERS, SEMVERS, id="versions"),
        pytest.param((NUMERIC, SEMVER, CEL), ["Gt", "Lt", *SEMVERS], SEMVERS, id="all"),
    ],
)
def test_gates_settle_what_a_component_matches_with(gates, operators, compares):
    caps = Capabilities(V136, frozenset(gates))
    assert sorted(make_taint_rules(caps).operators) == operators
    assert sorted(make_selector_operators(caps)) == compares


@pytest.mark.parametrize(("gates", "tolerated"), [((CEL,), True), ((), False)], ids=["on", "off"])
def test_an_expression_matches_with_its_gate_alone(gates, tolerated):
    rules = make_taint_rules(Capabilities(V136, frozenset(gates)), ExpressionCache().compile_expression)
    toleration = compile_toleration({"expression": "taint.key == 'a'"}, rules)
    assert toleration.tolerates({"key": "a", "effect": "NoSchedule"}) is tolerated
