"""Actions of a plan: steps of the scenario language, played on the cluster of a path."""

from typing import Final

from mockkube.api.errors import ApiError
from mockkube.explore.plans.plan import Action
from mockkube.scenario.errors import ScenarioError, StepFailed
from mockkube.scenario.fields import SourceLocation, read
from mockkube.scenario.runner.catalogue import STEPS
from mockkube.scenario.world import World

# Only steps: what checks would claim is expressed by invariants.
_VERBS: Final = {step.verb: step for step in STEPS}


def validate_action(action: Action, at: SourceLocation) -> None:
    """Raise ScenarioError, with the remedy, unless the action is a step that plans allow."""
    if len(action) != 1:
        raise at.error("not a step: give one verb with its arguments, like `restart: kubelet`")
    [(verb, arguments)] = action.items()
    if verb not in _VERBS:
        raise at.error(f"{verb!r} is no step of plans: known are {', '.join(_VERBS)}")
    read(_VERBS[verb], arguments, at.child(action, verb))


async def play_action(world: World, action: Action) -> str:
    """Play an action; return why it was rejected, or nothing. A rollout goes on after a rejection."""
    [(verb, arguments)] = action.items()
    place = SourceLocation("plan", bindings=world.context.bindings)
    try:
        await read(_VERBS[verb], arguments, place).play(world)
    except (StepFailed, ScenarioError, ApiError) as error:
        return f"{verb}: {error}"
    return ""
