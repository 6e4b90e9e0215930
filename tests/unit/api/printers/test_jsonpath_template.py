"""Templates of `kubectl get -o jsonpath=`; what each prints is what kubectl 1.33 printed for these objects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.printers.jsonpath import PathError
from mockkube.api.printers.jsonpath_template import compile_template, format_value

_GT = {"key": "sla", "operator": "Gt", "value": "900"}
_EXISTS = {"key": "sla", "operator": "Exists"}
_LIST: dict[str, Any] = {
    "kind": "List",
    "apiVersion": "v1",
    "items": [
        {
            "metadata": {"name": "plain", "namespace": "default"},
            "spec": {"priority": 0, "links": True, "containers": [{"name": "c"}, {"name": "d"}]},
        },
        {
            "metadata": {
                "name": "uses-gt",
                "namespace": "default",
                "labels": {"app.kubernetes.io/name": "a-b"},
                "annotations": {"note": '"hi" <b> & c'},
            },
            "spec": {
                "containers": [{"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 443}]}],
                "tolerations": [_GT, _EXISTS],
            },
        },
    ],
}


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        pytest.param("{.items[*].metadata.name}", "plain uses-gt", id="several values in a line"),
        pytest.param('{range .items[*]}{.metadata.name}{"\\n"}{end}', "plain\nuses-gt\n", id="range"),
        pytest.param(
            '{range .items[*]}{.metadata.name}{": "}{.spec.tolerations[?(@.operator=="Gt")]}{"\\n"}{end}',
            'plain: \nuses-gt: {"key":"sla","operator":"Gt","value":"900"}\n',
            id="filter in a range",
        ),
        pytest.param(
            "{range .items[*]}{.metadata.namespace}/{.metadata.name}: {.spec.tolerations[?(@.expression)]}|{end}",
            "default/plain: |default/uses-gt: |",
            id="existence in a range",
        ),
        pytest.param('{range .items[*]}{.metadata.name}{"\\n"}', "plain\nuses-gt\n\n", id="range without an end"),
        pytest.param(
            '{range .items[*]}{.metadata.name}{range .spec.containers[*]}[{.name}]{end}{"|"}{end}done',
            "plain[c][d]|uses-gt[c]|done",
            id="range in a range",
        ),
        pytest.param('{range .nothing[*]}{.a}{"x"}{end}after', "after", id="range over nothing"),
        pytest.param(
            "{range .items[*]}{range .spec.containers[*].ports[*]}{.containerPort},{end};{end}",
            ";80,443,;",
            id="empty range in a range",
        ),
        pytest.param("{.items[0].metadata.labels}", "", id="nothing there"),
        pytest.param("{.items[1].metadata.labels}", '{"app.kubernetes.io/name":"a-b"}', id="map"),
        pytest.param(
            "{.items[1].metadata.annotations}",
            '{"note":"\\"hi\\" \\u003cb\\u003e \\u0026 c"}',
            id="map with signs of HTML",
        ),
        pytest.param("{.items[1].metadata.annotations.note}", '"hi" <b> & c', id="text with signs of HTML"),
        pytest.param("{.items[1].metadata.labels.app\\.kubernetes\\.io/name}", "a-b", id="escaped dots"),
        pytest.param("{.items[1].metadata.labels['app\\.kubernetes\\.io/name']}", "a-b", id="key in brackets"),
        pytest.param("{.items[*]['metadata.name', 'kind']}", "plain uses-gt", id="union"),
        pytest.param("{.items[0:2].metadata.name}", "plain uses-gt", id="slice"),
        pytest.param("{.items[-1:].metadata.name}", "uses-gt", id="slice from the end"),
        pytest.param("{.items[-1].metadata.name}", "uses-gt", id="last"),
        pytest.param("{.items[0:2:2].metadata.name}", "plain", id="slice with a step"),
        pytest.param("{..containerPort}", "80 443", id="recursive descent"),
        pytest.param('{.items[?(@.metadata.name=="plain")].spec.containers[*].name}', "c d", id="filter"),
        pytest.param("{.items[?(@.metadata.name!='plain')].metadata.name}", "uses-gt", id="filter in single quotes"),
        pytest.param(
            "{.items[1].spec.containers[0].ports[?(@.containerPort>100)].containerPort}", "443", id="filter by number"
        ),
        pytest.param("{.items[0].spec.priority} {.items[0].spec.links}", "0 true", id="number and truth"),
        pytest.param("{.kind}{'\\t'}{@.kind}{$.kind}{ .kind }", "List\tListListList", id="the object itself"),
        pytest.param('{"a\\u00e9\\x41\\101\\\\ \\"q\\""}', 'aéAA\\ "q"', id="escapes"),
        pytest.param("{1.5} {100} {1234567.5} {true}", "1.5 100 1.2345675e+06 true", id="literals"),
        pytest.param("text only", "text only", id="text"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_template_prints_what_kubectl_prints(template: str, printed: str) -> None:
    assert compile_template(template).render(_LIST) == printed


@pytest.mark.parametrize(
    ("template", "error"),
    [
        pytest.param("{.items", "unclosed action", id="no brace"),
        pytest.param("{.items\n}", "unclosed action", id="line end"),
        pytest.param("{end}", "not in range, nothing to end", id="end alone"),
        pytest.param("{range .items[*]}{end}{end}", "not in range, nothing to end", id="two ends"),
        pytest.param("{.items[5].a}", "array index out of bounds: index 5, length 2", id="index"),
        pytest.param("{.items[abc]}", "invalid array index abc", id="no index"),
        pytest.param("{foo}", "unrecognized identifier foo", id="word"),
        pytest.param('{"a\\qb"}', 'unquote string "a\\qb" error invalid syntax', id="no escape"),
        pytest.param("{.kind[?(@.a)]}", "cannot be filtered", id="filter of a text"),
    ],
)
def test_a_template_that_makes_no_sense_says_why(template: str, error: str) -> None:
    with pytest.raises(PathError) as raised:
        compile_template(template).render(_LIST)
    assert error in str(raised.value)


@given(st.text(alphabet=st.characters(exclude_characters="{")))
def test_text_without_braces_is_printed_as_it_stands(text: str) -> None:
    assert compile_template(text).render({}) == text


@pytest.mark.parametrize(
    ("value", "printed"),
    [(1e6, "1e+06"), (123456.0, "123456"), (0.0001, "0.0001"), (0.00001, "1e-05"), (-2.5, "-2.5"), (1e300, "1e+300")],
)
def test_a_float_is_printed_as_go_prints_it(value: float, printed: str) -> None:
    assert format_value(value) == printed


@given(st.lists(st.text(alphabet="abc", min_size=1)))
def test_a_range_prints_its_body_once_for_each_item(names: list[str]) -> None:
    template = compile_template('{range .items[*]}{.name}{"\\n"}{end}')
    assert template.render({"items": [{"name": name} for name in names]}) == "".join(f"{name}\n" for name in names)
