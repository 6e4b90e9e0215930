"""JSON schema of perturb.yaml, with every step and check."""

import json
from typing import Any

from mockkube.perturb.planning.catalogue import KINDS
from mockkube.perturb.workload_file import KIND, WorkloadFile
from mockkube.scenario.file_format import API_VERSION
from mockkube.scenario.json_schema import DIALECT, make_schema
from mockkube.scenario.runner.file_schema import make_definitions

_OPERATIONS = ("setup", "steps", "invariants")


def render_schema() -> str:
    """Return the schema as JSON."""
    return json.dumps(make_workload_schema(), indent=1)


def make_workload_schema() -> dict[str, Any]:
    """Return the schema of a workload file."""
    schema = make_schema(WorkloadFile)
    properties = schema["properties"]
    properties["apiVersion"], properties["kind"] = {"const": API_VERSION}, {"const": KIND}
    spec = properties["spec"]["properties"]
    spec["cluster"] = {**spec["cluster"], "$ref": "#/$defs/cluster"}
    del spec["cluster"]["anyOf"]
    for name in _OPERATIONS:
        spec[name]["items"] = {"$ref": "#/$defs/operation"}
    spec["never"]["items"] = {"type": "object"}
    spec["perturbations"]["items"] = {"enum": list(KINDS)}
    return {"$schema": DIALECT, "title": "mockkube perturb workload", **schema, "$defs": make_definitions()}
