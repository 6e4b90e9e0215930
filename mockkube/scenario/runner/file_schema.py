"""JSON schema of whole scenario files, with every step and check."""

import json
from typing import Any, Final

from mockkube.scenario.file_format import API_VERSION, KIND, ScenarioFile
from mockkube.scenario.json_schema import DIALECT, make_schema
from mockkube.scenario.runner.catalogue import VERBS
from mockkube.scenario.scenario import ClusterSetup

_NAMED: Final = {"name": {"type": "string"}, "description": {"type": "string"}}


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
    block = {"type": "object", "properties": {**_NAMED, **parts, "bindings": {"type": "array"}}, "required": ["try"]}
    definitions = {**make_definitions(), "block": block}
    return {"$schema": DIALECT, "title": "mockkube scenario", **schema, "$defs": definitions}


def make_definitions() -> dict[str, Any]:
    """Return the schemas of a cluster and of a step or check."""
    verbs = {verb: make_schema(step) for verb, step in VERBS.items()}
    operation = {
        "type": "object",
        "properties": {**_NAMED, **verbs},
        "additionalProperties": False,
        "oneOf": [{"required": [verb]} for verb in verbs],
    }
    return {"cluster": make_schema(ClusterSetup), "operation": operation}
