"""A counterexample as a scenario file: whoever doubts it can play it."""

from typing import Any

import yaml

from mockkube.scenario.explore.invariants import NO_HOT_LOOP
from mockkube.scenario.explore.orders import Again, Changes, Happens, Turns
from mockkube.scenario.explore.plan import Action, Plan, Setting, When
from mockkube.scenario.explore.verdict import Counterexample


def scenario_of(plan: Plan, example: Counterexample) -> str:
    """Return the scenario that makes the moves of a counterexample; its last steps show what breaks."""
    steps: list[Any] = [*_nodes(plan), *_plain(plan.setup)]
    pending = [dict(one) for one in plan.workload]
    for move in example.moves:
        match move:
            case Changes(phase, component):
                change = plan.change_of(component)
                steps.append({"component": _component(component, change.to(phase))})
                if move is example.moves[-1] and example.invariant == NO_HOT_LOOP:
                    steps.append({"advance": "1s"})  # it goes round many times a second
                    break
                steps += _time(plan, pending)
                for one in plan.disturbances:
                    if one.when is When.EVERY_STEP and phase in one.phases:
                        steps += _disturbed(plan, one.actions, pending)
            case Happens(_, name):
                actions = next(one.actions for one in plan.disturbances if one.name == name)
                steps += _disturbed(plan, actions, pending)
            case Turns(prepares):
                written = next((one for one in plan.orders if one.name == prepares), None)
                before = [one.actions for one in plan.disturbances if one.when is When.BEFORE_DOWN]
                for actions in [*before, *([written.prepare] if written else [])]:
                    steps += _disturbed(plan, actions, pending)
            case Again():
                raise AssertionError("counterexamples end before all change again")
    return yaml.safe_dump(_file(plan, example, steps), sort_keys=False, width=110, allow_unicode=True)


def _file(plan: Plan, example: Counterexample, steps: list[Any]) -> dict[str, Any]:
    before = {one.component: _told(one.before) for one in plan.changes if _told(one.before)}
    cluster = {"version": str(plan.version), "nodes": len(plan.nodes), "skewPolicy": "ignore"}
    return {
        "apiVersion": "mockkube.dev/v1alpha1",
        "kind": "Scenario",
        "source": plan.source,
        "claim": f"{example.invariant} holds",
        "observed": example.text,
        "holds": False,
        "metadata": {"name": f"{plan.name}-{example.invariant}"},
        "spec": {"cluster": {**cluster, **({"components": before} if before else {})}, "steps": steps},
    }


def _told(setting: Setting) -> dict[str, Any]:
    gates = {gate: on for gate, on in setting.gates.items() if on is not None}
    return {**({"version": setting.version} if setting.version else {}), **({"featureGates": gates} if gates else {})}


def _component(name: str, setting: Setting) -> dict[str, Any]:
    version = {"version": setting.version} if setting.version else {}
    return {"name": name, **version, **({"featureGates": dict(setting.gates)} if setting.gates else {})}


def _nodes(plan: Plan) -> list[Any]:
    steps: list[Any] = []
    for index, node in enumerate(plan.nodes, 1):
        spec = {"taints": [dict(one) for one in node.taints]}
        patch = {"metadata": {"labels": dict(node.labels)}, "spec": spec}
        steps.append({"patch": {"ref": f"Node/node-{index}", "type": "strategic", "patch": patch}})
    return steps


def _time(plan: Plan, pending: list[dict[str, Any]]) -> list[Any]:
    """Return the passing of a step's time: users try what was not accepted before, and may be refused."""
    tries = [{"apply": {"resource": one, "expect": [{"check": {}}]}} for one in pending]
    return [*tries, {"advance": f"{plan.seconds}s"}]


def _disturbed(plan: Plan, actions: tuple[Action, ...], pending: list[dict[str, Any]]) -> list[Any]:
    return [*_plain(actions), *_time(plan, pending)]


def _plain(actions: tuple[Action, ...]) -> list[Any]:
    return [_as_dict(one) for one in actions]


def _as_dict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_dict(item) for key, item in value.items()}
    return [_as_dict(item) for item in value] if isinstance(value, list) else value
