"""Recall: every breakage that is seeded from the release notes is found, and a cluster without one has none."""

import pytest

from mockkube.features.versions import Version
from mockkube.importing.cluster_import import ImportOptions, import_objects
from mockkube.rehearse.findings import Finding
from mockkube.rehearse.rehearsal import check_upgrade
from mockkube.rehearse.upgrade import Upgrade
from tests.importing import realistic
from tests.rehearse.breakages import BREAKAGES, Breakage

SEEDED_MIN = 25


def find_breakage(breakage: Breakage) -> list[Finding]:
    """Return the findings that name a breakage."""
    base = [*realistic.make_namespace("default"), realistic.make_node("w1", breakage.before)]
    options = ImportOptions(Version.parse(breakage.before), breakage.gates, keeps_managed_fields=True)
    contents = import_objects([*base, *breakage.objects], options).contents
    findings = check_upgrade(Upgrade(contents, Version.parse(breakage.after), breakage.new_gates))
    return [
        one
        for one in findings
        if one.topic is breakage.topic
        and one.breaks is breakage.breaks
        and all(word in f"{one.component} {one.kind} {one.field} {one.text} {one.objects}" for word in breakage.words)
    ]


def test_enough_breakages_are_seeded() -> None:
    assert sum(one.breaks for one in BREAKAGES) >= SEEDED_MIN
    assert {one.after for one in BREAKAGES} == {"1.34", "1.35", "1.36", "1.37"}


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda one: one.name)
def test_a_seeded_breakage_is_found(breakage: Breakage) -> None:
    assert find_breakage(breakage)


@pytest.mark.parametrize("after", ["1.34", "1.35", "1.36", "1.37"])
def test_nothing_breaks_in_a_cluster_without_breakages(after: str) -> None:
    before = f"1.{int(after[2:]) - 1}"
    nodes = [realistic.make_node(name, before) for name in ("w1", "w2")]
    objects = [
        *realistic.make_namespace("default"),
        *nodes,
        *realistic.make_deployment("web", "default", 3, ("w1", "w2")),
    ]
    contents = import_objects(objects, ImportOptions(Version.parse(before))).contents
    assert [one.text for one in check_upgrade(Upgrade(contents, Version.parse(after))) if one.breaks] == []
