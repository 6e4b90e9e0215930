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
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[set[str]]:
    """Names of metrics that a cluster with a running pod serves."""
    async with Api.of_new_cluster(tmp_path_factory.mktemp("state"), without=(), nodes=1) as api:
        async with api.watch("/api/v1/namespaces/default/pods") as watch:
            pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
            await api.create("/api/v1/namespaces/default/pods", pod)
            while (await watch.next())[1].get("status", {}).get("phase") != "Running":
                pass
        paths = find_paths()
        assert len(paths) == 2 + len(COMPONENTS)
        texts = [(await api.ask("GET", path)).body.decode() for path in paths]
    yield {name for text in texts for name in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)}


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
async def test_the_metrics_of_a_panel_are_served(served: set[str], title: str, query: str) -> None:
    names = find_names(query)
    assert names, query
    assert names <= served, f"{title}: {sorted(names - served)}"


async def test_panels_do_not_overlap() -> None:
    taken = set()
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
