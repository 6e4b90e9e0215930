"""Evaluation of single tolerations and node selectors as one component would evaluate them.

The input is decoded, validated and matched by the code that serves objects. Results are plain JSON.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mockkube.api.decoding.codec import Codec, DecodingState
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import PREFERRED, REQUIRED, validate_affinity
from mockkube.api.kinds.core.pod.options import pod_validation_options
from mockkube.api.validation.node_selector import NodeSelectorOptions
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import gate_registry
from mockkube.matching import node_selectors, taints
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import CompiledToleration, Outcome, UnreadableValue
from mockkube.proposals import kep_5500
from mockkube.proposals.catalogue import all_proposals
from mockkube.proposals.component_extensions import (
    TOLERATION,
    make_schema,
    make_selector_operators,
    make_taint_rules,
    make_validation_extensions,
)
from mockkube.proposals.loading import trains_for

_NODE_AFFINITY: Final = "io.k8s.api.core.v1.NodeAffinity"


def evaluate_tolerations(
    tolerations: Iterable[ReadOnlyObject],
    node_taints: Iterable[ReadOnlyObject],
    caps: Capabilities,
) -> Object:
    """Validate a new pod's tolerations and match them with taints; raise DecodingError for a wrong type."""
    trains = trains_for(caps)
    schema = make_schema(caps.version, trains)
    codec, node = Codec(schema), schema.get_type(TOLERATION)
    decoded = [codec.decode(node, toleration, DecodingState()) for toleration in tolerations]
    errors = pod_validation_options(caps, make_validation_extensions(caps.version, trains)).validate_tolerations(
        decoded, "spec.tolerations"
    )
    # A cache of its own: a question must not count in the cache metrics of a component.
    compiled = taints.compile_tolerations(decoded, make_taint_rules(caps, ExpressionCache().compile_expression))
    return {
        "tolerations": decoded,
        "valid": not errors,
        "errors": [str(error) for error in errors],
        "taints": [_evaluate_taint(taint, compiled, caps) for taint in node_taints],
    }


def _evaluate_taint(taint: ReadOnlyObject, tolerations: Sequence[CompiledToleration], caps: Capabilities) -> Object:
    outcomes = [(toleration.source, toleration.check(taint)) for toleration in tolerations]
    reasons = [
        {"matches": outcome is True, "reason": explain_mismatch(source, taint, outcome, caps)}
        for source, outcome in outcomes
    ]
    return {"taint": taint, "tolerated": any(one["matches"] for one in reasons), "by": reasons}


def explain_near_misses(
    tolerations: Iterable[CompiledToleration], taint: ReadOnlyObject, caps: Capabilities
) -> list[dict[str, Any]]:
    """Explain why tolerations of a taint's key, or of any key, do not match the taint."""
    return [
        {"toleration": one.source, "reason": explain_mismatch(one.source, taint, one.check(taint), caps)}
        for one in tolerations
        if one.source.get("expression") or one.source.get("key", "") in ("", taint.get("key"))
    ]


def explain_mismatch(toleration: ReadOnlyObject, taint: ReadOnlyObject, outcome: Outcome, caps: Capabilities) -> str:
    """Return why a toleration does not match, unless the values show it."""
    if outcome is True:
        return ""
    if isinstance(outcome, UnreadableValue):
        return outcome.reason
    operator = toleration.get("operator", "")
    # The gate comes first: without it the operator or expression has no effect, whatever its value.
    gate = kep_5500.GATE if toleration.get("expression") else _find_gate(operator, caps)
    if gate and not caps.enabled(gate):
        known = gate in gate_registry(caps.version, trains_for(caps)).histories
        return f"{gate} is off" if known else f"{caps.version} does not know operator {operator}"
    if toleration.get("expression"):
        return "the expression is false"
    for name in ("effect", "key"):
        if toleration.get(name) and toleration[name] != taint.get(name):
            return f"another {name}"
    if operator not in ("", "Equal", "Exists") and not gate:
        return f"operator {operator} is unknown"
    return "the value does not pass"


def _find_gate(operator: str, caps: Capabilities) -> str:
    """Return the gate of an operator of tolerations; empty if it has none."""
    return next((one.gate for one in all_proposals(trains_for(caps)) if operator in one.tolerations), "")


def evaluate_selector(
    affinity: ReadOnlyObject,
    labels: Mapping[str, str],
    node_name: str,
    caps: Capabilities,
) -> Object:
    """Validate node affinity of a new pod and match it with a node; raise DecodingError for a wrong type."""
    trains = trains_for(caps)
    schema = make_schema(caps.version, trains)
    decoded = Codec(schema).decode(schema.get_type(_NODE_AFFINITY), affinity, DecodingState())
    extensions = make_validation_extensions(caps.version, trains)
    rules = NodeSelectorOptions(extensions=extensions, allowed=extensions.find_allowed_gates(caps, (), ()))
    operators = make_selector_operators(caps)
    required = node_selectors.compile_terms(decoded.get(REQUIRED, {}).get("nodeSelectorTerms") or (), operators)
    preferred = node_selectors.compile_preferred(decoded.get(PREFERRED, ()), operators)
    errors = validate_affinity({"nodeAffinity": decoded}, "spec.affinity", rules, allow_invalid_values=False)
    return {
        "valid": not errors,
        "errors": [str(error) for error in errors],
        "match": REQUIRED not in decoded or required.matches(labels, node_name),
        "score": preferred.score(labels, node_name),
        "unreadable": [*required.errors, *preferred.errors],
    }
