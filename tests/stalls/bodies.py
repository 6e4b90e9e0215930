"""Bodies of requests from a few parameters: what would be megabytes in a file is a line.

A template is JSON in which these objects stand for what they make; `{i}` in what is repeated is the number of the copy:

* `{"$list": 3, "of": X}`: a list of three X; `{"$map": 3, "key": "k{i}", "of": X}`: an object with three fields
* `{"$text": "ab", "times": 3, "before": "<", "after": ">", "between": ","}`: a text
* `{"$nested": 3, "key": "a", "of": X}`: X in three objects, one in the other; without a key in three lists
* `{"$kind": "apps/v1 Deployment", "with": {"spec.replicas": X}}`: the least valid object of a kind, with fields
* `{"$parts": [X, Y]}`: lists put together; `{"$join": [X, Y]}`: texts put together
"""

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

_MINIMAL = Path(__file__).parents[1] / "contract" / "api" / "minimal.json"


def expand(template: Any) -> Any:
    """Return what a template stands for."""
    if isinstance(template, list):
        return [expand(item) for item in template]
    if not isinstance(template, dict):
        return template
    if "$list" in template:
        return [expand(item) for item in _copies(template["of"], template["$list"], template.get("as", "i"))]
    if "$map" in template:
        number, count = template.get("as", "i"), template["$map"]
        keys = _copies(template["key"], count, number)
        return dict(zip(keys, map(expand, _copies(template["of"], count, number)), strict=True))
    if "$text" in template:
        pieces = _copies(expand(template["$text"]), template["times"], template.get("as", "i"))
        return template.get("before", "") + template.get("between", "").join(pieces) + template.get("after", "")
    if "$nested" in template:
        return _nested(expand(template.get("of")), template["$nested"], template.get("key"))
    if "$kind" in template:
        return _object(template["$kind"], template.get("with", {}))
    if "$join" in template:
        return "".join(map(expand, template["$join"]))
    if "$parts" in template:
        return [item for part in template["$parts"] for item in expand(part)]
    return {key: expand(value) for key, value in template.items()}


def encode(template: Any) -> bytes:
    """Return the body that a template stands for: a text as it is, anything else as JSON."""
    value = expand(template)
    return value.encode() if isinstance(value, str) else json.dumps(value, separators=(",", ":")).encode()


def _copies(template: Any, count: int, name: str) -> list[Any]:
    text, number = json.dumps(template), f"{{{name}}}"
    if number not in text:
        return [template] * count
    return [json.loads(text.replace(number, str(i))) for i in range(count)]


def _nested(inner: Any, depth: int, key: str | None) -> Any:
    for _ in range(depth):
        inner = [inner] if key is None else {key: inner}
    return inner


@cache
def _minimal() -> dict[str, Any]:
    return dict(json.loads(_MINIMAL.read_text().replace("{namespace}", "default")))


def _object(kind: str, fields: dict[str, Any]) -> Any:
    api_version, _, name = kind.partition(" ")
    group = api_version.rpartition("/")[0] or "core"
    obj = deepcopy(_minimal().get(f"{group}/{name}", {}))
    obj = {"apiVersion": api_version, "kind": name, **obj}
    obj["metadata"] = {"name": "x", **obj.get("metadata", {})}
    obj["metadata"].pop("namespace", None)
    for path, value in fields.items():
        put(obj, path.split("."), expand(value))
    return obj


def put(obj: Any, path: list[str], value: Any) -> None:
    """Put a value at a path, making what leads there; `0` is the first item of a list, `~1` a dot in a name."""
    for step, following in zip(path, [*path[1:], ""], strict=True):
        at: Any = int(step) if step.isdigit() else step.replace("~1", ".")
        if following == "":
            _set(obj, at, value)
            return
        inner = obj[at] if (at < len(obj) if isinstance(obj, list) else at in obj) else None
        if not isinstance(inner, dict | list):
            inner = [] if following.isdigit() else {}
            _set(obj, at, inner)
        obj = inner


def _set(obj: Any, at: Any, value: Any) -> None:
    if isinstance(obj, list) and at >= len(obj):
        obj.append(value)
    else:
        obj[at] = value
