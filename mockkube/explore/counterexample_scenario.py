"""Write a counterexample as a scenario file that passes exactly if the harm happens."""

import asyncio
from collections.abc import Mapping
from typing import Any

import yaml

from mockkube.explore.counterexample_checks import HarmChecks, make_checks
from mockkube.explore.exploration import Counterexample, Exploration
from mockkube.explore.path_runner import PathRunner, replay_path
from mockkube.explore.plans.invariants import INVARIANTS
from mockkube.explore.plans.orders import Moves
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.explore.search import InvariantBreak
from mockkube.features.trains import ReleaseTrain


def render_counterexamples(result: Exploration) -> Mapping[str, str]:
    """Return the scenario of each counterexample, by invariant."""
    return {one.invariant: render_counterexample(result.plan, one) for one in result.counterexamples}


def render_counterexample(plan: RolloutPlan, example: Counterexample, runner: PathRunner | None = None) -> str:
    """Return the scenario that makes the moves of a counterexample and then checks for the break.

    The moves are played once to record them, unless `runner` has done so.
    """
    played = runner or asyncio.run(replay_path(plan, example.moves))
    broken = _find_break(played, example.invariant)
    if broken.is_temporary:  # a scenario can only show what is so at its end
        played = asyncio.run(replay_path(plan, example.moves, example.invariant))
        broken = _find_break(played, example.invariant)
    shown = make_checks(plan, broken, played)
    return _render_scenario(plan, example.invariant, example.text, played, shown)


def _find_break(runner: PathRunner, invariant: str) -> InvariantBreak:
    return next(one for one in runner.records[-1].result.breaks if one.invariant == invariant)


def render_moves(plan: RolloutPlan, invariant: str, text: str, moves: Moves, shown: HarmChecks) -> str:
    """Return a scenario that makes other moves with the same checks; it fails where those are harmless."""
    return _render_scenario(plan, invariant, text, asyncio.run(replay_path(plan, moves)), shown)


def _render_scenario(plan: RolloutPlan, invariant: str, text: str, runner: PathRunner, shown: HarmChecks) -> str:
    recorder = runner.recorder
    steps = [
        *recorder.steps[: recorder.turned_at],
        *shown.before_down,
        *recorder.steps[recorder.turned_at :],
        *shown.at_end,
    ]
    cluster = {"version": str(plan.version), "nodes": len(plan.nodes), "skewPolicy": "ignore"}
    trains = {"releaseTrains": [_train_to_yaml(one) for one in plan.trains]} if plan.trains is not None else {}
    served = {key: text == "true" for key, text in plan.runtime_config.items()}
    file = {
        "apiVersion": "mockkube.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": f"{plan.name}-{invariant}"},
        "source": plan.source,
        "claim": INVARIANTS.get(invariant, invariant),
        "observed": text,
        "outcome": "false",
        "spec": {
            "cluster": {**cluster, **trains, **({"runtimeConfig": served} if served else {})},
            "seeds": [plan.seed],
            "settling": "when-told",
            "vars": recorder.manifests,
            "steps": steps,
        },
    }
    return str(yaml.dump(file, Dumper=_NoAliasDumper, sort_keys=False, width=110, allow_unicode=True))


class _NoAliasDumper(yaml.SafeDumper):
    """YAML dumper without anchors and aliases, which are hard to read."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: repeat values instead of referring to them."""
        return True


def _train_to_yaml(train: ReleaseTrain) -> dict[str, Any]:
    stages = [
        {"version": str(one.version), "maturity": str(one.maturity), "default": one.default, "locked": one.locked}
        for one in train.stages
    ]
    return {"gate": train.gate, "aliases": list(train.aliases), "stages": stages}
