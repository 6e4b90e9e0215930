"""The page of a cluster in a real browser: tasks, keyboard, phone, accessibility, pictures.

`MOCKKUBE_NEW_PICTURES=1` writes the expected pictures anew. They are compared where the fonts are the same.
"""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mockkube.cluster.cluster import Cluster
from mockkube.cluster.temporary_cluster import make_temporary_configuration, open_temporary_cluster
from mockkube.features.versions import RELEASES

UI = Path(__file__).parents[2] / "ui"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PICTURES = Path(__file__).with_name("page_pictures")
# Share of pixels that may differ: edges of letters do, between builds of Chromium.
DIFFERENCE_MAX = 0.01
TAINT = {"key": "maintenance", "value": "now", "effect": "NoExecute"}
UP = ["kube-apiserver", "kube-scheduler"]
EXPLORATION = {
    "plan": "a plan",
    "title": "A gate",
    "setting": "Kubernetes 1.36, 1 node",
    "answer": "To enable a gate: kube-apiserver, then kube-scheduler. To disable: any order is safe.",
    "paths": 4,
    "states": 3,
    "orders": [
        {"phase": phase, "order": order, "verdict": verdict, "score": score, "harm": {}, "breaks": []}
        for phase, order, verdict, score in [
            ("up", UP, "safe", 0),
            ("up", UP[::-1], "unsafe", 254),
            ("down", UP, "safe", 0),
        ]
    ],
    "pairs": [
        {"up": up, "down": UP, "score": score, **dict.fromkeys(("upResult", "downResult", "retryResult"), result)}
        for up, score in [(UP, 0), (UP[::-1], 254)]
        for result in [
            {"harm": {"evicted": score}, "breaks": [{"invariant": "tolerated-pods-stay", "text": "pod/solo"}]}
        ]
    ],
    "counterexamples": [
        {
            "invariant": "tolerated-pods-stay",
            "text": "pod/solo: evicted from its node",
            "moves": ["kube-apiserver up", "kube-scheduler up"],
            "scenario": "kind: Scenario\n",
        }
    ],
}
Browse = Callable[..., Awaitable[Any]]

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine"),
    pytest.mark.skipif(not (UI / "node_modules").is_dir(), reason="packages of ui/ are not installed: run `make ui`"),
]


def make_pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "i"}], **spec}}


async def wait_until(session: aiohttp.ClientSession, path: str, holds: Callable[[int, Any], bool]) -> None:
    """Read an object until something holds; the test's own timeout ends it."""
    while True:
        async with session.get(path) as answer:
            if holds(answer.status, await answer.json()):
                return
        await asyncio.sleep(0.05)


async def fill(url: str) -> None:
    """Create pods that run, one that is evicted, and one that no node fits."""
    async with aiohttp.ClientSession(url) as session:
        pods = "/api/v1/namespaces/default/pods"
        await wait_until(session, "/api/v1/namespaces/default/serviceaccounts/default", lambda code, _: code == 200)
        wants = {"requests": {"cpu": "64"}}
        large = [{"name": "main", "image": "i", "resources": wants}]
        for pod in [
            make_pod("web", nodeName="node-1"),
            make_pod("solo", nodeName="node-2"),
            make_pod("batch", containers=large),
        ]:
            async with session.post(pods, json=pod) as answer:
                assert answer.status == 201, await answer.text()
        for name in ("web", "solo"):
            await wait_until(session, f"{pods}/{name}", lambda _, pod: pod["status"]["phase"] == "Running")
        await advance(session, 60)
        merge = {"Content-Type": "application/merge-patch+json"}
        body = json.dumps({"spec": {"taints": [TAINT]}})
        async with session.patch("/api/v1/nodes/node-2", data=body, headers=merge) as answer:
            assert answer.status == 200
        await wait_until(session, f"{pods}/solo", lambda code, _: code == 404)
        await wait_until(session, f"{pods}/batch", lambda _, pod: bool(pod["status"].get("conditions")))
        await advance(session, 60)


async def advance(session: aiohttp.ClientSession, seconds: int) -> None:
    """Move the virtual clock, and wait until everything that was due has happened."""
    path = "/apis/control.mockkube.dev/v1alpha1/clocks/cluster"
    body = json.dumps({"spec": {"advance": f"{seconds}s"}})
    async with session.patch(path, data=body, headers={"Content-Type": "application/merge-patch+json"}) as answer:
        wanted = (await answer.json())["metadata"]["generation"]
    await wait_until(session, path, lambda _, clock: clock["status"].get("observedGeneration", 0) >= wanted)


@pytest.fixture
async def cluster() -> AsyncIterator[tuple[Cluster, str]]:
    """A cluster in virtual time, so that its pictures are always the same."""
    settings = {"nodes": 3, "tls": False, "clock": "virtual", "name": "lab"}
    async with open_temporary_cluster(make_temporary_configuration(settings)) as cluster, cluster as running:
        await fill(running.url)
        yield cluster, running.url


@pytest.fixture
async def browse(cluster: tuple[Cluster, str]) -> Browse:
    """Return a function that runs a case of `ui/tests/page.mjs`, and returns what it has seen."""

    async def run(case: str, *arguments: str) -> Any:
        page = cluster[0].control_plane.user_interface
        await upload(await page.make_administrator_link())
        link = await page.make_administrator_link()
        process = await asyncio.create_subprocess_exec(
            "node", str(UI / "tests" / "page.mjs"), case, link, *arguments,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "CHROMIUM": str(CHROMIUM)},
        )  # fmt: skip
        output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return json.loads(output)

    return run


async def upload(link: str) -> None:
    root, _, code = link.partition("#")
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.post(f"{root}login", json={"code": code}) as answer:
            key = (await answer.json())["key"]
        async with session.put(f"{root}exploration", json=EXPLORATION, headers={"Mockkube-Ui-Key": key}) as answer:
            assert answer.status == 200


@pytest.mark.slow
@pytest.mark.parametrize("size", ["desktop", "phone"])
async def test_no_view_violates_accessibility(browse: Browse, size: str) -> None:
    seen = await browse("accessibility", size)
    assert seen["violations"] == []
    assert seen["problems"] == []


async def test_nothing_is_fetched_from_elsewhere_and_no_secret_stays_in_the_address(browse: Browse) -> None:
    seen = await browse("network")
    assert seen["problems"] == [], "an error, or a violation of the Content-Security-Policy"
    assert len(seen["origins"]) == 1
    assert seen["address"] == f"{seen['origins'][0]}/ui/#map"
    assert seen["cookies"] == ""
    assert seen["wide"] <= 0


async def test_the_reason_of_an_eviction_is_found_by_name_with_the_keyboard(browse: Browse) -> None:
    seen = await browse("eviction")
    assert seen["focused"] == "search"
    assert "Evicted: DeletionByTaintManager" in seen["text"]
    assert "because node-2 had the taint maintenance=now:NoExecute, which it does not tolerate" in seen["text"]
    assert "would have helped" in seen["text"]
    assert "deletion requested" in seen["revisions"]
    assert seen["closed"]


async def test_arrow_keys_move_over_the_nodes(browse: Browse) -> None:
    assert await browse("keyboard") == {"title": "node-3"}


async def test_actions_do_what_their_command_says(browse: Browse, cluster: tuple[Cluster, str]) -> None:
    seen = await browse("actions")
    patch = 'kubectl patch component kube-scheduler --type merge -p \'{"spec":'
    assert seen["commands"] == [
        "kubectl taint nodes node-3 dragged=here:NoSchedule --overwrite",
        patch + '{"featureGates":{"TaintTolerationComparisonOperators":true}}}\'',
        patch + '{"version":"1.37"}}\'',
        f'{patch}{{"running":false}}}}\'\n{patch}{{"running":true}}}}\'',
        'kubectl patch clock cluster --type merge -p \'{"spec":{"advance":"90s"}}\'',
    ]
    assert seen["versions"] == [str(one) for one in RELEASES]
    assert "Warning" in seen["answer"], "a kubelet that is newer than the API server is not supported"
    async with aiohttp.ClientSession(cluster[1]) as session:
        async with session.get("/api/v1/nodes/node-3") as answer:
            assert (await answer.json())["spec"]["taints"] == [
                {"key": "dragged", "value": "here", "effect": "NoSchedule"}
            ]
        async with session.get("/apis/control.mockkube.dev/v1alpha1/components/kube-scheduler") as answer:
            spec = (await answer.json())["spec"]
    assert (spec["version"], spec["running"]) == ("1.37", True)
    assert spec["featureGates"] == {"TaintTolerationComparisonOperators": True}


async def test_the_bar_shows_the_cluster_as_it_was(browse: Browse) -> None:
    taint = "maintenance=now:NoExecute"
    seen = await browse("past")
    assert taint in seen["now"]
    assert taint not in seen["first"]
    assert taint in seen["again"]
    assert seen["actions"] == 0, "the past cannot be changed"


async def test_the_player_steps_through_a_counterexample(browse: Browse) -> None:
    gates = [make_gate("First", "safe"), make_gate("Second", "differs")]
    seen = await browse("player", json.dumps(gates))
    assert [one.split()[0] for one in seen["changed"]] == ["kube-apiserver"]
    assert seen["text"] == "pod/solo: evicted from its node"
    assert "mockkube explore PLAN --trace tolerated-pods-stay > broken.yaml" in seen["command"]
    assert seen["cell"].endswith("harm 254")
    assert seen["file"] == ["tolerated-pods-stay.yaml", "kind: Scenario\n"]
    assert [one.split() for one in seen["orders"]] == [
        ["apiserver", "scheduler", "safe"],
        ["scheduler", "apiserver", "not", "safe,", "harm", "254"],
        ["apiserver", "scheduler", "safe"],
    ]

    assert seen["violations"] == []
    shown = ["1 of 2 feature gates are safe in every order", "apiserver\nscheduler\ndiffers", "spec.a is dropped"]
    assert [one for one in shown if one not in seen["atlas"]] == []


def make_gate(name: str, verdict: str) -> dict[str, Any]:
    """Entry of an atlas, as `mockkube atlas -o json` prints it."""
    orders = [{"order": UP, "verdict": verdict, "breaks": [], "differences": ["Pod web: `spec.a` is dropped"]}]
    states: list[dict[str, Any]] = [
        {"on": [], "like": "off", "differences": ["Pod web: `spec.a` is dropped"]},
        {"on": UP[:1], "like": "on", "differences": []},
    ]
    return {
        "gate": name,
        "stages": [{"version": "1.36", "maturity": "Beta", "is_on": True, "is_locked": False}],
        "status": "played",
        "feature": "Pods have a.",
        "reason": "",
        "version": "1.36",
        "readers": [{"component": one, "is_exercised": True} for one in UP],
        "states": states,
        "up": orders,
        "down": orders,
        "rollback": {"existing": [], "updated": [], "new": ["Pod web: `spec.a` is dropped"]},
    }


async def test_a_finger_drags_a_taint(browse: Browse) -> None:
    seen = await browse("touch")
    assert seen["command"] == "kubectl taint nodes node-2 dragged=here:NoSchedule --overwrite"
    assert seen["open"] == 0, "the tap at the end of a drag opens nothing"


def find_fonts() -> str:
    if shutil.which("fc-match") is None:
        return ""
    return subprocess.run(["fc-match", "system-ui"], capture_output=True, text=True, check=True).stdout.strip()


async def test_the_views_look_as_they_did(browse: Browse, tmp_path: Path) -> None:
    fonts = find_fonts()
    if os.environ.get("MOCKKUBE_NEW_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        await browse("pictures", str(PICTURES), str(PICTURES))
        (PICTURES / "fonts.txt").write_text(fonts + "\n")
    recorded = (PICTURES / "fonts.txt").read_text().strip()
    if fonts != recorded:
        pytest.skip(f"the pictures were taken with {recorded}, here is {fonts or 'no fontconfig'}")
    seen = await browse("pictures", str(tmp_path), str(PICTURES))
    assert {view: share for view, share in seen["differences"].items() if share is None or share > DIFFERENCE_MAX} == {}
