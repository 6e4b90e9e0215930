"""Which volume a claim gets, and how both refer to each other."""

from typing import Any

import pytest

from mockkube.matching.volumes import (
    BOUND_BY_CONTROLLER,
    ClaimRequirements,
    CompiledVolume,
    RequiredLabel,
    SearchConditions,
    bind_to_claim,
    find_volume,
    is_bound_to_claim,
    is_fully_bound,
    storage_class_of,
)
from mockkube.proposals.kep_5721 import COMPARISONS as SEMVER

ANNOTATION = "volume.beta.kubernetes.io/storage-class"
HERE = {"zone": "a", "version": "1.4.0"}
ON_A_NODE = SearchConditions(labels=HERE, delayed=True)


def volume(name: str = "v", size: str = "1Gi", *, phase: str = "Available", zone: str = "", **spec: Any) -> Any:
    if zone:
        expression = {"key": "zone", "operator": "In", "values": [zone]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    own = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    metadata = {"name": name, "labels": {"tier": name}}
    return {"metadata": metadata, "spec": {**own, **spec}, "status": {"phase": phase}}


def claim(size: str = "1Gi", **spec: Any) -> Any:
    own = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": "fast",
    }
    metadata = {"name": "c", "namespace": "a", "uid": "u", "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {**own, **spec}}


def reference(name: str = "c", **fields: Any) -> Any:
    return {"kind": "PersistentVolumeClaim", "namespace": "a", "name": name, **fields}


def found(wish: Any, *volumes: Any, terms: SearchConditions = ON_A_NODE, taken: tuple[str, ...] = ()) -> str:
    compiled = [CompiledVolume.from_object(one, SEMVER) for one in volumes]
    volume = find_volume(ClaimRequirements.from_object(wish), compiled, terms, taken)
    return "" if volume is None else volume.name


def test_the_smallest_volume_that_is_large_enough_is_found() -> None:
    assert found(claim("2Gi"), volume("a", "8Gi"), volume("b", "2Gi"), volume("c", "1Gi")) == "b"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(volume(size="1Mi"), id="too small"),
        pytest.param(volume(phase="Released"), id="not available"),
        pytest.param(volume(zone="b"), id="not reachable from the node"),
        pytest.param(volume(storageClassName="slow"), id="of another class"),
        pytest.param(volume(volumeMode="Block"), id="of another mode"),
        pytest.param(volume(accessModes=["ReadOnlyMany"]), id="without the access mode"),
        pytest.param(volume(volumeAttributesClassName="gold"), id="of another attributes class"),
        pytest.param(volume(claimRef=reference("other")), id="reserved for another claim"),
        pytest.param(volume(claimRef=reference(uid="before")), id="reserved for a claim of that name before"),
        pytest.param(volume() | {"metadata": {"name": "v", "deletionTimestamp": "now"}}, id="about to go"),
    ],
)
def test_a_volume_is_no_match(other: Any) -> None:
    assert found(claim(), other) == ""
    assert found(claim(), volume()) == "v"


def test_a_claims_selector_is_about_the_labels_of_volumes() -> None:
    wish = claim(selector={"matchLabels": {"tier": "b"}})
    assert found(wish, volume("a"), volume("b")) == "b"


def test_a_selector_that_cannot_be_read_is_named_with_its_claim() -> None:
    wish = claim(selector={"matchExpressions": [{"key": "a", "operator": "Near"}]})
    with pytest.raises(ValueError, match="error creating internal label selector for claim: a/c"):
        ClaimRequirements.from_object(wish)


def test_a_reserved_volume_comes_before_a_smaller_one() -> None:
    assert found(claim(), volume("a"), volume("b", "9Gi", claimRef=reference())) == "b"


def test_a_claim_whose_reserved_volume_is_elsewhere_gets_no_other() -> None:
    assert found(claim(), volume("b", zone="b", claimRef=reference()), volume("a")) == ""


def test_a_volume_taken_for_another_claim_of_the_pod_is_left_alone() -> None:
    assert found(claim(), volume("a"), volume("b", "2Gi"), taken=("a",)) == "b"


def test_without_a_node_unreserved_volumes_are_left_to_the_scheduler() -> None:
    delayed, immediate = SearchConditions(delayed=True), SearchConditions()
    assert found(claim(), volume("a"), terms=delayed) == ""
    assert found(claim(), volume("a"), terms=immediate) == "a"
    assert found(claim(), volume("b", zone="b", claimRef=reference()), terms=delayed) == "b"


def test_where_attributes_classes_are_unknown_a_claim_of_one_is_an_error() -> None:
    terms = SearchConditions(labels=HERE, attributes_classes=False)
    with pytest.raises(ValueError, match="unsupported volumeAttributesClassName is set on claim a/c"):
        found(claim(volumeAttributesClassName="gold"), terms=terms)
    assert found(claim(), volume(volumeAttributesClassName="gold"), terms=terms) == ""


def test_affinity_may_compare_versions_where_that_is_known() -> None:
    expression = {"key": "version", "operator": "SemverGt", "values": ["1.3.0"]}
    newer = volume(nodeAffinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}})
    assert CompiledVolume.from_object(newer, SEMVER).is_reachable_from(HERE)
    assert not CompiledVolume.from_object(newer, {}).is_reachable_from(HERE)


def test_an_affinity_without_terms_is_met_by_no_node() -> None:
    assert not CompiledVolume.from_object(
        volume(nodeAffinity={"required": {"nodeSelectorTerms": []}}), {}
    ).is_reachable_from(HERE)


def test_a_volume_is_pinned_to_the_label_it_needs_in_any_case() -> None:
    term = volume(zone="a")["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]
    either = volume(nodeAffinity={"required": {"nodeSelectorTerms": [term, term]}})
    assert CompiledVolume.from_object(volume(zone="a"), {}).required_label == RequiredLabel("zone", ("a",))
    assert CompiledVolume.from_object(either, {}).required_label is None
    assert CompiledVolume.from_object(volume(), {}).required_label is None


def test_the_annotation_of_old_names_the_class_before_the_field() -> None:
    annotated = volume() | {"metadata": {"name": "v", "annotations": {ANNOTATION: ""}}}
    assert storage_class_of(annotated) == ""
    assert storage_class_of(volume()) == "fast"


def test_a_claim_is_bound_when_the_volume_is_named_and_binding_is_complete() -> None:
    complete = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    named = claim(volumeName="v")
    assert not is_fully_bound(named)
    assert is_fully_bound(named | {"metadata": {**named["metadata"], **complete}})
    assert not is_fully_bound(claim() | {"metadata": {**named["metadata"], **complete}})


def test_a_bound_volume_refers_to_the_claim_and_says_that_a_controller_did_it() -> None:
    bound = bind_to_claim(volume(), claim())
    assert bound is not None
    assert bound["spec"]["claimRef"] == reference(uid="u", apiVersion="v1", resourceVersion="7")
    assert bound["metadata"]["annotations"] == {BOUND_BY_CONTROLLER: "yes"}
    assert is_bound_to_claim(bound, claim())
    assert bind_to_claim(bound, claim()) is None


def test_a_volume_that_its_maker_reserved_only_gets_the_uid() -> None:
    bound = bind_to_claim(volume(claimRef=reference()), claim())
    assert bound is not None
    assert bound["spec"]["claimRef"]["uid"] == "u"
    assert "annotations" not in bound["metadata"]
