"""Rollout plan of a gate: generated from its workload, the components that read it, and the registry of gates."""

from collections.abc import Iterator
from typing import Any, Final

import yaml

from mockkube.atlas.gate_cluster import TOUCHED
from mockkube.atlas.gate_readers import COMPONENTS
from mockkube.atlas.gate_trial import GateTrial
from mockkube.explore.plans.loading import parse
from mockkube.explore.plans.plan import RolloutPlan
from mockkube.features.components import API_SERVER

_WIDTH: Final = 120


def make_plan(trial: GateTrial) -> RolloutPlan:
    """Return the plan that flips the gate on each component that reads it."""
    return parse(render_plan(trial), f"{trial.gate}.yaml")


def render_plan(trial: GateTrial) -> str:
    """Return the plan as YAML, for `mockkube explore`."""
    return yaml.safe_dump(_make_document(trial), sort_keys=False, width=_WIDTH)


def _make_document(trial: GateTrial) -> dict[str, Any]:
    workload = trial.workload
    spec: dict[str, Any] = {
        "version": str(trial.version),
        "change": {
            name: {"from": {"gates": dict(trial.gates_of(name, ()))}, "gates": dict(trial.gates_of(name, {name}))}
            for name in trial.components
        },
        "nodes": [
            {"labels": dict(node.labels), "taints": [dict(one) for one in node.taints]} for node in workload.nodes
        ],
        "workload": [dict(one) for one in workload.workload],
        "seconds": workload.seconds,
    }
    if workload.runtime_config:
        spec["runtimeConfig"] = dict(workload.runtime_config)
    if setup := [*_set_other_components(trial), *(dict(one) for one in workload.setup)]:
        spec["setup"] = setup
    if disturbances := list(_make_disturbances(trial)):
        spec["disturbances"] = disturbances
    if API_SERVER in trial.components:
        # Before, the API server refuses or drops what they ask for, as it does without the gate.
        spec["workloadAfter"] = API_SERVER
    return {
        "apiVersion": "mockkube.dev/v1alpha1",
        "kind": "RolloutPlan",
        "metadata": {"name": trial.gate.lower(), "title": f"{trial.gate}: {workload.feature}"},
        "spec": spec,
    }


def _set_other_components(trial: GateTrial) -> Iterator[dict[str, Any]]:
    for name in COMPONENTS if trial.base else ():
        if name not in trial.components:
            yield {"component": {"name": name, "featureGates": dict(trial.base)}}


def _make_disturbances(trial: GateTrial) -> Iterator[dict[str, Any]]:
    if trial.workload.actions:
        yield {"name": "users use the feature", "do": [dict(one) for one in trial.workload.actions]}
    if trial.workload.workload:
        # An update of another field shows whether a stored field is kept, and whether the object is still valid.
        steps = [_touch(manifest) for manifest in trial.workload.workload if manifest["metadata"].get("name")]
        yield {"name": "users annotate their objects", "phases": ["down"], "do": steps}


def _touch(manifest: Any) -> dict[str, Any]:
    metadata = manifest["metadata"]
    ref = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "name": metadata["name"]}
    if "namespace" in metadata:
        ref["namespace"] = metadata["namespace"]
    return {"patch": {"ref": ref, "patch": {"metadata": {"annotations": {TOUCHED: "true"}}}}}
