"""Go templates, as stages are written in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.kubelet.stages.gotemplate import GoTemplate
from mockkube.kubelet.stages.gotemplate_pipeline import TemplateError
from mockkube.kubelet.stages.sprig import SPRIG_FUNCTIONS

DATA = {"name": "p", "list": ["a", "b"], "map": {"x": 1, "y": 2}, "nested": {"deep": {"er": True}}, "zero": 0}


def render(text, data=DATA):
    return GoTemplate(text, SPRIG_FUNCTIONS).render(data)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a {{ .name }} b", "a p b", id="a field"),
        pytest.param("{{ .nested.deep.er }}", "true", id="a path"),
        pytest.param("{{ .no.such.thing }}", "<no value>", id="nothing"),
        pytest.param("{{ .map }} {{ .list }}", "map[x:1 y:2] [a b]", id="maps and lists"),
        pytest.param("x  {{- .name -}}  y", "xpy", id="white space is taken away"),
        pytest.param("{{/* a word */}}z", "z", id="a comment"),
        pytest.param("{{ if .zero }}yes{{ else if .name }}{{ .name }}{{ else }}no{{ end }}", "p", id="else if"),
        pytest.param("{{ with .nested.deep }}{{ .er }}{{ end }}", "true", id="with moves the dot"),
        pytest.param("{{ with .zero }}a{{ else }}b{{ end }}", "b", id="with nothing"),
        pytest.param("{{ range $i, $v := .list }}{{ $i }}{{ $v }};{{ end }}", "0a;1b;", id="range"),
        pytest.param("{{ range $k, $v := .map }}{{ $k }}{{ $v }};{{ end }}", "x1;y2;", id="range over a map is sorted"),
        pytest.param("{{ range .none }}a{{ else }}empty{{ end }}", "empty", id="range over nothing"),
        pytest.param("{{ range .list }}{{ if eq . \"b\" }}{{ break }}{{ end }}{{ . }}{{ end }}", "a", id="break"),
        pytest.param("{{ $x := 1 }}{{ range .list }}{{ $x = 2 }}{{ end }}{{ $x }}", "2", id="assignment reaches out"),
        pytest.param("{{ $x := 1 }}{{ range .list }}{{ $x := 2 }}{{ end }}{{ $x }}", "1", id="declaration does not"),
        pytest.param("{{ $.name }}{{ range .list }}{{ $.name }}{{ end }}", "ppp", id="the root"),
        pytest.param('{{ or .none "d" }} {{ and .name "e" }} {{ not .zero }}', "d e true", id="logic"),
        pytest.param('{{ eq .name "q" "p" }} {{ ne 1 2 }} {{ lt 1 2 }}', "true true true", id="comparisons"),
        pytest.param('{{ printf "%s-%d %q" .name 3 "x" }}', 'p-3 "x"', id="printf"),
        pytest.param('{{ index .map "x" }}{{ index .list 1 }}', "1b", id="index"),
        pytest.param('{{ (index .list 0) | upper | printf "%s!" }}', "A!", id="pipes"),
        pytest.param(
            r'{{ regexReplaceAll "^(?i)(A)b*" "abbc" "\\${1}" }}{{ regexMatch "[" "x" }}{{ regexMatch "\\pL\\z" "x" }}',
            r"\acfalsetrue", id="patterns in Go's dialect",
        ),
        pytest.param('{{ default "d" .none }}{{ ternary 1 2 true }}{{ len .list }}', "d12", id="sprig"),
        pytest.param('{{ $d := dict "a" 1 }}{{ $d.a }}{{ get $d "b" }}', "1", id="dict"),
        pytest.param('{{ $d := dict "a" 1 }}{{ $_ := set $d "b" 2 }}{{ $d }}', "map[a:1 b:2]", id="set"),
        pytest.param('{{ $d := dict "a" 1 "b" 2 }}{{ $_ := unset $d "a" }}{{ $d }}', "map[b:2]", id="unset"),
        pytest.param(
            '{{ $_ := merge .nested (dict "deep" (dict "er" false "x" 1) "more" 2) }}{{ .nested }}',
            "map[deep:map[er:true x:1] more:2]", id="merge",
        ),
        pytest.param("{{ `raw \"text\"` }}", 'raw "text"', id="a raw string"),
    ],
)  # fmt: skip
def test_a_template_is_rendered(text, shown):
    assert render(text) == shown


def test_a_template_changes_a_copy():
    data = {"map": {"x": 1}}
    assert render('{{ $_ := set .map "y" 2 }}{{ .map }}', data) == "map[x:1 y:2]"
    assert data == {"map": {"x": 1}}


@pytest.mark.parametrize("text", [
    "{{ .a", "{{ if .a }}", "{{ end }}", "{{ nosuch }}", "{{ .a ) }}", '{{ "open }}', "{{ range .a }}", "{{ | }}",
])  # fmt: skip
def test_what_is_no_template_is_refused(text):
    with pytest.raises(TemplateError):
        render(text)


@pytest.mark.parametrize("text", ['{{ fail "no" }}', "{{ div 1 0 }}", "{{ index .list 9 }}", "{{ upper .zero }}"])
def test_what_cannot_be_executed_says_so(text):
    with pytest.raises(TemplateError):
        render(text)


@given(st.text(alphabet=st.characters(blacklist_characters="{}")))
def test_text_without_actions_is_left_alone(text):
    assert render(text) == text


@given(st.lists(st.text(alphabet="abc", max_size=3), max_size=5))
def test_range_and_join_agree(words):
    text = "{{ range $i, $w := .words }}{{ if $i }},{{ end }}{{ $w }}{{ end }}"
    assert render(text, {"words": words}) == render('{{ join "," .words }}', {"words": words})
