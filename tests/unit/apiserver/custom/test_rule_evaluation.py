"""Rules in CEL: what they say of objects, at which field, in which words, and when they say nothing."""

from typing import Any

import pytest

from mockkube.api.custom.correlation import CorrelatedObject
from mockkube.api.custom.structural import parse_structural
from mockkube.apiserver.custom.rule_evaluation import RuleResult, evaluate_rules
from mockkube.apiserver.custom.validation_rules import FieldPathError, compile_rules, resolve_field_path


def schema_of(rule: dict[str, Any], **properties: Any) -> Any:
    own = {"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}
    return parse_structural({"type": "object", "properties": {"spec": own}})


def verdict(schema: Any, new: Any, old: Any = None, *, ratcheting: bool = False) -> RuleResult:
    whole, before = {"spec": new}, None if old is None else {"spec": old}
    correlated = CorrelatedObject(whole, before, schema) if ratcheting else None
    return evaluate_rules(compile_rules(schema, is_resource_root=True), whole, before, correlated=correlated)


NUMBER = {"type": "integer"}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param({"rule": "self.a < 5"}, "spec: Invalid value: failed rule: self.a < 5", id="the rule itself"),
        pytest.param({"rule": "self.a < 5", "message": "too much"}, "spec: Invalid value: too much", id="a message"),
        pytest.param(
            {"rule": "self.a < 5", "messageExpression": "'not ' + string(self.a)"}, "spec: Invalid value: not 7",
            id="a computed message",
        ),
        pytest.param(
            {"rule": "self.a < 5", "message": "no", "reason": "FieldValueForbidden", "fieldPath": ".a"},
            "spec.a: Forbidden: no", id="a reason and a field",
        ),
        pytest.param(
            {"rule": "self.missing < 5", "message": "m"},
            'spec: Invalid value: "object": no such key: missing evaluating rule: m', id="an evaluation that fails",
        ),
    ],
)  # fmt: skip
def test_a_broken_rule_says_what_it_is_told_to(rule: dict[str, Any], expected: str) -> None:
    schema = schema_of(rule, a=NUMBER, missing=NUMBER)
    assert [str(error) for error in verdict(schema, {"a": 7}).errors] == [expected]


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("self.meta.namespace == 'n' && self.meta.__namespace__ == 'n'", ""),
        ("has(self.meta.namespace) && !has(self.meta.if) && !has(self.meta.__if__)", ""),
        ("self.list.all(one, one.namespace == 'n')", ""),
        ("self.meta.?namespace.orValue('') == 'n' && self.?meta.?if.orValue('') == ''", ""),
        ("self.meta.if == 'x'", "no such key: if"),
        ("self.meta.package == 'x'", "undefined field 'package'"),
    ],
)
def test_fields_with_the_name_of_a_reserved_word_need_no_escape(rule: str, error: str) -> None:
    text = {"type": "string"}
    meta = {"type": "object", "properties": {"namespace": text, "if": text}}
    schema = schema_of({"rule": rule}, meta=meta, list={"type": "array", "items": meta})
    rules = compile_rules(schema, is_resource_root=True)
    assert rules is not None
    (compiled,) = rules.properties["spec"].own
    if compiled.error:
        assert error
        assert error in compiled.error
        return
    found = [str(one) for one in verdict(schema, {"meta": {"namespace": "n"}, "list": [{"namespace": "n"}]}).errors]
    assert (error in found[0]) if error else not found


TEXT = {"type": "string"}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}
PAIR = {"type": "object", "properties": {"k": TEXT, "v": TEXT}}
MAP = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": PAIR}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
POD = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "properties": {
        "kind": TEXT,
        "apiVersion": TEXT,
        "metadata": {"type": "object", "properties": {"name": TEXT, "generateName": TEXT, "namespace": TEXT}},
    },
}
LISTS = {"type": "array", "items": MAP}


# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/cel/validation_test.go
@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        pytest.param("self.set == ['b', 'a'] && self.set != ['a', 'c'] && self.set != ['a']", True, id="a set"),
        pytest.param("['b', 'a'] == self.set", False, id="the left list decides"),
        pytest.param("self.set + ['b', 'c', 'c'] == ['a', 'c', 'b']", True, id="the union of sets"),
        pytest.param("(self.set + ['c', 'a'])[2] == 'c' && size(self.set + ['c', 'a']) == 3", True, id="in order"),
        pytest.param("self.maps[0] == self.maps[1] && self.maps[0] != self.maps[2]", True, id="a list map"),
        pytest.param("self.maps[0] == [self.maps[0][1], self.maps[0][0]]", True, id="a list map and a literal"),
        pytest.param("self.maps[0] + self.maps[2] == self.maps[2]", True, id="the other's values win"),
        pytest.param("(self.maps[0] + self.maps[3])[2].k == 'z'", True, id="new keys come last"),
        pytest.param("!has(self.nothing)", True, id="null is absent"),
        pytest.param("self.open[0] != self.open[1] && self.open[1] == self.open[2]", True, id="unknown fields"),
        pytest.param("self.open[0] != self.open[3]", True, id="the number of unknown fields"),
        pytest.param("self.pod.metadata.__namespace__ == 'n'", True, id="metadata that the schema declares"),
    ],
)
def test_values_compare_as_their_schema_says(rule: str, holds: bool) -> None:
    nullable = {"type": "string", "nullable": True}
    schema = schema_of(
        {"rule": rule}, set=SET, maps=LISTS, nothing=nullable, open={"type": "array", "items": OPEN}, pod=POD
    )
    one, two, changed = {"k": "x", "v": "1"}, {"k": "y", "v": "2"}, {"k": "x", "v": "3"}
    value = {
        "set": ["a", "b"],
        "maps": [[one, two], [two, one], [changed, two], [{"k": "z", "v": "4"}]],
        "nothing": None,
        "open": [{"a": 1}, {"a": 2}, {"a": 2}, {}],
        "pod": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "n"}},
    }
    errors = [error.detail for error in verdict(schema, value).errors]
    assert errors == ([] if holds else [f"failed rule: {rule}"])


@pytest.mark.parametrize("old", [{"a": 3}, None])
def test_a_field_of_an_optional_object_is_optional(old: dict[str, Any] | None) -> None:
    rules = {"rule": "oldSelf.a.orValue(0) == " + ("3" if old else "0"), "optionalOldSelf": True}
    assert verdict(schema_of(rules, a=NUMBER), {"a": 7}, old).errors == []


def test_a_rule_about_change_is_asked_only_of_changes() -> None:
    schema = schema_of({"rule": "self.a >= oldSelf.a", "message": "may not shrink"}, a=NUMBER)
    assert not verdict(schema, {"a": 1}).errors
    assert not verdict(schema, {"a": 2}, {"a": 1}).errors
    assert verdict(schema, {"a": 1}, {"a": 2}).errors


def test_a_rule_may_ask_whether_there_was_anything() -> None:
    schema = schema_of({"rule": "oldSelf.hasValue() || self.a == 0", "optionalOldSelf": True}, a=NUMBER)
    assert verdict(schema, {"a": 1}).errors
    assert not verdict(schema, {"a": 1}, {"a": 5}).errors


def test_what_is_as_it_was_is_only_warned_of() -> None:
    schema = schema_of({"rule": "self.a < 5", "message": "too much"}, a=NUMBER, b=NUMBER)
    kept = verdict(schema, {"a": 7}, {"a": 7}, ratcheting=True)
    assert (kept.errors, kept.warnings) == ([], ["spec: Invalid value: too much"])
    assert verdict(schema, {"a": 7, "b": 2}, {"a": 7, "b": 1}, ratcheting=True).errors


def test_items_are_judged_each_at_its_place() -> None:
    item = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 5", "message": "too much"}]}
    schema = parse_structural({"type": "object", "properties": {"spec": {"type": "array", "items": item}}})
    assert [str(error) for error in verdict(schema, [1, 9]).errors] == ["spec[1]: Invalid value: 9: too much"]


def test_rules_end_when_they_have_cost_too_much() -> None:
    inner = {"type": "array", "items": NUMBER}
    schema = schema_of({"rule": "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))"}, l=inner)
    (error,) = verdict(schema, {"l": list(range(200))}).errors
    assert "no further validation rules will be run due to call cost exceeds limit" in error.detail


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".a.b", "a.b", id="fields"),
        pytest.param("['a']['b']", "a.b", id="fields in brackets"),
        pytest.param(".m['x.y']", "m[x.y]", id="an entry of a map"),
    ],
)
def test_a_field_path_names_a_field_of_the_schema(path: str, expected: str) -> None:
    inner = {"type": "object", "properties": {"b": NUMBER}}
    mapped = {"type": "object", "additionalProperties": NUMBER}
    schema = parse_structural({"type": "object", "properties": {"a": inner, "m": mapped}})
    assert resolve_field_path(path, schema) == expected


@pytest.mark.parametrize("path", ["a", ".nosuch", ".a[0]", ".a.", ".a['b"])
def test_a_path_that_leads_nowhere_is_none(path: str) -> None:
    with pytest.raises(FieldPathError):
        resolve_field_path(
            path,
            parse_structural({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": NUMBER}}}}),
        )
