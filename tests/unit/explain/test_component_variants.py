"""Components as they would be with one thing changed."""

from mockkube.explain.component_variants import ComponentFeatures
from mockkube.explain.gates import find_relevant_gates
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.proposals.catalogue import TRAINS

NUMERIC = "TaintTolerationComparisonOperators"
AT = Version(1, 36)
PLAIN = ComponentFeatures("kubelet", Capabilities(AT, enabled_gates(AT, component="kubelet")), {})


def test_every_gate_that_can_be_turned_over_is_and_every_other_version() -> None:
    variants = list(PLAIN.list_variants())
    gates = {one.change: one.caps for one in variants if one.kind == "gate"}
    assert gates[f"{NUMERIC}=true"].enabled(NUMERIC)
    assert all(caps.version == AT for caps in gates.values())
    assert [one.change for one in variants if one.kind == "version"] == ["1.33", "1.34", "1.35", "1.37"]


def test_gates_that_stand_for_many_are_left_alone() -> None:
    names = {one.change.partition("=")[0] for one in PLAIN.list_variants()}
    assert not names.intersection(("AllAlpha", "AllBeta"))


def test_a_gate_that_was_set_stays_set_at_another_version() -> None:
    set_on = ComponentFeatures(
        "kubelet", Capabilities(AT, enabled_gates(AT, {NUMERIC: True}, component="kubelet")), {NUMERIC: True}
    )
    newer = next(one for one in set_on.list_variants(()) if one.change == "1.37")
    older = next(one for one in set_on.list_variants(()) if one.change == "1.34")
    assert (newer.caps.enabled(NUMERIC), older.caps.enabled(NUMERIC)) == (True, False)


def test_a_version_with_a_gate_is_only_looked_at_when_nothing_simpler_helps() -> None:
    def helps(caps: Capabilities) -> bool:
        return caps.enabled(NUMERIC)

    assert [one.change for one in PLAIN.find_helpful(helps)] == [f"{NUMERIC}=true"]
    at = Version(1, 34)
    old = ComponentFeatures("kubelet", Capabilities(at, enabled_gates(at, component="kubelet")), {})
    assert [one.change for one in old.find_helpful(helps)] == [
        f"{minor} with {NUMERIC}=true" for minor in ("1.35", "1.36", "1.37")
    ]


def test_gates_of_what_nobody_uses_are_not_tried() -> None:
    plain = {"spec": {"containers": [{"name": "c"}]}}
    numeric = {"spec": {"containers": [], "tolerations": [{"operator": "Gt"}]}}
    claiming = {"spec": {"containers": [], "resourceClaims": [{"name": "gpu"}]}}
    volume = {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "v", "operator": "SemverGt", "values": ["1.0.0"]}]}]}}}}  # fmt: skip
    assert NUMERIC not in find_relevant_gates(plain, {}, TRAINS)
    assert NUMERIC in find_relevant_gates(numeric, {}, TRAINS)
    assert "DRADeviceTaints" not in find_relevant_gates(plain, {}, TRAINS)
    assert "DRADeviceTaints" in find_relevant_gates(claiming, {}, TRAINS)
    semver = "TaintTolerationNodeAffinitySemverComparisonOperators"
    assert semver in find_relevant_gates(plain, {"PersistentVolume": [volume]}, TRAINS)
