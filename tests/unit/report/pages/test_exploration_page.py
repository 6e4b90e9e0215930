"""The page of an exploration: the answer, what it rests on, and how it breaks."""

import re

import pytest

from mockkube.explore.exploration import Exploration
from mockkube.explore.plans.plan import Direction
from mockkube.explore.replay import Evidence, collect_evidence
from mockkube.report import review
from mockkube.report.drawing.harm_map import shade_labels
from mockkube.report.pages.exploration_page import render
from mockkube.report.sentences import break_descriptions
from mockkube.report.sentences.answer import Answer
from mockkube.report.sentences.trust import list_caveats

pytestmark = pytest.mark.heavy  # explores


@pytest.fixture(scope="module")
def evidence(explored: Exploration) -> Evidence:
    return collect_evidence(explored)


@pytest.fixture(scope="module")
def page(evidence: Evidence) -> str:
    return render(evidence)


@pytest.fixture(scope="module")
def answer(evidence: Evidence) -> Answer:
    return Answer(evidence.result, evidence)


def test_the_answer_leads_as_a_rule_with_an_example(answer: Answer) -> None:
    lead = next(answer.answer_sentences(Direction.UP))
    assert lead.startswith("**To enable: `kube-controller-manager`, then `kube-apiserver`.** 1 of the 2 orders is safe")


def test_what_pods_that_just_run_suffer_is_told_without_disturbances(answer: Answer) -> None:
    told = " ".join(answer.answer_sentences(Direction.DOWN))
    assert "no order is safe while workloads use it" in told
    assert "`replicaset/web`: 1 of 1 evicted by the taint eviction of `kube-controller-manager` at once" in told


def test_it_is_told_for_how_many_orders_that_was_tried_and_whether_the_pods_come_back(answer: Answer) -> None:
    [told] = [one for one in answer.answer_sentences(Direction.DOWN) if one.startswith("**Running pods are affected")]
    assert "1 of the 2 without preparation" in told
    assert "1 missing at the end: `kube-apiserver` rejects new ones" in told
    assert "To enable again brings them back" in told


def test_the_way_that_nobody_disturbs_is_told_step_by_step_with_a_scenario(evidence: Evidence, page: str) -> None:
    harm = evidence.undisturbed.harm
    assert harm is not None
    assert harm.scenario is not None
    assert "delete:" not in harm.scenario
    assert 'id="undisturbed"' in page
    assert "without disturbances" in review.render(evidence)


def test_pods_that_ran_are_told_from_new_ones(answer: Answer) -> None:
    told = " ".join(answer.answer_sentences(Direction.UP))
    assert "new pods evicted or removed as soon as they have a node" in told
    assert "running pods evicted" not in told
    assert any(
        "running pods evicted" in break_descriptions.join_breaks(one.worst.breaks)
        for one in answer.unprepared(Direction.DOWN)
    )


def test_what_a_document_does_not_name_is_said_to_be_added(answer: Answer) -> None:
    told = " ".join(answer.answer_sentences(Direction.UP))
    assert '"as written" (apiserver; controller-manager is not named there and was changed last)' in told
    assert "[Note on documented orders](#note-on-documented-orders)" in told


def test_a_preparation_that_is_safe_stands_before_orders_that_are_not(answer: Answer) -> None:
    first, *rest = answer.result.list_verdicts(Direction.DOWN)
    assert (first.is_safe, first.prepares) == (True, "prepared")
    assert not any(one.is_safe for one in rest)


def test_what_a_component_does_by_its_place_stands_above_the_tables(answer: Answer, page: str) -> None:
    told = answer.describe_mechanism(Direction.UP)
    assert "`kube-apiserver` last: nothing" in told
    assert "`kube-controller-manager` last: pods created and lost in a hot loop" in told
    assert page.index("What breaks in every order with the same component last") < page.index('id="up-0"')


def test_a_step_with_a_loop_says_how_the_tables_count_it(page: str) -> None:
    assert "In the tables this move counts as: 1 evicted, 1 hot loop" in page


def test_the_scale_of_the_map_ends_where_the_harm_does() -> None:
    assert shade_labels(120) == ["0 (no harm)", "1 to 50", "51 to 150"]


def test_a_preparation_is_told_in_words(answer: Answer) -> None:
    told = " ".join(answer.answer_sentences(Direction.DOWN))
    assert "`replicaset/web`: the toleration `sla Gt 900:NoExecute` is replaced by `sla Exists:NoExecute`" in told


def test_orders_that_differ_by_a_few_points_have_no_winner(answer: Answer) -> None:
    first, *rest = answer.harm_groups(Direction.DOWN)
    assert first.most < min((group.least for group in rest), default=first.most + 1)


def test_a_page_says_how_far_it_can_be_trusted(answer: Answer, evidence: Evidence, page: str) -> None:
    told = " ".join(list_caveats(answer))
    assert "A simulated cluster, not real binaries" in told
    assert "one seed (0)" in told
    assert "How far to trust this" in page
    assert "How far to trust this" in review.render(evidence)


def test_every_word_for_harm_is_defined_before_the_first_table_of_orders(page: str) -> None:
    assert page.index("Kinds of harm") < page.index("All orders to enable")


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


@pytest.mark.slow
def test_the_same_exploration_gives_the_same_page(explored: Exploration, page: str) -> None:
    assert render(collect_evidence(explored)) == page


def test_the_pace_of_a_loop_is_told_and_drawn(explored: Exploration, page: str) -> None:
    rate = explored.rates[0].describe()
    assert rate in page
    assert "Rate of the hot loop of move" in page


def test_what_mockkube_why_says_stands_at_the_step(page: str) -> None:
    assert "What mockkube why says" in page
    assert "it would help: kube-controller-manager TaintTolerationComparisonOperators=true" in page


def test_what_mockkube_why_says_is_about_the_harm_at_which_it_stands(evidence: Evidence) -> None:
    told = [
        one for replay in evidence.counterexamples for step in replay.replayed_moves for one in step.record.explanations
    ]
    assert told
    words = {"evicted": "evicted it", "rejected": "rejected it", "stuck": "kube-scheduler"}
    assert [one.harm for one in told if words[one.harm] not in one.describe()] == []
