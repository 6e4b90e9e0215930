"""Match conditions: expressions that must be true before a policy or webhook is called."""

# upstream 1.36: apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go
from collections.abc import Sequence

from mockkube_cel.environment import Compiled

from mockkube.api.errors import aggregate_messages
from mockkube.apiserver.admission.policies.evaluation import (
    CONDITIONS_COST_MAX,
    Activation,
    Budget,
    Failed,
    OutOfBudget,
)


def met(conditions: Sequence[Compiled], found: Activation, *, fails: bool) -> bool:
    """Return whether no condition is false.

    If a condition cannot be evaluated, raise EvaluationError; without `fail_closed` the conditions are not met.
    """
    budget, errors = Budget(CONDITIONS_COST_MAX), []
    for condition in conditions:
        try:
            # A single false condition decides, even if others cannot be evaluated.
            if found.evaluate(condition, budget) is False:
                return False
        except Failed as error:
            errors.append(str(error))
        except OutOfBudget as error:
            if fails:
                raise Failed(str(error)) from error
            return False
    if errors and fails:
        raise Failed(aggregate_messages(errors))
    return not errors
