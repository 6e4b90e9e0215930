"""`mockkube whatif` as a user types it."""

import json
import shlex
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

Mockkube = Callable[..., Any]
AT_ONCE = ("--settle", "1s", "--for", "1s", "--quiet")
QUICK = ("--settle", "2m", "--for", "5m", "--quiet")
MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, image: x, resources: {requests: {cpu: "1"}}}]
---
apiVersion: control.mockkube.dev/v1alpha1
kind: NodeGroup
metadata: {name: workers}
spec:
  minSize: 2
  maxSize: 3
  zones: [a, b]
  provisionSeconds: 30
  instanceTypes: [{name: small, capacity: {cpu: "2", memory: 8Gi}, pricePerHour: 0.5}]
"""


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "all.yaml").write_text(MANIFESTS)
    return str(tmp_path / "base")


@pytest.mark.slow
def test_variants_are_compared_with_the_baseline(mockkube: Mockkube, manifests: str, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "picture.svg"
    changes = ("--change", "zone b gone", "--change", "deployment web x2")
    answer = mockkube(
        "whatif", manifests, *changes, *QUICK, "-o", "json", "--report", str(page), "--picture", str(picture)
    )
    assert answer.code == 1  # eight cores do not fit on three nodes
    baseline, zone, more = json.loads(answer.out)["variants"]
    assert baseline["disruptions"] == {}
    assert [(row["zone"], row["nodes"]) for row in baseline["placement"]["after"]] == [("a", 1), ("b", 1)]
    assert (zone["good"], zone["disruptions"]) == (True, {"lost with the node": 2})
    assert zone["recoveredAfterSeconds"] > 60
    assert [(row["zone"], row["nodes"]) for row in zone["placement"]["after"]] == [("a", 2)]
    assert (more["good"], more["nodes"]) == (False, {"before": 2, "after": 3})
    assert more["pending"][0]["count"] == 2
    assert "Insufficient cpu" in more["pending"][0]["reason"]
    assert (baseline["costPerHour"], more["costPerHour"]) == (1.0, 1.5)
    text = page.read_text()
    assert "1 of 2 changes does lasting harm: pods stay pending, workloads stay short of replicas." in text
    assert "zone b gone" in text
    drawn = picture.read_text()
    assert "1 of 2 changes does lasting harm: pods stay pending, workloads stay short of replicas." in drawn
    assert drawn.index("deployment web x2:") < drawn.index("zone b gone:")
    assert f"mockkube whatif {manifests[:20]}" in drawn
    again = mockkube("whatif", manifests, *changes, *QUICK, "-o", "json")
    assert again.out == answer.out


@pytest.mark.slow
def test_a_scheduler_configuration_moves_pods(mockkube: Mockkube, manifests: str, tmp_path: Path) -> None:
    config = tmp_path / "packing.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- pluginConfig:\n"
        "  - name: NodeResourcesFit\n    args: {scoringStrategy: {type: MostAllocated}}\n"
    )
    answer = mockkube("whatif", manifests, "--scheduler-config", str(config), *QUICK)
    assert answer.code == 0
    assert answer.out.startswith(
        "The change does no lasting harm: at the end no more pods are pending, and no workload lacks more replicas.\n"
    )
    assert "4 pods are deleted, and placed anew" in answer.out
    assert "4 deleted to be placed anew" in answer.out
    assert "scheduler packing.yaml" in answer.out


@pytest.mark.slow
def test_consolidation_shows_what_it_saves_and_disrupts(mockkube: Mockkube, manifests: str) -> None:
    base = Path(manifests) / "all.yaml"
    base.write_text(base.read_text().replace("minSize: 2", "minSize: 0").replace("replicas: 4", "replicas: 3"))
    # Nodes with one pod each, which fit on one node.
    spread = "deployment web =2 and nodes +1"
    consolidation = "nodegroup * consolidationPolicy=WhenEmptyOrUnderutilized"
    changes = ("--change", spread, "--change", f"{spread} and {consolidation}")
    _, without, consolidated = json.loads(mockkube("whatif", manifests, *changes, *QUICK, "-o", "json").out)["variants"]
    assert (without["costPerHour"], consolidated["costPerHour"]) == (1.5, 0.5)
    assert consolidated["nodes"] == {"before": 2, "after": 1}
    assert consolidated["notes"] == ["consolidation removed 2 nodes of group workers"]


def test_a_pod_without_a_controller_is_lost_with_its_node(mockkube: Mockkube, tmp_path: Path) -> None:
    path, page = tmp_path / "bare.yaml", tmp_path / "page.html"
    path.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: one, labels: {topology.kubernetes.io/zone: a}}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: bare}\nspec: {containers: [{name: c, image: x}]}\n"
    )
    options = ("--change", "zone a gone", "--settle", "1m", "--for", "5m", "--price", "*=0.1")
    answer = mockkube("whatif", str(path), *options, "--quiet", "--report", str(page))
    assert answer.code == 1
    again = unescape(page.read_text()).partition("Run it again: <code>")[2].partition("</code>")[0]
    assert set(shlex.split(again)) == {"mockkube", "whatif", str(path), *options}
    assert answer.out.startswith("The change does lasting harm: pods without a controller are lost.\n")
    assert "zone a gone: no workload lacks a replica; 1 pod without a controller is lost" in answer.out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "nothing to compare: give --change"),
        (("--change", "zone b"), "words are missing"),
        (("--change", "nodes -1", "--price", "x"), "write TYPE=PRICE"),
        (("--change", "nodes -1", "--for", "long"), "--for: 'long' is no duration"),
        (("--change", "zone q gone", *AT_ONCE), "zone q: no node is there; the cluster has a, b"),
        (("--change", "deployment shop/web x2", *AT_ONCE), "Deployment shop/web: there is none; there are default/web"),
        (("--change", "apply no.yaml", *AT_ONCE), "apply no.yaml: No such file or directory"),
        (
            ("--change", "load web x2", *AT_ONCE),
            "kubectl annotate -n default deployment/web mockkube.dev/load-cpu=900m",
        ),
        (("--change", "nodegroup gpu maxSize=2", *AT_ONCE), "nodegroup gpu: there is none; there are workers"),
        (
            ("--change", "nodegroup * consolidationPolicy=Always", *AT_ONCE),
            'spec.disruption.consolidationPolicy: Unsupported value: "Always"',
        ),
    ],
)
def test_what_cannot_be_changed_is_refused(
    mockkube: Mockkube, manifests: str, arguments: tuple[str, ...], reason: str
) -> None:
    answer = mockkube("whatif", manifests, *arguments)
    assert answer.code == 2
    assert reason in answer.err


def test_without_file_and_kubeconfig_it_says_what_to_give(mockkube: Mockkube, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    answer = mockkube("whatif", "--change", "reschedule", "--quiet")
    assert answer.code == 2
    assert "no file and no kubeconfig: give a dump or --kubeconfig; there is no cluster 'default'" in answer.err


def test_a_wrong_node_group_is_named(mockkube: Mockkube, tmp_path: Path) -> None:
    path = tmp_path / "groups.yaml"
    path.write_text(MANIFESTS.replace("maxSize: 3", "maxSize: 1"))
    answer = mockkube("whatif", str(path), "--change", "nodes -1", *AT_ONCE)
    assert answer.code == 2
    assert "NodeGroup workers: " in answer.err
    assert "must not be greater than maxSize" in answer.err
