"""The page of an exploration: the answer, what it rests on, and how it breaks."""

import re

import pytest

from mockkube.scenario.explore.plan import Phase
from mockkube.scenario.explore.verdict import Exploration
from mockkube.scenario.report import review
from mockkube.scenario.report.answer import Answer
from mockkube.scenario.report.exploration import render
from mockkube.scenario.report.trust import reasons


@pytest.fixture(scope="module")
def page(explored: Exploration) -> str:
    return render(explored)


@pytest.fixture(scope="module")
def answer(explored: Exploration) -> Answer:
    return Answer(explored)


def test_the_answer_leads_as_a_rule_with_an_example(answer: Answer) -> None:
    lead = next(answer.on(Phase.UP))
    assert lead.startswith(
        "**To enable: `kube-controller-manager`, then `kube-apiserver`.** 1 of the 2 orders are safe"
    )


def test_what_pods_that_just_run_suffer_is_told_without_disturbances(answer: Answer) -> None:
    told = " ".join(answer.on(Phase.DOWN))
    assert "no order is safe while workloads use it" in told
    assert "`replicaset/web`: 1 of 1 evicted by the taint eviction of `kube-controller-manager` at once" in told


def test_a_preparation_is_told_in_words(answer: Answer) -> None:
    told = " ".join(answer.on(Phase.DOWN))
    assert "`replicaset/web`: the toleration `sla Gt 900:NoExecute` is replaced by `sla Exists:NoExecute`" in told


def test_orders_that_differ_by_a_few_points_have_no_winner(answer: Answer) -> None:
    first, *rest = answer.leagues(Phase.DOWN)
    assert first.most < min((league.least for league in rest), default=first.most + 1)


def test_a_page_says_how_far_it_can_be_trusted(answer: Answer, page: str) -> None:
    told = " ".join(reasons(answer))
    assert "A simulated cluster, not real binaries" in told
    assert "one seed (0)" in told
    assert "How far to trust this" in page
    assert "How far to trust this" in review.render(answer.result)


def test_every_word_for_harm_is_defined_before_the_first_table_of_orders(page: str) -> None:
    assert page.index("The words used below") < page.index("All orders to enable")


def test_every_link_leads_somewhere(page: str) -> None:
    targets = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= targets


def test_what_shows_is_told_with_a_command_to_ask_for_it(page: str) -> None:
    assert "kubectl get events -A --field-selector reason=TaintManagerEviction" in page


def test_a_message_that_seems_to_contradict_itself_is_marked(page: str) -> None:
    assert "(sic: so says Kubernetes 1.36" in page


def test_the_plan_is_part_of_the_page(explored: Exploration, page: str) -> None:
    assert explored.plan.text.splitlines()[-1] in page
    assert "A &lt;small&gt; rollout" in page


def test_the_same_exploration_gives_the_same_page(explored: Exploration, page: str) -> None:
    assert render(explored) == page


def test_the_pace_of_a_loop_is_told_and_drawn(explored: Exploration, page: str) -> None:
    rate = explored.rates[0].text()
    assert rate in page
    assert "How fast the loop of step" in page


def test_what_mockkube_why_says_stands_at_the_step(page: str) -> None:
    assert "What mockkube why says" in page
    assert "it would help: kube-controller-manager TaintTolerationComparisonOperators=true" in page
