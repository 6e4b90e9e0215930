"""Texts of changes, amounts, and the choice of nodes."""

from pathlib import Path
from typing import Any

import pytest

from mockkube.client.protocol import Key
from mockkube.whatif.change_player import choose_nodes, copy_node, scale_curve
from mockkube.whatif.changes import (
    Amount,
    Change,
    ConsolidationChange,
    LoadScaling,
    Loss,
    ManifestChange,
    NodeCountChange,
    NodeGroupChange,
    NodeLoss,
    Rescheduling,
    WorkloadScaling,
    ZoneLoss,
    parse_changes,
)
from mockkube.whatif.errors import WhatIfError
from mockkube.whatif.variant_files import load_change_file, load_scheduler_config, parse_prices

TRIPLE = Amount("x", 3)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("nodes -20%", NodeCountChange(Amount("-", 20, is_percent=True))),
        ("nodes pool=web tier=a -3 gone", NodeCountChange(Amount("-", 3), (("pool", "web"), ("tier", "a")), Loss.GONE)),
        ("nodes =5", NodeCountChange(Amount("=", 5))),
        ("node n1 unreachable", NodeLoss("n1", Loss.UNREACHABLE)),
        ("zone b gone", ZoneLoss("b", Loss.GONE)),
        ("deployment shop/web x3", WorkloadScaling("Deployment", Key("shop", "web"), TRIPLE)),
        ("sts db +2", WorkloadScaling("StatefulSet", Key("default", "db"), Amount("+", 2))),
        ("load web x1.5", LoadScaling("Deployment", Key("default", "web"), 1.5)),
        ("load statefulset shop/db x2", LoadScaling("StatefulSet", Key("shop", "db"), 2)),
        ("nodegroup web maxSize=20", NodeGroupChange("web", "maxSize", 20)),
        ("nodegroup * consolidationPolicy=WhenEmpty", ConsolidationChange("*", "consolidationPolicy", "WhenEmpty")),
        ("apply more.yaml", ManifestChange("more.yaml")),
        ("reschedule", Rescheduling()),
    ],
)
def test_a_text_is_a_change(text: str, change: Change) -> None:
    assert parse_changes(text) == (change,)


def test_and_joins_changes() -> None:
    assert parse_changes("zone b drained and deployment web x3") == (
        ZoneLoss("b", Loss.DRAINED),
        WorkloadScaling("Deployment", Key("default", "web"), TRIPLE),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("zone b", "words are missing"),
        ("zone b lost", "'lost' is not a valid Loss"),
        ("nodes -20 %", "is no change"),
        ("nodes many", "'many' is no amount like x3, =10, +2 or -20%"),
        ("deployment a/b/ x3", "is no NAMESPACE/NAME"),
        ("load web =3", "a load changes by a factor"),
        ("nodegroup web size=3", "give one of minSize, maxSize, provisionSeconds"),
        ("world peace", "write one of"),
        ("", "write one of"),
        ("zone b gone and", "is no change"),
    ],
)
def test_another_text_is_refused_with_the_known_forms(text: str, reason: str) -> None:
    with pytest.raises(WhatIfError) as refused:
        parse_changes(text)
    assert reason in str(refused.value)
    assert "zone NAME drained|gone|unreachable" in str(refused.value)


@pytest.mark.parametrize(
    ("amount", "value", "changed"),
    [
        (TRIPLE, 4, 12),
        (Amount("=", 7), 4, 7),
        (Amount("-", 20, is_percent=True), 10, 8),
        (Amount("-", 20, is_percent=True), 3, 2),  # at least one
        (Amount("-", 20, is_percent=True), 0, 0),
        (Amount("+", 50, is_percent=True), 3, 5),
        (Amount("-", 9), 4, 0),
    ],
)
def test_amounts(amount: Amount, value: int, changed: int) -> None:
    assert amount.apply(value) == changed


def node(name: str, zone: str) -> dict[str, Any]:
    labels = {"topology.kubernetes.io/zone": zone}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"capacity": {"cpu": "4"}}}


def test_nodes_to_remove_are_spread_over_zones() -> None:
    nodes = [node(f"a-{index}", "a") for index in range(4)] + [node(f"b-{index}", "b") for index in range(2)]
    assert choose_nodes(nodes, 1) == ["a-3"]
    assert choose_nodes(nodes, 3) == ["a-3", "a-2", "b-1"]
    assert choose_nodes(nodes, 6) == choose_nodes(list(reversed(nodes)), 6)


def test_a_copy_of_a_node_has_its_labels_and_capacity() -> None:
    copy = copy_node(node("a", "z"), "b")
    assert copy["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z", "kubernetes.io/hostname": "b"}
    assert copy["metadata"]["annotations"] == {"mockkube.dev/capacity": "cpu=4"}


def test_a_load_curve_is_multiplied() -> None:
    assert scale_curve("500m@0s 2@10m repeat@1h", 1.5) == "750m@0s 3@10m repeat@1h"


def test_prices() -> None:
    assert parse_prices(["m5.large=0.1", "*=0"]) == {"m5.large": 0.1, "*": 0.0}
    for wrong in ("m5.large", "=1", "a=-1", "a=nan", "a=b"):
        with pytest.raises(WhatIfError, match="write TYPE=PRICE"):
            parse_prices([wrong])


def test_a_file_has_variants(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    path = tmp_path / "variants.yaml"
    both_changes = "- name: both\n  changes: [zone b gone, deployment web x3]\n"
    path.write_text(f"- nodes -1\n{both_changes}- schedulerConfig: s.yaml\n")
    plain, both, scheduler = load_change_file(str(path))
    assert (plain.name, both.name, len(both.changes)) == ("nodes -1", "both", 2)
    assert scheduler.changes == (Rescheduling(),)
    assert scheduler.scheduler_config == load_scheduler_config(str(tmp_path / "s.yaml"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "give a list of variants"),
        ("- change: [a]", "[0].change: there is no such field"),
        ("- changes: nodes -1", "[0].changes: give a list of texts"),
        ("- name: x", "[0]: give changes or schedulerConfig"),
        ("- schedulerConfig: no.yaml", "No such file"),
        ("- 7", "[0]: give a text"),
        ("a: [", "no YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "variants.yaml"
    path.write_text(text)
    with pytest.raises(WhatIfError) as refused:
        load_change_file(str(path))
    assert reason in str(refused.value)


def test_a_wrong_scheduler_configuration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: -1\n")
    with pytest.raises(WhatIfError, match="--scheduler-config"):
        load_scheduler_config(str(path))
