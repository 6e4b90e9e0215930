"""Explain harm in a rollout by what the component that caused it does not support yet."""

from collections.abc import Mapping

from mockkube.explore.observation.operator_intent import Workload
from mockkube.explore.observation.reference import compute_capabilities
from mockkube.explore.plans.orders import ChangeMove, Moves
from mockkube.explore.plans.plan import ComponentSetting, Direction, RolloutPlan
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.proposals.component_extensions import make_taint_rules

_EFFECTS: Mapping[str, str] = {
    API_SERVER: "so it rejects new objects that use it",
    SCHEDULER: "so it rejects every node whose taint only this toleration covers",
    CONTROLLER_MANAGER: "so it evicts from nodes with the NoExecute taint, and creates no daemon pods for them",
    KUBELET: "so it rejects the pod at admission, also when it restarts",
}


def compute_settings(plan: RolloutPlan, moves: Moves) -> dict[str, ComponentSetting]:
    """Return the settings of each component after these moves."""
    settings = {change.component: change.before for change in plan.changes}
    for move in moves:
        if isinstance(move, ChangeMove):
            settings[move.component] = plan.find_change(move.component).setting_for(move.direction)
    return settings


def lacks_support(plan: RolloutPlan, component: str, setting: ComponentSetting, workload: Workload) -> bool:
    """Return whether a component does not support some toleration of a workload."""
    rules = make_taint_rules(compute_capabilities(plan, component, setting), ExpressionCache().compile_expression)
    for one in workload.tolerations:
        if one.get("expression") and rules.expressions is None:
            return True
        if one.get("operator", "Equal") not in ("", "Equal", "Exists", *rules.operators):
            return True
    return False


def explain_component(plan: RolloutPlan, component: str, setting: ComponentSetting, workload: Workload | None) -> str:
    """Return why a component harmed a workload; empty if it supports all that the workload uses."""
    if workload is None or component not in _EFFECTS or not lacks_support(plan, component, setting, workload):
        return ""
    change = next((one for one in plan.changes if one.component == component), None)
    lacks = f"without {change.setting_for(Direction.UP)}" if change is not None else "without what it would need"
    return f"{component} runs {lacks}: the toleration means nothing to it, {_EFFECTS[component]}."
