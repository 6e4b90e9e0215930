"""Reports in a real browser: they show without a network, fit a phone, and print."""

import shutil
import subprocess
from pathlib import Path

import pytest

from mockkube.explore.exploration import explore_plan
from mockkube.explore.plans.loading import parse
from mockkube.explore.players import SequentialPlayer
from mockkube.explore.replay import collect_evidence
from mockkube.report.pages import exploration_page
from mockkube.report.pages.runs_page import render
from mockkube.scenario.claims import Claim
from mockkube.scenario.runner.results import RunOutcome, RunResult, StepResult, TracedStep, TracedWrite

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PROBE = """
<script>
document.querySelectorAll("details").forEach((one) => { one.open = true; });
const wide = [...document.querySelectorAll("body *")].filter((one) => (one.matches(".wide") || !one.closest(".wide"))
  && !one.closest("pre") && one.getBoundingClientRect().right > innerWidth + 1);
const cut = [...document.querySelectorAll("td, p, li")].filter((one) => !one.closest("svg")
  && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "hidden");
parent.postMessage(`width ${innerWidth} page ${document.documentElement.scrollWidth} over ${wide.length} `
  + `cut ${cut.length} fetched ${performance.getEntriesByType("resource").length}`, "*");
</script>
"""
FRAME = """<!doctype html><body style="margin:0">
<iframe src="PAGE" style="width:WIDTHpx;height:900px;border:0"></iframe>
<script>addEventListener("message", (one) => { document.title = one.data; });</script>"""
PLAN = """\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {name: small, title: A rollout}
spec:
  change:
    kube-apiserver: {gates: {TaintTolerationComparisonOperators: true}}
    kube-scheduler: {gates: {TaintTolerationComparisonOperators: true}}
  nodes:
    - taints: [{key: sla, value: "950", effect: NoSchedule}]
  workload:
    - apiVersion: v1
      kind: Pod
      metadata: {name: batch}
      spec:
        containers: [{name: main, image: i}]
        tolerations: [{key: sla, operator: Gt, value: "900", effect: NoSchedule}]
  seconds: 2
"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


def moments() -> tuple[TracedStep, ...]:
    name = "default/web-abcde"
    made = TracedWrite("create", "core/pods", name, {"status": {"phase": "Pending"}})
    failed = TracedWrite("update", "core/pods", name, {"status": {"phase": "Failed", "reason": "TaintToleration"}})
    return TracedStep(1, 0.0, "operator", (made,)), TracedStep(2, 1.0, "kubelet/pods", (failed,))


def of_runs() -> str:
    text = "A claim that goes on for quite a while, so that it has to be broken over several lines on a phone."
    claims = (Claim(quote=text, source="KEP-1", outcome="harmful advice", observed=text),)
    steps = (
        StepResult("component", "", "", 3, RunOutcome.PASSED, "", 0.0, 0.0, (), {"name": "kubelet", "version": "1.35"}),
        StepResult("assert", "", "", 9, RunOutcome.FAILED, "not true within 30 s:\n  a: expected 'b'", 0.0, 30.0),
    )
    run = RunResult(
        "evicted", "conformance/kep-5471/g4.yaml", 0, "", RunOutcome.PASSED, claims=claims, traced_steps=moments()
    )
    lost = RunResult(
        "lost", "g5.yaml", 0, "", RunOutcome.FAILED, claims=claims, steps=steps, traced_steps=moments(), digest="d"
    )
    return render([run, lost])


def of_an_exploration() -> str:
    plan = parse(PLAN)
    return exploration_page.render(collect_evidence(explore_plan(plan, SequentialPlayer(plan))))


@pytest.fixture(scope="module", params=[of_runs, of_an_exploration], ids=["runs", "exploration"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(request.param().replace("</body>", f"{PROBE}</body>"))
    return path


def chromium(page: Path, *arguments: str) -> str:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={page.parent / 'profile'}", *arguments, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("width", [390, 1280])
def test_with_everything_unfolded_nothing_is_wider_than_the_screen_or_cut(page: Path, width: int) -> None:
    frame = page.with_name("frame.html")  # headless Chromium has no window narrower than 500
    frame.write_text(FRAME.replace("PAGE", page.as_uri()).replace("WIDTH", str(width)))
    shown = chromium(frame, f"--window-size={max(500, width)},900", "--dump-dom")
    assert f"<title>width {width} page {width} over 0 cut 0 fetched 0</title>" in shown


def test_a_report_prints(page: Path) -> None:
    printed = page.with_suffix(".pdf")
    chromium(page, f"--print-to-pdf={printed}")
    assert printed.read_bytes().startswith(b"%PDF")
