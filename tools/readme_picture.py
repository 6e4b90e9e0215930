"""Draw the picture of the README from a run of `mockkube demo`: python tools/readme_picture.py [--check].

The run is in virtual time and has a seed, so the picture is the same on every machine.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

from mockkube.api.times import parse_time
from mockkube.cli.demo.demo_cluster import SimulatedDemoCluster
from mockkube.cli.demo.example import (
    APP,
    BEFORE,
    GATE,
    LAST,
    NAMESPACE,
    NODES,
    ROLLOUT,
    TAINT,
    VERSION,
    make_deployment,
)
from mockkube.cli.demo.guide import REPLICAS, explore_orders
from mockkube.client.protocol import Key, Selection
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.explore.plans.plan import Direction
from mockkube.features.versions import Version

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "demo.svg"
HALF_ON_SECONDS = 10
AFTER_SECONDS = 6
WIDTH, HEIGHT, MARGIN = 900, 312, 24
LANE_TOP, LANE_HEIGHT = 78, 24
CHART_LEFT, CHART_WIDTH = 200, 330
BARS_TOP, BARS_HEIGHT = 196, 84
ORDERS_LEFT = 566


@dataclass(frozen=True)
class Run:
    """What the run has shown."""

    evictions: dict[int, int]
    """Evicted pods by second since the Deployment was created."""
    running: int
    """Pods that run in the end."""
    orders: tuple[tuple[str, bool], ...]
    """Orders of the rollout, and whether each is safe."""


async def run_example() -> tuple[dict[int, int], int]:
    """Run the example up to the last gate; return evictions by second, and the pods that run in the end."""
    configuration = ClusterConfiguration(nodes=NODES, version=Version.parse(VERSION))
    async with SimulatedCluster(SimulatedClusterConfig(configuration)) as simulated:
        cluster = SimulatedDemoCluster(simulated)
        for node in (await cluster.client.list("Node")).items:
            await cluster.client.patch("Node", Key("", node["metadata"]["name"]), {"spec": {"taints": [TAINT]}})
        for component in (BEFORE, *ROLLOUT[:-1]):
            await cluster.enable_gate(component, GATE)
        await cluster.advance(1)
        start = simulated.clock.now()
        await cluster.client.create("Deployment", make_deployment(REPLICAS))
        await cluster.advance(HALF_ON_SECONDS)
        await cluster.enable_gate(LAST, GATE)
        await cluster.advance(AFTER_SECONDS)
        events = (await cluster.client.list("Event", Selection(NAMESPACE))).items
        pods = (await cluster.client.list("Pod", Selection(NAMESPACE, f"app={APP}"))).items
        running = sum((pod.get("status") or {}).get("phase") == "Running" for pod in pods)
        return dict(sorted(count_evictions(events, start).items())), running


def count_evictions(events: Any, start: datetime) -> Counter[int]:
    """Return evictions by second."""
    found: Counter[int] = Counter()
    for event in events:
        if event.get("reason") == "TaintManagerEviction":
            at = event.get("firstTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]
            found[int((parse_time(at) - start).total_seconds())] += event.get("count") or 1
    return found


def play() -> Run:
    """Run the example and explore its orders."""
    evictions, running = asyncio.run(run_example())
    result = explore_orders(2)
    verdicts = [(one.order, one.is_safe) for one in result.orders if one.direction is Direction.UP]
    orders = tuple((" → ".join(shorten(name) for name in order), is_safe) for order, is_safe in verdicts)
    return Run(evictions, running, tuple(sorted(orders, key=lambda one: not one[1])))


def shorten(component: str) -> str:
    """Return the name of a component without its prefix."""
    return component.removeprefix("kube-")


def draw(run: Run) -> str:
    """Return the picture as SVG."""
    return "\n".join(_draw_lines(run)) + "\n"


def _draw_lines(run: Run) -> Iterator[str]:
    total, safe = sum(run.evictions.values()), sum(is_safe for _, is_safe in run.orders)
    about = (
        f"A feature gate is on in three components of four: {total} pods are evicted in {HALF_ON_SECONDS} seconds. "
        f"Of {len(run.orders)} orders, {safe} are safe."
    )
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(about)}">'
    yield f"<title>{escape(about)}</title>"
    yield f"<style>{_STYLE}</style>"
    yield f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="8"/>'
    yield _text(MARGIN, 34, "A gate is half on", "head")
    yield _text(
        MARGIN, 54, f"{GATE}, Kubernetes {VERSION}, {HALF_ON_SECONDS + AFTER_SECONDS} s of virtual time", "soft"
    )
    yield from _draw_lanes()
    yield from _draw_bars(run, total)
    yield from _draw_orders(run)
    yield "</svg>"


def _x(second: float) -> float:
    return round(CHART_LEFT + CHART_WIDTH * second / (HALF_ON_SECONDS + AFTER_SECONDS), 1)


def _draw_lanes() -> Iterator[str]:
    for row, component in enumerate((BEFORE, *ROLLOUT)):
        top = LANE_TOP + row * LANE_HEIGHT
        yield _text(MARGIN, top + 14, component, "name")
        on = HALF_ON_SECONDS if component == LAST else 0
        if on:
            yield _rect(_x(0), top + 3, _x(on) - _x(0) - 2, 14, "off")
            yield _text(_x(0) + 6, top + 14, "off", "small")
        yield _rect(_x(on), top + 3, CHART_LEFT + CHART_WIDTH - _x(on), 14, "on")
        yield _text(_x(on) + 6, top + 14, "on", "onlight")


def _draw_bars(run: Run, total: int) -> Iterator[str]:
    base, most = BARS_TOP + BARS_HEIGHT, max(run.evictions.values(), default=1)
    yield _text(MARGIN, BARS_TOP + 14, "pods evicted", "name")
    yield _text(MARGIN, BARS_TOP + 32, f"{total} in {HALF_ON_SECONDS} s", "bad")
    yield _text(MARGIN, BARS_TOP + 50, "no request fails", "soft")
    width = round(CHART_WIDTH / (HALF_ON_SECONDS + AFTER_SECONDS) - 3, 1)
    for second, count in run.evictions.items():
        height = round(BARS_HEIGHT * count / most, 1)
        yield _rect(_x(second), base - height, width, height, "evicted")
    yield f'<line class="axis" x1="{CHART_LEFT}" y1="{base}" x2="{CHART_LEFT + CHART_WIDTH}" y2="{base}"/>'
    for second in range(0, HALF_ON_SECONDS + AFTER_SECONDS + 1, 5):
        yield _text(_x(second), base + 16, f"{second} s", "soft")
    yield _text(_x(HALF_ON_SECONDS) + 6, base - 10, f"{run.running} pods stay", "good")


def _draw_orders(run: Run) -> Iterator[str]:
    yield _text(ORDERS_LEFT, 34, "mockkube runs every order", "head")
    yield _text(ORDERS_LEFT, 54, "in which the components can change", "soft")
    for row, (order, is_safe) in enumerate(run.orders):
        top = LANE_TOP + row * LANE_HEIGHT
        yield _text(ORDERS_LEFT, top + 14, "✓" if is_safe else "✗", "good" if is_safe else "bad")
        yield _text(ORDERS_LEFT + 18, top + 14, order, "order" if is_safe else "orderbad")
    yield _text(ORDERS_LEFT, BARS_TOP + 50, "mockkube demo", "command")
    yield _text(ORDERS_LEFT, BARS_TOP + 68, "runs this in your terminal", "soft")


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text class="{style}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, style: str) -> str:
    return f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>'


_STYLE = (
    "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1c2128}"
    ".page{fill:#f6f8fa;stroke:#d0d7de}.head{font-weight:600;font-size:17px}.soft{fill:#57606a;font-size:12px}"
    ".name{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px}.small{font-size:11px;fill:#57606a}"
    ".onlight{font-size:11px;fill:#fff}.on{fill:#0969da}.off{fill:none;stroke:#8c959f;stroke-dasharray:3 3}"
    ".evicted{fill:#cf222e}.axis{stroke:#8c959f}.good{fill:#1a7f37;font-weight:600}.bad{fill:#cf222e;font-weight:600}"
    ".order{font-size:12px}.orderbad{font-size:12px;fill:#57606a}"
    ".command{font-family:ui-monospace,Menlo,Consolas,monospace;font-weight:600;fill:#0969da}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#161b22;stroke:#30363d}"
    ".soft,.small,.orderbad{fill:#9198a1}.on{fill:#1f6feb}.evicted{fill:#f85149}.good{fill:#3fb950}.bad{fill:#f85149}"
    ".command{fill:#58a6ff}}"
)


def main() -> int:
    """Write the picture, or with --check compare it."""
    drawn = draw(play())
    if "--check" in sys.argv[1:]:
        if PICTURE.read_text() == drawn:
            return 0
        print(f"{PICTURE} is outdated: python tools/readme_picture.py", file=sys.stderr)
        return 1
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn)
    print(json.dumps({"picture": str(PICTURE), "bytes": len(drawn)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
