"""Explain harm in a rollout by what the component that caused it does not support yet."""

from collections.abc import Mapping

from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.proposals.lending import make_taint_rules
from mockkube.scenario.explore.intent import Workload
from mockkube.scenario.explore.orders import Changes, Moves
from mockkube.scenario.explore.plan import Phase, Plan, Setting
from mockkube.scenario.explore.reference import capabilities_of

_DOES: Mapping[str, str] = {
    API_SERVER: "so it rejects new objects that use it",
    SCHEDULER: "so it rejects every node whose taint only this toleration covers",
    CONTROLLER_MANAGER: "so it evicts from nodes with the NoExecute taint, and makes no daemon pods for them",
    KUBELET: "so it refuses the pod at admission, also when it restarts",
}


def settings_after(plan: Plan, moves: Moves) -> dict[str, Setting]:
    """Return the settings of each component after these moves."""
    told = {change.component: change.before for change in plan.changes}
    for move in moves:
        if isinstance(move, Changes):
            told[move.component] = plan.change_of(move.component).to(move.phase)
    return told


def ignorant(plan: Plan, component: str, setting: Setting, workload: Workload) -> bool:
    """Return whether a component does not support some toleration of a workload."""
    rules = make_taint_rules(capabilities_of(plan, component, setting), ExpressionCache().compile_expression)
    for one in workload.tolerations:
        if one.get("expression") and rules.expressions is None:
            return True
        if one.get("operator", "Equal") not in ("", "Equal", "Exists", *rules.operators):
            return True
    return False


def why(plan: Plan, component: str, setting: Setting, workload: Workload | None) -> str:
    """Return why a component harmed a workload; empty if it supports all that the workload uses."""
    if workload is None or component not in _DOES or not ignorant(plan, component, setting, workload):
        return ""
    change = next((one for one in plan.changes if one.component == component), None)
    lacks = f"without {change.to(Phase.UP)}" if change is not None else "without what it would need"
    return f"{component} runs {lacks}: the toleration means nothing to it, {_DOES[component]}."
