"""Reports in a real browser: they show without a network, fit a phone, print, and are accessible."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mockkube.explore.exploration import explore_plan
from mockkube.explore.plans.loading import parse
from mockkube.explore.players import SequentialPlayer
from mockkube.explore.replay import collect_evidence
from mockkube.features.versions import Version
from mockkube.perturb.findings import Finding as PerturbFinding
from mockkube.perturb.findings import Problem, ProblemKind
from mockkube.perturb.output.page import render_report
from mockkube.perturb.perturbation import Perturbation
from mockkube.perturb.recorder import RunRecord, StepRecord
from mockkube.perturb.reference import Reference
from mockkube.perturb.session import PerturbationResult, SessionOptions, SessionResult
from mockkube.rehearse.findings import Finding, Severity, Topic
from mockkube.rehearse.order_player import OrderResult, UpgradeStepResult
from mockkube.rehearse.rehearsal import Rehearsal
from mockkube.rehearse.upgrade_orders import UpgradeStep
from mockkube.report.pages import exploration_page, rehearsal_page
from mockkube.report.pages.runs_page import render
from mockkube.scenario.claims import Claim
from mockkube.scenario.runner.results import RunOutcome, RunResult, StepResult, TracedStep, TracedWrite
from tests.unit.perturb.records import request, workload

UI = Path(__file__).parents[2] / "ui"
WIDTHS = (390, 1280)
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
globalThis.said = `width ${innerWidth} page ${document.documentElement.scrollWidth} over ${wide.length} `
  + `cut ${cut.length} fetched ${performance.getEntriesByType("resource").length}`;
</script>
"""
FRAME = '<iframe src="PAGE" style="width:WIDTHpx;height:900px;border:0"></iframe>'
# Collects what the frames say once all have loaded: the title of the page.
COLLECTOR = """<script>
addEventListener("load", () => {
  const frames = [...document.querySelectorAll("iframe")];
  document.title = frames.map((one) => one.contentWindow.said).join("; ");
});
</script>"""
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


def of_a_rehearsal() -> str:
    before, after = Version(1, 36), Version(1, 37)
    order = tuple(UpgradeStep(name, after) for name in ("kube-apiserver", "kube-scheduler"))
    order += (UpgradeStep("kubelet", after, "a-pool-with-quite-a-long-name", ("n1",)),)
    problem = UpgradeStepResult(order[0], blocked=("default/web: its budget allows no disruption",))
    safe = tuple(map(UpgradeStepResult, order))
    text = "the PodDisruptionBudget default/web allows no disruption"
    finding = Finding(Severity.BREAKS, Topic.DRAIN, text, "add replicas", kind="Pod", objects=("default/web-0",))
    results = [OrderResult(order, (problem, *safe[1:]), safe), OrderResult(order, safe, safe)]
    return rehearsal_page.render(Rehearsal(before, after, 12, 1, [finding], [order, order], results))


def of_perturbations() -> str:
    disturbance = Perturbation("crash/1", "crash", 1, "the controller is killed after write 1")
    steps = [StepRecord(0, "start", 0.0, 1.0), StepRecord(1, "apply a.yaml", 1.0, 2.0)]
    reached = frozenset([disturbance.id])
    plain, disturbed = (
        RunRecord(one, 0.0, [request("create", "configmaps", "a")], steps=steps, reached=reached, log="hello")
        for one in (None, disturbance)
    )
    reference = Reference.from_records([plain], workload())
    finding = PerturbFinding(disturbed, [Problem(ProblemKind.LOST, "configmaps ns/a is missing", "lost a")])
    result = SessionResult(workload(), SessionOptions(command=("python", "operator.py")), reference)
    result.results = [PerturbationResult(disturbance, disturbed, finding)]
    result.not_tried = [Perturbation("lag/1", "lag", 1, "watches lag behind")]
    return render_report(result)


REPORTS = {"runs": of_runs, "exploration": of_an_exploration, "rehearsal": of_a_rehearsal, "perturb": of_perturbations}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report of each kind, and the same with a probe that says how it fits."""
    folder = tmp_path_factory.mktemp("reports")
    for name, make in REPORTS.items():
        text = make()
        (folder / f"{name}.html").write_text(text)
        (folder / f"{name}-probed.html").write_text(text.replace("</body>", f"{PROBE}</body>"))
    return folder


def chromium(page: Path, *arguments: str) -> str:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={page.parent / 'profile'}", *arguments, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_with_everything_unfolded_nothing_is_wider_than_the_screen_or_cut(folder: Path) -> None:
    frames = [
        FRAME.replace("PAGE", (folder / f"{name}-probed.html").as_uri()).replace("WIDTH", str(width))
        for name in REPORTS
        for width in WIDTHS
    ]
    page = folder / "frames.html"  # headless Chromium has no window narrower than 500
    page.write_text(f"<!doctype html><title></title><body>{''.join(frames)}{COLLECTOR}")
    shown = chromium(page, "--window-size=1300,900", "--dump-dom", "--allow-file-access-from-files")
    expected = [f"width {width} page {width} over 0 cut 0 fetched 0" for _ in REPORTS for width in WIDTHS]
    assert shown.partition("<title>")[2].partition("</title>")[0].split("; ") == expected


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_prints(folder: Path, name: str) -> None:
    printed = folder / f"{name}.pdf"
    chromium(folder / f"{name}.html", f"--print-to-pdf={printed}")
    assert printed.read_bytes().startswith(b"%PDF")


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
@pytest.mark.skipif(not (UI / "node_modules").is_dir(), reason="packages of ui/ are not installed: run `make ui`")
def test_no_report_violates_accessibility(folder: Path) -> None:
    files = [str(folder / f"{name}.html") for name in REPORTS]
    process = subprocess.run(
        ["node", str(UI / "tests" / "reports.mjs"), *files],
        env={**os.environ, "CHROMIUM": str(CHROMIUM)}, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == {}
