"""Match conditions: expressions that a request must meet before a policy or a webhook is asked."""

# upstream 1.36: apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go
from collections.abc import Sequence

from mockkube_cel.environment import Compiled

from mockkube.api.errors import aggregate
from mockkube.apiserver.admission.policies.evaluation import (
    CONDITIONS_COST_MAX,
    Activation,
    Budget,
    Failed,
    OutOfBudget,
)


def met(conditions: Sequence[Compiled], found: Activation, *, fails: bool) -> bool:
    """Whether no condition is false; when one has no value, Failed, or without `fails` the conditions are not met."""
    budget, errors = Budget(CONDITIONS_COST_MAX), []
    for condition in conditions:
        try:
            if found.evaluate(condition, budget) is False:
                return False
        except Failed as error:
            errors.append(str(error))
        except OutOfBudget as error:
            if fails:
                raise Failed(str(error)) from error
            return False
    if errors and fails:
        raise Failed(aggregate(errors))
    return not errors
