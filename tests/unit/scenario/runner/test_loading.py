"""Scenario files: what they may say, and how a mistake is told."""

from pathlib import Path

import pytest

from mockkube.scenario.claims import Claim
from mockkube.scenario.errors import ScenarioError
from mockkube.scenario.runner.loading import find_files, parse
from mockkube.scenario.yaml_lines import read_text

HEAD = "apiVersion: mockkube.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("  steps: []", "f.yaml:5: spec.steps: no steps: give at least one", id="nothing to do"),
        pytest.param("  step: []", "f.yaml:5: spec.step: unknown field: did you mean 'steps'?", id="a field"),
        pytest.param(
            "  steps:\n  - settel:",
            "f.yaml:6: spec.steps[0].settel: no step is called so: did you mean 'settle'?",
            id="a verb",
        ),
        pytest.param(
            "  steps:\n  - advance: soon",
            "spec.steps[0].advance.duration: 'soon' is not a duration: give one like 30s",
            id="a duration",
        ),
        pytest.param(
            "  steps:\n  - advance:", "f.yaml:6: spec.steps[0].advance: duration is missing", id="an argument"
        ),
        pytest.param(
            "  steps:\n  - settle:\n    advance: 1s",
            "settle, advance at once: give each step a list item",
            id="two verbs",
        ),
        pytest.param(
            "  steps:\n  - apply: {file: a, resource: {}}", "give a manifest, or a `file` of them", id="both forms"
        ),
        pytest.param("  steps:\n  - taint: {key: a}", "effect is missing: NoSchedule", id="what does not go together"),
        pytest.param("  steps: [settle]", "'settle' is not a step: give a verb with its arguments", id="a text"),
        pytest.param(
            "  cluster: {nodes: many}\n  steps:\n  - settle:",
            "f.yaml:5: spec.cluster.nodes: 'many' is not a whole number",
            id="a cluster",
        ),
        pytest.param(
            "  steps:\n  - settle:\n  steps:\n  - settle:",
            "f.yaml:7: not valid YAML: duplicate key 'steps'",
            id="a key twice",
        ),
        pytest.param("  steps:\n  - {try: [{settle: }], cach: []}", "cach: unknown field in a block", id="a block"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse(HEAD + text, Path("f.yaml"))
    assert told in str(error.value)


CLAIM = "apiVersion: mockkube.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {steps: [{settle: }]}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("outcome: holds", "f.yaml:1: nothing is claimed: give the claim, or a quote", id="no claim"),
        pytest.param("claims: [{source: x}]", "f.yaml:5: claims[0]: nothing is claimed", id="no claim in a list"),
        pytest.param(
            "quote: a\noutcome: wrong",
            "f.yaml:6: outcome: 'wrong' is none of holds, false, harmful advice, not stated, not tried",
            id="an outcome that does not exist",
        ),
        pytest.param("quote: a\noutcome: holds\nholds: true", "outcome and holds say the same", id="outcome and holds"),
        pytest.param("quote: a\noutcome: false", "needs observed: say what happens instead", id="false, and then?"),
        pytest.param("quote: a\noutcome: harmful advice", "needs observed: say what it breaks", id="which harm"),
        pytest.param("quote: a\noutcome: not tried", "needs observed: say why it cannot be run", id="why not"),
        pytest.param("question: a\noutcome: not stated", "needs observed: answer the question", id="no answer"),
        pytest.param("quote: a\noutcome: not stated", "belong together: give both", id="no question"),
        pytest.param("question: a\noutcome: holds", "belong together: give both", id="a question that holds"),
        pytest.param("quote: a\nsection: b", "section without source: say of which document", id="no document"),
        pytest.param(
            "quote: a\nclaims: [{quote: b}]", "claims beside a claim in the head: put all of them", id="both forms"
        ),
        pytest.param("claims: [{quot: b}]", "f.yaml:5: claims[0].quot: unknown field: did you mean", id="a field"),
    ],
)
def test_a_mistake_in_a_claim_is_told_with_its_remedy(text: str, told: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse(CLAIM + text, Path("f.yaml"))
    assert told in str(error.value)


def test_a_claim_says_which_words_of_which_text_have_which_outcome() -> None:
    text = "quote: a\nsource: KEP-1\nsection: Goals\noutcome: false\nobserved: b"
    [scenario] = parse(CLAIM + text)
    assert scenario.claims == (Claim(quote="a", source="KEP-1", section="Goals", outcome="false", observed="b"),)


def test_several_claims_share_the_source_of_the_head() -> None:
    text = "source: KEP-1\nclaims:\n- {quote: a, outcome: holds}\n- {quote: b, source: KEP-2, outcome: holds}"
    [scenario] = parse(CLAIM + text)
    assert [(one.quote, one.location) for one in scenario.claims] == [("a", "KEP-1"), ("b", "KEP-2")]


@pytest.mark.parametrize(("holds", "outcome"), [("true", "holds"), ("false", "false")])
def test_the_older_form_says_whether_a_claim_holds(holds: str, outcome: str) -> None:
    [scenario] = parse(f"{CLAIM}claim: a\nholds: {holds}")
    assert [one.outcome for one in scenario.claims] == [outcome]


def test_a_scenario_need_not_claim_anything() -> None:
    assert [one.claims for one in parse(CLAIM)] == [()]


def test_expressions_may_stand_for_anything_until_names_are_bound() -> None:
    [scenario] = parse(HEAD + "  cluster: {nodes: ($n)}\n  matrix: {n: [1, 2]}\n  steps:\n  - advance: ($d)")
    assert [str(cell) for cell in scenario.list_cells()] == ["n=1", "n=2"]


def test_combinations_can_be_left_out() -> None:
    text = "  matrix: {a: [1, 2], b: [x, y]}\n  exclude: [{a: 1, b: y}]\n  steps:\n  - settle:"
    [scenario] = parse(HEAD + text)
    assert [str(cell) for cell in scenario.list_cells()] == ["a=1,b=x", "a=2,b=x", "a=2,b=y"]


def test_a_chainsaw_test_has_a_namespace_of_its_own() -> None:
    text = """
apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: basic}
spec:
  timeouts: {assert: 7s}
  bindings: [{name: x, value: 1}]
  steps:
  - name: one
    try:
    - apply: {file: a.yaml}
    - assert: {resource: {apiVersion: v1, kind: Pod, metadata: {name: p}}, timeout: 3s}
    finally:
    - sleep: {duration: 1s}
"""
    [scenario] = parse(text)
    assert (scenario.namespace, scenario.timeout, scenario.variables) == ("chainsaw-basic", 7.0, (("x", 1),))
    assert [operation.verb for operation in scenario.blocks[0].operations] == ["apply", "assert"]
    assert [operation.verb for operation in scenario.blocks[0].finally_operations] == ["sleep"]


def test_other_documents_are_told_what_a_scenario_is() -> None:
    with pytest.raises(ScenarioError, match=r"v1 Pod is no scenario: give mockkube\.dev/v1alpha1 Scenario"):
        parse("apiVersion: v1\nkind: Pod", Path("f.yaml"))


def test_a_directory_stands_for_its_scenarios_alone(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(HEAD + "  steps:\n  - settle:")
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod")
    assert find_files([tmp_path]) == [tmp_path / "a.yaml"]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="there is no such file"):
        find_files([tmp_path / "none.yaml"])


def test_what_is_merged_in_gives_way_to_what_is_written_here() -> None:
    text = """\
first: &first {a: 1, b: 2}
second: &second {b: 3, c: 4}
one: {<<: *first, b: 9, d: 5}
both: {<<: [*first, *second]}
"""
    [document] = read_text(text, "f.yaml")
    assert document["one"] == {"a": 1, "b": 9, "d": 5}
    assert document["both"] == {"a": 1, "b": 2, "c": 4}


def test_a_key_twice_beside_what_is_merged_in_is_still_a_mistake() -> None:
    with pytest.raises(ScenarioError, match="4: not valid YAML: duplicate key 'b'"):
        read_text("first: &first {a: 1}\none:\n  b: 1\n  b: 2\n  <<: *first\n", "f.yaml")
