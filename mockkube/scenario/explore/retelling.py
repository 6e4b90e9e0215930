"""Write a counterexample as a scenario file that passes exactly if the harm happens."""

import asyncio
from typing import Any

import yaml

from mockkube.features.trains import ReleaseTrain
from mockkube.scenario.explore.invariants import INVARIANTS
from mockkube.scenario.explore.orders import Moves
from mockkube.scenario.explore.plan import Plan
from mockkube.scenario.explore.proofs import Proof, proof
from mockkube.scenario.explore.search import Break
from mockkube.scenario.explore.stepping import Journey, story
from mockkube.scenario.explore.verdict import Counterexample


def scenario_of(plan: Plan, example: Counterexample, journey: Journey | None = None) -> str:
    """Return the scenario that makes the moves of a counterexample and then checks for the break.

    The moves are played once to record them, unless `journey` has done so.
    """
    played = journey or asyncio.run(story(plan, example.moves))
    broken = _broken(played, example.invariant)
    if broken.passing:  # a scenario can only show what is so at its end
        played = asyncio.run(story(plan, example.moves, example.invariant))
        broken = _broken(played, example.invariant)
    shown = proof(plan, broken, played)
    return _written(plan, example.invariant, example.text, played, shown)


def _broken(journey: Journey, invariant: str) -> Break:
    return next(one for one in journey.told[-1].taken.breaks if one.invariant == invariant)


def retold(plan: Plan, invariant: str, text: str, moves: Moves, shown: Proof) -> str:
    """Return a scenario that makes other moves with the same checks; it fails where those are harmless."""
    return _written(plan, invariant, text, asyncio.run(story(plan, moves)), shown)


def _written(plan: Plan, invariant: str, text: str, journey: Journey, shown: Proof) -> str:
    script = journey.script
    steps = [
        *script.steps[: script.turned_at],
        *shown.at_turning,
        *script.steps[script.turned_at :],
        *shown.at_end,
    ]
    cluster = {"version": str(plan.version), "nodes": len(plan.nodes), "skewPolicy": "ignore"}
    trains = {"releaseTrains": [_train(one) for one in plan.trains]} if plan.trains is not None else {}
    file = {
        "apiVersion": "mockkube.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": f"{plan.name}-{invariant}"},
        "source": plan.source,
        "claim": INVARIANTS.get(invariant, invariant),
        "observed": text,
        "outcome": "false",
        "spec": {
            "cluster": {**cluster, **trains},
            "seeds": [plan.seed],
            "settling": "when-told",
            "vars": script.manifests,
            "steps": steps,
        },
    }
    return str(yaml.dump(file, Dumper=_Plain, sort_keys=False, width=110, allow_unicode=True))


class _Plain(yaml.SafeDumper):
    """YAML dumper without anchors and aliases, which are hard to read."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: repeat values instead of referring to them."""
        return True


def _train(train: ReleaseTrain) -> dict[str, Any]:
    stages = [
        {"version": str(one.version), "maturity": str(one.maturity), "default": one.default, "locked": one.locked}
        for one in train.stages
    ]
    return {"gate": train.gate, "aliases": list(train.aliases), "stages": stages}
