"""The table of kinds is consistent with itself and with the schemas."""

from collections import Counter

import pytest

from mockkube.api.catalogue import ALL_VERBS, CREATE_VERBS, KINDS, STATUS, KindInfo, is_stable_version
from mockkube.api.schema import Schema
from mockkube.features.versions import Version

kinds = pytest.mark.parametrize("kind", [pytest.param(one, id=f"{one.group}/{one.plural}") for one in KINDS])


def test_no_kind_is_listed_twice() -> None:
    assert [key for key, count in Counter((kind.group, kind.kind) for kind in KINDS).items() if count > 1] == []
    assert [key for key, count in Counter((kind.group, kind.plural) for kind in KINDS).items() if count > 1] == []


def test_a_short_name_means_one_resource() -> None:
    meant: dict[str, set[str]] = {}
    for kind in KINDS:
        for name in kind.short_names:
            meant.setdefault(name, set()).add(kind.plural)
    assert {name: plurals for name, plurals in meant.items() if len(plurals) > 1} == {}


@kinds
def test_verbs_are_known_and_a_status_can_be_changed(kind: KindInfo) -> None:
    assert set(kind.verbs) <= set(ALL_VERBS)
    assert kind.plural == kind.plural.lower()
    for sub in kind.subresources:
        assert set(sub.verbs) <= set(ALL_VERBS)
    status = kind.subresource("status")
    assert status is None or status == STATUS


@kinds
def test_versions_are_preferred_in_order(kind: KindInfo) -> None:
    assert len(set(kind.versions)) == len(kind.versions)
    ages = [is_stable_version(version) for version in kind.versions]
    assert ages == sorted(ages, reverse=True)


def test_every_kind_exists_in_some_version_of_kubernetes() -> None:
    schemas = [Schema(Version.parse(text)) for text in ("1.33", "1.36", "1.37")]
    unknown = [
        kind.kind
        for kind in KINDS
        if not any(
            schema.find_kind_type(kind.group, version, kind.kind) for schema in schemas for version in kind.versions
        )
    ]
    assert unknown == []


def test_what_shares_its_storage_names_a_kind_that_is_stored() -> None:
    stored = {(kind.group, kind.plural) for kind in KINDS if kind.verbs != CREATE_VERBS and kind.stored_as is None}
    assert {kind.stored_as for kind in KINDS if kind.stored_as} <= stored


@pytest.mark.parametrize(
    ("version", "answer"), [("v1", True), ("v2", True), ("v1beta1", False), ("v1alpha3", False), ("v", False)]
)
def test_only_plain_numbers_are_stable(version: str, answer: bool) -> None:
    assert is_stable_version(version) is answer


def test_a_kind_knows_its_list_and_its_subresources() -> None:
    pod = next(kind for kind in KINDS if kind.kind == "Pod")
    assert pod.list_kind == "PodList"
    assert pod.subresource("eviction") is not None
    assert pod.subresource("nothing") is None
