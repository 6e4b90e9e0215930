"""Batch evaluation: a document of test rows, with every answer recomputed.

Only the inputs of a row are read. The lists of rows are `parse` and `compare` (semantic versions), `values`,
`validate` and `match` (tolerations), `match`, `selectors`, `score`, `validate` and `validate_preferred` (node
selectors), `expressions` and `optional_bindings` (CEL).
"""

from collections.abc import Callable
from typing import Any, Final

from mockkube_cel.environment import Compiled, Environment
from mockkube_cel.values import CelError

from mockkube.api.fields import OMITTED, FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import PREFERRED, REQUIRED, validate_affinity
from mockkube.api.kinds.core.pod.tolerations import validate_tolerations
from mockkube.api.validation.extensions import ValidationExtensions, reject_toleration_operator
from mockkube.api.validation.node_selector import NodeSelectorOptions, validate_node_selector
from mockkube.matching import node_selectors, semver, taints
from mockkube.matching.cel import tolerations
from mockkube.proposals import kep_5471

RowEvaluator = Callable[[ReadOnlyObject], Object]
_TOLERATIONS: Final = "spec.tolerations"
_REQUIRED: Final = f"spec.affinity.nodeAffinity.{REQUIRED}"
_SLA: Final = "node.example.com/sla"
_COMPARISON_EXTENSIONS: Final = ValidationExtensions(
    tolerations={
        name: operator.to_operator_rule(kep_5471.GATE, reject_toleration_operator)
        for name, operator in kep_5471.PROPOSAL.tolerations.items()
    }
)
_RULES_BY_GATE: Final = {
    "gate_on": taints.TaintRules(operators=kep_5471.COMPARISONS),
    "gate_off": taints.TaintRules(),
}


def evaluate_document(document: ReadOnlyObject) -> Object:
    """Return the document with all answers recomputed; unknown lists are copied."""
    return {name: _evaluate_rows(name, rows) for name, rows in document.items()}


def _evaluate_rows(name: str, rows: Any) -> Any:
    if not isinstance(rows, list):
        return rows
    return [{**row, **answer(row)} if (answer := _find_evaluator(name, row)) else row for row in rows]


def _find_evaluator(name: str, row: ReadOnlyObject) -> RowEvaluator | None:
    if name == "match":
        return _evaluate_toleration_match if "toleration" in row else _evaluate_requirement_match
    return _EVALUATORS.get(name)


def _try_parse(
    parse: Callable[[str], semver.SemanticVersion], text: str
) -> tuple[semver.SemanticVersion | None, str | None]:
    try:
        return parse(text), None
    except semver.SemverError as error:
        return None, str(error)


def _parse_result(parse: Callable[[str], semver.SemanticVersion], text: str) -> Object:
    _, error = _try_parse(parse, text)
    return {"ok": error is None, "error": error}


def _evaluate_parse(row: ReadOnlyObject) -> Object:
    version, error = _try_parse(semver.parse_tolerant, row["input"])
    return {
        "ok": version is not None,
        "error": error,
        "parsed": str(version) if version else None,
        "major": version.major if version else None,
        "minor": version.minor if version else None,
        "patch": version.patch if version else None,
        "pre": [str(part) for part in version.pre] if version else None,
        "build": list(version.build) if version else None,
        "strict": _parse_result(semver.parse, row["input"]),
        "cel_normalize": _parse_result(semver.parse_normalized, row["input"]),
    }


def _evaluate_compare(row: ReadOnlyObject) -> Object:
    first, first_error = _try_parse(semver.parse_tolerant, row["a"])
    second, second_error = _try_parse(semver.parse_tolerant, row["b"])
    order = first.compare(second) if first and second else None
    by_name = {"eq": 0, "gt": 1, "lt": -1}
    answer: Object = {name: None if order is None else order == wanted for name, wanted in by_name.items()}
    return {"cmp": order, **answer, "a_error": first_error, "b_error": second_error}


def _error_to_json(error: FieldError) -> Object:
    value = "" if error.value is OMITTED else error.value
    return {
        "type": str(error.type),
        "field": error.field,
        "value": value,
        "detail": error.detail,
        "text": str(error),
    }


def _evaluate_validation(tolerations: list[Object]) -> Object:
    return {
        gate: [
            _error_to_json(error)
            for error in validate_tolerations(
                tolerations, _TOLERATIONS, extensions=_COMPARISON_EXTENSIONS, allowed=allowed
            )
        ]
        for gate, allowed in (("gate_on", frozenset({kep_5471.GATE})), ("gate_off", frozenset[str]()))
    }


def _evaluate_toleration_value(row: ReadOnlyObject) -> Object:
    fields = {"key": _SLA, "operator": row["operator"], "value": row["value"], "effect": "NoSchedule"}
    return _evaluate_validation([fields])


def _evaluate_validate(row: ReadOnlyObject) -> Object:
    if "tolerations" in row:
        return _evaluate_validation(row["tolerations"])
    return {
        name: [
            _error_to_json(error)
            for error in validate_node_selector(row, _REQUIRED, NodeSelectorOptions(allow_invalid_values=lax))
        ]
        for name, lax in (("errors", False), ("errors_allow_invalid_values", True))
    }


def _evaluate_validate_preferred(row: ReadOnlyObject) -> Object:
    affinity = {"nodeAffinity": {PREFERRED: row["terms"]}}
    found = validate_affinity(affinity, "spec.affinity", NodeSelectorOptions(), allow_invalid_values=False)
    return {"errors": [_error_to_json(error) for error in found]}


def _evaluate_toleration_match(row: ReadOnlyObject) -> Object:
    return {
        gate: taints.compile_toleration(row["toleration"], rules).tolerates(row["taint"])
        for gate, rules in _RULES_BY_GATE.items()
    }


def _match_selector(terms: list[Object], row: ReadOnlyObject) -> tuple[bool, str | None, str | None]:
    selector = node_selectors.compile_terms(terms, {})
    matches = selector.matches(row["labels"], row["node_name"])
    strict_error = node_selectors.aggregate_errors(selector.errors) if selector.errors else None
    return matches, None if matches else strict_error, strict_error


def _evaluate_requirement_match(row: ReadOnlyObject) -> Object:
    matches, error, _ = _match_selector([{row["in"]: [row["requirement"]]}], row)
    return {"match": matches, "error": error}


def _evaluate_selector_match(row: ReadOnlyObject) -> Object:
    matches, error, strict_error = _match_selector(row["nodeSelectorTerms"], row)
    return {"match": matches, "error": error, "strict_error": strict_error}


def _evaluate_score(row: ReadOnlyObject) -> Object:
    selector = node_selectors.compile_preferred(row["terms"], {})
    if selector.errors:
        return {"score": None, "error": node_selectors.aggregate_errors(selector.errors)}
    return {"score": selector.score(row["labels"], row["node_name"]), "error": None}


_AT: Final = "spec.tolerations[0].expression"


def _make_expression_evaluator(environment: Environment) -> RowEvaluator:
    def answer(row: ReadOnlyObject) -> Object:
        compiled = environment.compile(row["expr"])
        errors = tolerations.validate_compiled(row["expr"], compiled, _AT)
        estimate = compiled.estimate
        return {
            "length": len(row["expr"].encode(errors="surrogatepass")),
            "compile": {"ok": compiled.error is None, "error": compiled.error},
            "type": str(compiled.type) if compiled.type else None,
            "estimated_cost": {"min": estimate.min, "max": estimate.max} if estimate else None,
            "admitted": not errors,
            "admission_errors": [str(error) for error in errors],
            "evals": [_evaluate_expression(compiled, each["taint"]) for each in row["evals"]]
            if compiled.program
            else [],
        }

    return answer


def _evaluate_expression(compiled: Compiled, taint: ReadOnlyObject) -> Object:
    evaluation = tolerations.evaluate(compiled, taint)
    backwards = tolerations.evaluate(compiled, taint, backwards=True)
    failed = isinstance(evaluation.value, CelError)
    return {
        "taint": taint,
        "result": None if failed else evaluation.value,
        "error": evaluation.value.message if failed else None,
        "actual_cost": evaluation.cost if evaluation.cost == backwards.cost else None,  # the order of maps is open
    }


_EVALUATORS: Final[dict[str, RowEvaluator]] = {
    "expressions": _make_expression_evaluator(tolerations.TAINT_ENVIRONMENT),
    "optional_bindings": _make_expression_evaluator(tolerations.TAINT_ENVIRONMENT_WITH_BINDINGS),
    "parse": _evaluate_parse,
    "compare": _evaluate_compare,
    "values": _evaluate_toleration_value,
    "validate": _evaluate_validate,
    "validate_preferred": _evaluate_validate_preferred,
    "selectors": _evaluate_selector_match,
    "score": _evaluate_score,
}
