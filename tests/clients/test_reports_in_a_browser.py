"""Reports in a real browser: they show without a network, fit a phone, and print."""

import shutil
import subprocess
from pathlib import Path

import pytest

from mockkube.scenario.report.runs import render
from mockkube.scenario.results import Moment, Outcome, RunResult, WriteTold

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PROBE = """
<script>
const wide = [...document.querySelectorAll("body *")].filter(
  (one) => !one.closest(".wide") && one.getBoundingClientRect().right > innerWidth + 1);
document.title = `width ${innerWidth} page ${document.documentElement.scrollWidth} over ${wide.length} ` +
  `lanes ${document.querySelectorAll("svg rect").length} fetched ${performance.getEntriesByType("resource").length}`;
</script>
"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


def moments() -> tuple[Moment, ...]:
    name = "default/web-abcde"
    made = WriteTold("create", "core/pods", name, {"status": {"phase": "Pending"}})
    failed = WriteTold("update", "core/pods", name, {"status": {"phase": "Failed", "reason": "TaintToleration"}})
    return Moment(1, 0.0, "operator", (made,)), Moment(2, 1.0, "kubelet/pods", (failed,))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    claim = "A claim that goes on for quite a while, so that it has to be broken over several lines on a phone."
    run = RunResult("evicted", "conformance/kep-5471/g4.yaml", 0, "", Outcome.PASSED, claim=claim, story=moments())
    path = tmp_path / "report.html"
    path.write_text(render([run]).replace("</body>", f"{PROBE}</body>"))
    return path


def chromium(page: Path, *arguments: str) -> str:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={page.parent / 'profile'}", *arguments, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("width", [500, 1280])  # headless Chromium has no window narrower than that
def test_nothing_but_what_scrolls_by_itself_is_wider_than_the_screen(page: Path, width: int) -> None:
    shown = chromium(page, f"--window-size={width},900", "--dump-dom")
    assert f"width {width} page {width} over 0 lanes 2 fetched 0" in shown


def test_a_report_prints(page: Path) -> None:
    printed = page.with_suffix(".pdf")
    chromium(page, f"--print-to-pdf={printed}")
    assert printed.read_bytes().startswith(b"%PDF")
