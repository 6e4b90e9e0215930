"""Evaluation that tells the event loop what it takes."""

from collections.abc import Mapping
from typing import Any

from mockkube_cel.program import Evaluation, Program

from mockkube.runtime.heavy_work import allowance, spend


def evaluate(program: Program, variables: Mapping[str, Any], cost_max: int) -> Evaluation:
    """Evaluate a program. One unit of cost takes a microsecond, about; what costs too much is done beside the loop."""
    left = allowance()
    if left is None or left >= cost_max:
        return program.evaluate(variables, cost_max)
    found = program.evaluate(variables, left)
    spend(max(found.cost, 1))
    return found
