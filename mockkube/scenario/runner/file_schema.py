"""JSON schema of whole scenario files, with every step and check."""

import json
from typing import Any

from mockkube.scenario.file_format import API_VERSION, KIND, ScenarioFile
from mockkube.scenario.json_schema import DIALECT, make_schema
from mockkube.scenario.runner.catalogue import VERBS
from mockkube.scenario.scenario import ClusterSetup


def render_schema() -> str:
    """Return the schema as JSON."""
    return json.dumps(make_file_schema(), indent=1)


def make_file_schema() -> dict[str, Any]:
    """Return the schema of a scenario file."""
    schema = make_schema(ScenarioFile)
    properties = schema["properties"]
    properties["apiVersion"], properties["kind"] = {"const": API_VERSION}, {"const": KIND}
    spec = properties["spec"]["properties"]
    steps = {"type": "array", "items": {"$ref": "#/$defs/operation"}}
    spec["cluster"] = {"$ref": "#/$defs/cluster"}
    spec["steps"]["items"] = {"anyOf": [{"$ref": "#/$defs/operation"}, {"$ref": "#/$defs/block"}]}
    spec["catch"]["items"] = {"$ref": "#/$defs/operation"}
    parts = {"try": steps, "catch": steps, "finally": steps, "cleanup": steps}
    named = {"name": {"type": "string"}, "description": {"type": "string"}}
    block = {"type": "object", "properties": {**named, **parts, "bindings": {"type": "array"}}, "required": ["try"]}
    verbs = {verb: make_schema(step) for verb, step in VERBS.items()}
    operation = {
        "type": "object",
        "properties": {**named, **verbs},
        "additionalProperties": False,
        "oneOf": [{"required": [verb]} for verb in verbs],
    }
    definitions = {"cluster": make_schema(ClusterSetup), "operation": operation, "block": block}
    return {"$schema": DIALECT, "title": "mockkube scenario", **schema, "$defs": definitions}
