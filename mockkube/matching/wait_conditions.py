"""States of objects that clients wait for, as `kubectl wait` compares them."""

# upstream 1.36: kubectl/pkg/cmd/wait/condition.go, json.go
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.jsonpath import CompiledJsonPath, PathError


def has_condition(obj: ReadOnlyObject, name: str, status: str = "True") -> bool:
    """Return whether a condition has a status; one about an older generation of the object does not count."""
    generation = obj.get("metadata", {}).get("generation", 0)
    for condition in obj.get("status", {}).get("conditions") or ():
        if condition["type"].lower() == name.lower():
            observed = condition.get("observedGeneration") or obj["status"].get("observedGeneration") or generation
            return bool(observed >= generation and condition["status"].lower() == status.lower())
    return False


def has_value(obj: ReadOnlyObject, path: CompiledJsonPath, value: str | None = None) -> bool:
    """Return whether a path leads to one value, this one if it is given."""
    try:
        found = path.find(obj)
    except PathError:
        return False
    if value is None:
        return bool(found)
    return len(found) == 1 and format_value(found[0]) == value


def format_value(value: object) -> str:
    """Return a value of JSON as Go prints it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
