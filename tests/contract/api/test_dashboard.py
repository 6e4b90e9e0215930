"""The dashboard and the Prometheus configuration of the documentation, against what a cluster serves."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
FOLDER = Path(__file__).parents[3] / "docs" / "grafana"
COMPONENTS = ("kube-scheduler", "kube-controller-manager", "kubelet")
WORDS = {
    "by", "sum", "rate", "topk", "histogram_quantile", "le", "and", "or", "bool", "on", "ignoring",
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Metrics of a cluster with a running pod, while its pods are watched."""
    directory, pods = tmp_path_factory.mktemp("state"), "/api/v1/namespaces/default/pods"
    async with Api.of_new_cluster(directory, without=(), nodes=1) as api, api.watch(pods) as watch:
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
        await api.create(pods, pod)
        while (await watch.next())[1].get("status", {}).get("phase") != "Running":
            pass
        paths = find_paths()
        assert len(paths) == 2 + len(COMPONENTS)
        texts = [(await api.ask("GET", path)).body.decode() for path in paths]
    yield "\n".join(texts)


def find_paths() -> list[str]:
    """Paths that the Prometheus configuration scrapes."""
    paths = []
    for job in yaml.safe_load((FOLDER / "prometheus.yaml").read_text())["scrape_configs"]:
        replacements = [
            one["replacement"] for one in job.get("relabel_configs", ()) if one["target_label"] == "__metrics_path__"
        ]
        targets = [name for one in job.get("static_configs", ()) for name in one["targets"]] or ["node-1"]
        paths += [(replacements or ["/metrics"])[0].replace("$1", target) for target in targets]
    return paths


def list_queries() -> list[tuple[str, str]]:
    dashboard: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
    return [(panel["title"], one["expr"]) for panel in dashboard["panels"] for one in panel.get("targets", ())]


def find_names(query: str) -> set[str]:
    """Names of metrics in a query: words that are neither labels, functions nor values."""
    plain = re.sub(r"\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)", "", query)
    names = {word for word in re.findall(r"[a-z_][a-z_0-9]*", plain) if word not in WORDS}
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


@pytest.mark.parametrize(("title", "query"), list_queries(), ids=[title for title, _ in list_queries()])
async def test_the_metrics_of_a_panel_are_served(pages: str, title: str, query: str) -> None:
    served, names = set(re.findall(r"^# TYPE (\S+)", pages, re.MULTILINE)), find_names(query)
    assert names, query
    assert names <= served, f"{title}: {sorted(names - served)}"


async def test_open_watches_and_stored_objects_are_counted(pages: str) -> None:
    labels = 'component="apiserver",group="",resource="pods",scope="namespace",subresource="",verb="WATCH",version="v1"'
    assert f"apiserver_longrunning_requests{{{labels}}} 1\n" in pages
    assert 'apiserver_resource_objects{group="",resource="pods"} 1\n' in pages
    assert 'apiserver_resource_objects{group="apps",resource="deployments"} 0\n' in pages


async def test_panels_do_not_overlap() -> None:
    taken = set()
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
