"""Match conditions: expressions that must be true before a policy or webhook is called."""

# upstream 1.36: apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go
from collections.abc import Sequence

from mockkube_cel.environment import Compiled

from mockkube.api.errors import aggregate_messages
from mockkube.apiserver.admission.policies.evaluation import (
    CONDITIONS_COST_MAX,
    Activation,
    CelBudgetExceeded,
    CostBudget,
    EvaluationError,
)


def conditions_match(conditions: Sequence[Compiled], activation: Activation, *, fail_closed: bool) -> bool:
    """Return whether no condition is false.

    If a condition cannot be evaluated, raise EvaluationError; without `fail_closed` the conditions are not met.
    """
    budget, errors = CostBudget(CONDITIONS_COST_MAX), []
    for condition in conditions:
        try:
            # A single false condition decides, even if others cannot be evaluated.
            if activation.evaluate(condition, budget) is False:
                return False
        except EvaluationError as error:
            errors.append(str(error))
        except CelBudgetExceeded as error:
            if fail_closed:
                raise EvaluationError(str(error)) from error
            return False
    if errors and fail_closed:
        raise EvaluationError(aggregate_messages(errors))
    return not errors
