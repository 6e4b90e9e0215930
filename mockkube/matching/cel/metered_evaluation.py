"""Evaluation of CEL programs within the event loop's allowance for heavy work."""

from collections.abc import Mapping
from typing import Any

from mockkube_cel.program import Evaluation, Program

from mockkube.runtime.heavy_work import remaining_budget, spend


def evaluate_metered(program: Program, variables: Mapping[str, Any], cost_max: int) -> Evaluation:
    """Evaluate a program and spend its cost from the allowance for work on the event loop."""
    # One unit of cost takes about a microsecond, the unit of the allowance. An evaluation that exceeds what is left is
    # repeated in a thread.
    left = remaining_budget()
    if left is None or left >= cost_max:
        return program.evaluate(variables, cost_max)
    evaluation = program.evaluate(variables, left)
    spend(max(evaluation.cost, 1))
    return evaluation
