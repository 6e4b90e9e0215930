"""Random JSON values: of the type a schema asks for, of another one, and changes of valid objects in between."""

import json
from copy import deepcopy
from random import Random
from typing import Any, Final

from mockkube.api.schema import Shape, TypeNode

Object = dict[str, Any]
DEPTH_MAX: Final = 7

TEXTS: Final = (
    "", "a", "A", "a.b", "a/b", "x" * 300, "x" * 70_000, "\x00", "\n", "é", "\U0001f4a9", "\u2028", "*",
    "*.example.com", "$(A)", "{{", "::1", "1.2.3.4", "10.0.0.0/8", "999.1.1.1", "fd00::/8", "https://x/y?z#f", "..",
    "../x", "0", "-1", "100%", "101%", "-5%", "1Gi", "-1Gi", "1e3", "0.5", "true", "null", "Always", "TCP", "In",
    "Exists", "NoExecute", "cpu", "requests.cpu", "default", "self.x", "has(object.x)", "1 +", "* * * * *",
    "@every 1s", "@every 9999999999h", "UTC", "ClusterIP", "None", "kubernetes.io/hostname", "1e999999999", "9" * 400,
    "2026-01-01T00:00:00Z", "YQ==", "system:masters", "Terminating", "f:metadata", "k:{\"name\":\"a\"}", "v:1", "i:0",
    ".", "v1", "apps/v1", "apps/v9", "a/b/c", "Pod", "sha256:x", "%s", "%!d(",
)  # fmt: skip
QUANTITIES: Final = (
    "0",
    "1",
    "-1",
    "1Gi",
    "1.5",
    "100m",
    "1e3",
    "1n",
    "1E",
    "1e100",
    "1e999999999",
    "1e-999999999",
    "0.0001",
    5,
    0.5,
)
NUMBERS: Final = (
    0, 1, -1, 2, 80, 65535, 65536, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 53) + 1, (1 << 63) - 1, 1 << 63, -(1 <<
    63), -(1 << 63) - 1, 1 << 64, 10**30, -(10**30), 0.5, -0.0, 1e300, 1.5e9, 1e18, 1e19,
)  # fmt: skip
TIMES: Final = (
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "0000-00-00T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "now",
    "",
)
BYTES: Final = ("", "YQ==", "YWI", "!", "YQ==\n", "é")
KEYS: Final = (
    "name", "metadata", "spec", "status", "labels", "a", "", "x" * 300, "kind", "apiVersion", "managedFields",
    "fieldsV1", "$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers",
    "template", "kubernetes.io/x", "\x00", "f:a", ".", "items", "key", "value", "finalizers", "ownerReferences",
    "creationTimestamp", "resourceVersion", "uid",
)  # fmt: skip
DIRECTIVES: Final = ("delete", "replace", "merge", "retainKeys", "other", 1, None, {})


def any_json(chance: Random, depth: int = 0) -> Any:
    """Return any JSON value, small."""
    match chance.randrange(9 if depth < 3 else 6):
        case 0:
            return None
        case 1:
            return chance.random() < 0.5
        case 2 | 3:
            return chance.choice(NUMBERS)
        case 4 | 5:
            return chance.choice(TEXTS)
        case 6:
            return [any_json(chance, depth + 1) for _ in range(chance.randrange(3))]
        case _:
            return {chance.choice(KEYS): any_json(chance, depth + 1) for _ in range(chance.randrange(3))}


def value_of(node: TypeNode, chance: Random, depth: int = 0) -> Any:
    """Return a value of a type: odd, but of the right form most of the time."""
    if chance.random() < 0.04:
        return any_json(chance)
    match node.shape:
        case Shape.STRUCT:
            names = [name for name in node.fields if name not in ("kind", "apiVersion")]
            few = chance.sample(names, min(len(names), chance.randrange(5))) if depth < DEPTH_MAX else ()
            return {name: value_of(node.fields[name].node, chance, depth + 1) for name in few}
        case Shape.LIST:
            assert node.item is not None
            return [value_of(node.item, chance, depth + 1) for _ in range(chance.randrange(3))]
        case Shape.MAP:
            assert node.item is not None
            keys = [chance.choice(TEXTS) for _ in range(chance.randrange(3))]
            return {key: value_of(node.item, chance, depth + 1) for key in keys}
        case Shape.STRING:
            return chance.choice(TEXTS)
        case Shape.BYTES:
            return chance.choice(BYTES)
        case Shape.BOOL:
            return chance.random() < 0.5
        case Shape.INT32 | Shape.INT64 | Shape.FLOAT:
            return chance.choice(NUMBERS)
        case Shape.QUANTITY:
            return chance.choice(QUANTITIES)
        case Shape.INT_OR_STRING:
            return chance.choice((*TEXTS, *NUMBERS))
        case Shape.TIME | Shape.MICRO_TIME:
            return chance.choice(TIMES)
        case _:
            return any_json(chance)


def merged(valid: Any, odd: Any) -> Any:
    """Return the valid value with what is odd added to it, and put in the place of scalars."""
    if isinstance(valid, dict) and isinstance(odd, dict):
        both = {name: merged(value, odd[name]) if name in odd else value for name, value in valid.items()}
        return {**both, **{name: value for name, value in odd.items() if name not in valid}}
    if isinstance(valid, list) and isinstance(odd, list) and valid and odd:
        return [merged(valid[0], odd[0]), *odd[1:]]
    return odd


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of everything inside a value."""
    found = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found.append((*at, key))
        found += places(item, (*at, key))
    return found


def changed(value: Any, chance: Random) -> Any:
    """Return a copy in which something at a random place is of another type, missing, renamed or repeated."""
    value = deepcopy(value)
    known = places(value)
    if not known:
        return any_json(chance)
    path = chance.choice(known)
    parent = value
    for step in path[:-1]:
        parent = parent[step]
    last = path[-1]
    match chance.randrange(6):
        case 0 | 1 | 2:
            parent[last] = any_json(chance)
        case 3:
            del parent[last]
        case 4 if isinstance(parent, dict):
            parent[chance.choice(KEYS)] = parent[last]
        case 4:
            parent.append(deepcopy(parent[last]))
        case _:
            parent[last] = [parent[last]] if chance.random() < 0.5 else {"a": parent[last]}
    return value


def json_pointer(path: tuple[Any, ...]) -> str:
    """Return a path as RFC 6901 writes it."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def json_patch(value: Any, chance: Random) -> Any:
    """Return operations on a value, or something that is none."""
    if chance.random() < 0.05:
        return any_json(chance)
    known = [*places(value), (), ("metadata", "labels", "new"), ("spec",), ("metadata", "-"), ("x", "y")]
    operations = []
    for _ in range(chance.randrange(1, 6)):
        operation: Object = {
            "op": chance.choice(("add", "remove", "replace", "test", "move", "copy")),
            "path": json_pointer(chance.choice(known))
            + chance.choice(("", "", "", "", "/-", "/0", "/99999999999", "~", "/")),
        }
        if chance.random() < 0.9:
            operation["value"] = any_json(chance)
        if operation["op"] in ("move", "copy"):
            operation["from"] = json_pointer(chance.choice(known))
        operations.append(operation if chance.random() < 0.95 else changed(operation, chance))
    return operations


def with_directives(value: Any, chance: Random) -> Any:
    """Return a strategic merge patch in which directives stand at random places."""
    value = deepcopy(value)
    if isinstance(value, dict):
        for key in list(value):
            if chance.random() < 0.3:
                value[key] = with_directives(value[key], chance)
            if chance.random() < 0.1:
                prefix = chance.choice(("$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys/"))
                value[f"{prefix}{key}"] = any_json(chance) if chance.random() < 0.5 else value[key]
        if chance.random() < 0.3:
            value[chance.choice(("$patch", "$retainKeys"))] = chance.choice((*DIRECTIVES, [*value]))
    elif isinstance(value, list):
        value = [with_directives(item, chance) for item in value]
        if chance.random() < 0.2:
            value.append({"$patch": chance.choice(DIRECTIVES)})
    return value


def text_of(value: Any, chance: Random) -> bytes:
    """Return a value as JSON; now and then damaged as text, or with what only text can hold."""
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5)
    match chance.randrange(40):
        case 0:
            text = text[: chance.randrange(len(text) + 1)]
        case 1:
            text = text.replace("1", chance.choice(("1e999", "1" * 5000, "01", "1.", "NaN", "0x1")), 1)
        case 2:
            text = text.replace("{", '{"metadata": 1, ' if chance.random() < 0.5 else '{"a": 1, "a": 2, ', 1)
        case 3:
            depth = chance.choice((50, 190, 250, 5000))
            text = text.replace("{", '{"deep": ' + "[" * depth + "]" * depth + ", ", 1)
    data = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.03 and data:
        at = chance.randrange(len(data))
        data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    return data
