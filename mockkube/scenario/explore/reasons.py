"""Why something happened in a rollout: what the component that did it was told, and could not know."""

from collections.abc import Mapping

from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.proposals.lending import taint_rules
from mockkube.scenario.explore.intent import Workload
from mockkube.scenario.explore.orders import Changes, Moves
from mockkube.scenario.explore.plan import Phase, Plan, Setting
from mockkube.scenario.explore.reference import capabilities_of

_DOES: Mapping[str, str] = {
    API_SERVER: "so it refuses new objects that use it",
    SCHEDULER: "so every node whose taint only this covers is out of the question",
    CONTROLLER_MANAGER: "so it evicts from nodes with the NoExecute taint, and makes no daemon pods for them",
    KUBELET: "so it refuses the pod at admission, also when it restarts",
}


def settings_after(plan: Plan, moves: Moves) -> dict[str, Setting]:
    """Return what each component is told once the moves are made."""
    told = {change.component: change.before for change in plan.changes}
    for move in moves:
        if isinstance(move, Changes):
            told[move.component] = plan.change_of(move.component).to(move.phase)
    return told


def ignorant(plan: Plan, component: str, setting: Setting, workload: Workload) -> bool:
    """Whether a component makes nothing of some toleration of a workload."""
    rules = taint_rules(capabilities_of(plan, component, setting), ExpressionCache().expression)
    for one in workload.tolerations:
        if one.get("expression") and rules.expressions is None:
            return True
        if one.get("operator", "Equal") not in ("", "Equal", "Exists", *rules.operators):
            return True
    return False


def why(plan: Plan, component: str, setting: Setting, workload: Workload | None) -> str:
    """Return why a component did harm to a workload; empty if it knows all that it needs."""
    if workload is None or component not in _DOES or not ignorant(plan, component, setting, workload):
        return ""
    change = next((one for one in plan.changes if one.component == component), None)
    lacks = f"without {change.to(Phase.UP)}" if change is not None else "without what it would need"
    return f"{component} runs {lacks}: the toleration means nothing to it, {_DOES[component]}."
