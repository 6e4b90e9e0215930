"""Pictures of social size: the answer, a picture of it, and the command that repeats it."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from mockkube.explore.exploration import Exploration
from mockkube.report.pictures import exploration_card, runs_card
from mockkube.report.pictures.card import Card, render_card
from mockkube.scenario.claims import Claim
from mockkube.scenario.runner.results import RunOutcome, RunResult, TracedStep, TracedWrite

POD = TracedWrite("create", "core/pods", "default/web", {"status": {"phase": "Running"}})
RUN = RunResult("evicted", "kep/a.yaml", 0, "", RunOutcome.PASSED, digest="d")
FALSE = Claim(quote="it stays", outcome="false", observed="it goes")


def read(svg: str) -> tuple[ET.Element, str]:
    root = ET.fromstring(svg)
    return root, " ".join("".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text"))


def test_an_exploration_shows_the_answer_every_order_and_its_command(explored: Exploration) -> None:
    root, text = read(exploration_card.render(explored))
    assert (root.get("width"), root.get("height")) == ("1200", "630")
    assert "To enable TaintTolerationComparisonOperators:" in text
    assert text.count("apiserver ctrl-mgr") + text.count("ctrl-mgr apiserver") >= 4
    assert "mockkube explore small.yaml --seed 0" in text
    assert "Kubernetes 1.36, 1 node, 2 components" in text


def test_a_picture_loads_nothing_and_has_no_unresolved_color(explored: Exploration) -> None:
    svg = exploration_card.render(explored)
    assert "var(--" not in svg
    assert "url(" not in svg
    assert "href" not in svg


def test_a_tile_for_each_run() -> None:
    runs = [RUN, replace(RUN, claims=(FALSE,)), replace(RUN, scenario="lost", outcome=RunOutcome.FAILED, message="no")]
    root, text = read(runs_card.render(runs, ["kep"]))
    tones = [one.get("class") for one in root.iter("{http://www.w3.org/2000/svg}rect") if one.get("rx") == "2"]
    assert tones[:3] == ["tone-good", "tone-wait", "tone-bad"]
    assert "1 of 3 runs did not end as expected. Of 1 claim" in text
    assert "lost failed: no" in text
    assert "mockkube test kep" in text


def test_the_timeline_of_an_only_run() -> None:
    run = replace(RUN, traced_steps=(TracedStep(1, 0.0, "operator", (POD,)),), virtual_seconds=5.0)
    _, text = read(runs_card.render([run], ["kep/a.yaml"]))
    assert "Running pod Running" in text
    assert "mockkube test kep/a.yaml --scenario evicted --seed 0" in text


@pytest.mark.parametrize("words", [1, 12, 25, 200])
def test_an_answer_has_three_lines_at_most(words: int) -> None:
    root, _ = read(render_card(Card("mockkube test", "", " ".join(["answer"] * words), "good", "mockkube test")))
    lines = [one for one in root.iter("{http://www.w3.org/2000/svg}text") if one.get("class") == "answer"]
    assert 1 <= len(lines) <= 3
    assert ("…" in (lines[-1].text or "")) is (words == 200)


def test_text_cannot_leave_its_element() -> None:
    svg = render_card(Card("mockkube test", "<script>", "</text><script>", "good", "a && b"))
    assert "<script>" not in svg
    assert "a &amp;&amp; b" in svg
