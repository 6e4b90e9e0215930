from mockkube.proposals import batch_evaluation


def test_answers_come_from_the_inputs_alone() -> None:
    wrong = {"a": "1.0.0", "b": "2.0.0", "cmp": 1, "lt": False}
    [answer] = batch_evaluation.evaluate_document({"compare": [wrong]})["compare"]
    assert answer == {
        "a": "1.0.0", "b": "2.0.0", "cmp": -1, "eq": False, "gt": False, "lt": True, "a_error": None, "b_error": None,
    }  # fmt: skip


def test_what_is_no_list_of_rows_stays() -> None:
    document = {"meta": {"kubernetes": "v1"}, "unheard-of": [{"x": 1}]}
    assert batch_evaluation.evaluate_document(document) == document


def test_an_expression_is_judged_and_evaluated() -> None:
    row = {"expr": "taint.key == 'a'", "evals": [{"taint": {"key": "a", "value": "", "effect": "NoSchedule"}}]}
    [answer] = batch_evaluation.evaluate_document({"expressions": [row]})["expressions"]
    assert answer["estimated_cost"] == {"min": 3, "max": 3}
    assert answer["admitted"] is True
    assert answer["evals"] == [{**row["evals"][0], "result": True, "error": None, "actual_cost": 3}]


def test_a_binding_is_only_known_where_it_is_asked_for() -> None:
    row = {"expr": "cel.bind(k, taint.key, k == 'a')", "evals": []}
    answers = batch_evaluation.evaluate_document({"expressions": [row], "optional_bindings": [row]})
    assert "undeclared reference to 'cel'" in answers["expressions"][0]["compile"]["error"]
    assert answers["optional_bindings"][0]["compile"] == {"ok": True, "error": None}


def test_tolerations_are_validated_with_and_without_the_gate() -> None:
    [answer] = batch_evaluation.evaluate_document({"values": [{"operator": "Gt", "value": "5"}]})["values"]
    assert answer["gate_on"] == []
    assert answer["gate_off"][0]["text"].startswith('spec.tolerations[0].operator: Unsupported value: "Gt"')
