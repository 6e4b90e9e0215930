"""Searches for requests that hold the loop: hypothesis draws kinds, fields, sizes and verbs, led by the stall."""

import argparse
import asyncio
import json
from collections.abc import Iterator
from typing import Any, Final

import hypothesis
from hypothesis import HealthCheck, Phase, strategies
from play import Case, Measured, Player, player

from mockkube.api.schema import Shape, TypeNode
from mockkube.features.versions import DEFAULT

from odd_requests import Target, targets  # isort: skip - the path to it is set by `play`

SHOWN_MAX: Final = 40
SHOWN_SECONDS_MIN: Final = 0.05
DEPTH_MAX: Final = 7
SIZES: Final = (20_000, 150_000, 600_000, 1_300_000, 2_900_000)
TEXTS: Final = (
    "a", "a.", "a-", "-", "(", "[a", "a/", "%", "{", "$(", "*,", "1,", "a=b,", "1", "9", ".", "\n", "\\", "é",
    "0.0.0.0/", "a:", "::", "x || ", "1 + ", "(a*)*", "YQ==", "a b ",
)  # fmt: skip
VERBS: Final = (
    "create",
    "create as YAML",
    "update",
    "merge",
    "strategic",
    "apply",
    "apply twice",
    "json patch",
    "dry run",
)
LEAVES: Final[dict[Shape, Any]] = {
    Shape.BYTES: "YQ==", Shape.BOOL: True, Shape.INT32: 1, Shape.INT64: 1, Shape.FLOAT: 0.5, Shape.QUANTITY: "1",
    Shape.INT_OR_STRING: 1, Shape.TIME: "2026-01-01T00:00:00Z", Shape.MICRO_TIME: "2026-01-01T00:00:00.000000Z",
    Shape.ANY: {"a": "b"},
}  # fmt: skip


def places(node: TypeNode, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], TypeNode]]:
    """Yield where a type has something that can be long."""
    if len(at) > DEPTH_MAX:
        return
    if node.shape in (Shape.LIST, Shape.MAP, Shape.STRING, Shape.BYTES, Shape.ANY, Shape.QUANTITY):
        yield at, node
    if node.shape is Shape.STRUCT:
        for name, field in node.fields.items():
            if name not in ("kind", "apiVersion", "managedFields", "namespace") and name not in at:
                yield from places(field.node, (*at, name))
    elif node.shape is Shape.LIST and node.item is not None and at:
        yield from places(node.item, (*at, "0"))


def value(node: TypeNode, fullness: int, number: str, depth: int = 0) -> Any:
    """Return a value of a type; the fuller, the deeper. `number` makes names differ."""
    match node.shape:
        case Shape.STRUCT:
            fields = list(node.fields.items()) if depth <= fullness else []
            if depth == 0 and fullness == 0:
                fields = [pair for pair in fields if pair[0] in ("name", "key", "type", "port", "containerPort", "ip")]
            return {name: value(field.node, fullness, number, depth + 1) for name, field in fields}
        case Shape.LIST:
            assert node.item is not None
            return [value(node.item, fullness, number, depth + 1)]
        case Shape.MAP:
            assert node.item is not None
            return {f"k{number}": value(node.item, fullness, number, depth + 1)}
        case Shape.STRING:
            return f"a{number}"
        case _:
            return LEAVES[node.shape]


@strategies.composite
def requests(draw: Any, every: list[Target]) -> Case:
    """Draw a case."""
    target = draw(strategies.sampled_from(every))
    at, node = draw(strategies.sampled_from([*places(target.node)]))
    size = draw(strategies.sampled_from(SIZES))
    long = long_value(draw, node, size)
    verb = draw(strategies.sampled_from(VERBS))
    path = ".".join(at)
    return {
        "name": f"{verb} {target.api_version} {target.kind.kind} {path}",
        **steps(target, verb, at, {"$kind": f"{target.api_version} {target.kind.kind}", "with": {path: long}}, long),
    }


def long_value(draw: Any, node: TypeNode, size: int) -> Any:
    """Draw something long for a place."""
    if node.shape in (Shape.LIST, Shape.MAP):
        assert node.item is not None
        number = draw(strategies.sampled_from(("{i}", "")))
        item = value(node.item, draw(strategies.integers(0, 2)), number)
        count = max(1, size // (len(json.dumps(item)) + 6))
        return (
            {"$list": count, "of": item}
            if node.shape is Shape.LIST
            else {"$map": count, "key": draw(strategies.sampled_from(("k{i}", "a.io/k{i}"))), "of": item}
        )
    if node.shape is Shape.ANY and draw(strategies.booleans()):
        count = size // 12
        return draw(
            strategies.sampled_from(
                (
                    {"$map": count, "key": "k{i}", "of": {}},
                    {"a": {"$list": count, "of": {"a": "{i}"}}},
                    {"$nested": min(count, 900), "key": "a", "of": {}},
                )
            )
        )
    text = draw(strategies.sampled_from(TEXTS))
    return {"$text": text, "times": size // len(text), "before": draw(strategies.sampled_from(("", "1", "a")))}


def steps(target: Target, verb: str, at: tuple[str, ...], body: Any, long: Any) -> Case:
    """Return the requests of a case."""
    collection = target.path("{namespace}")
    least = {"$kind": body["$kind"]}
    name = "x"
    before = [{"path": collection, "body": least}]
    one = f"{collection}/{name}"
    match verb:
        case "create":
            return {"steps": [{"path": collection, "body": body}]}
        case "create as YAML":
            return {"steps": [{"path": collection, "body": body, "media": "application/yaml"}]}
        case "dry run":
            return {"steps": [{"path": f"{collection}?dryRun=All&fieldValidation=Strict", "body": body}]}
        case "update":
            return {"before": before, "steps": [{"method": "PUT", "path": one, "body": body}]}
        case "json patch":
            patch = [{"op": "add", "path": "/" + "/".join(at), "value": long}]
            media = "application/json-patch+json"
            return {"before": before, "steps": [{"method": "PATCH", "path": one, "body": patch, "media": media}]}
        case "merge" | "strategic":
            media = f"application/{verb}-patch+json" if verb == "merge" else "application/strategic-merge-patch+json"
            return {"before": before, "steps": [{"method": "PATCH", "path": one, "body": body, "media": media}]}
        case _:
            step = {"method": "PATCH", "path": f"{one}?fieldManager=a&force=true", "body": body}
            step |= {"media": "application/apply-patch+yaml", "times": 2 if verb == "apply twice" else 1}
            return {"steps": [step]}


def search(runner: asyncio.Runner, given: argparse.Namespace, ratio_max: float) -> int:
    """Try so many cases; print the worst of them; return 1 if one stalls as long as no case may."""
    found: dict[str, tuple[float, Case, Measured]] = {}
    runner.get_loop()
    playing = player(components=given.components, where=given.where)
    sender: Player = runner.run(playing.__aenter__())
    normal = runner.run(sender.normal_seconds())
    print(f"a normal request holds the loop for {normal * 1000:.2f} ms in all", flush=True)

    @hypothesis.seed(given.seed)
    @hypothesis.settings(
        max_examples=given.search,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(requests(targets(DEFAULT)))
    def attempt(case: Case) -> None:
        measured = runner.run(sender.play(case))
        seconds = measured.stall_seconds
        hypothesis.target(seconds)
        if measured.faults:
            print(f"FOUND {case['name']}: {measured.faults[0][:500]}\n{json.dumps(case)[:3000]}", flush=True)
        known = found.get(case["name"])
        if seconds >= SHOWN_SECONDS_MIN and (known is None or known[0] < seconds):
            found[case["name"]] = (seconds, case, measured)
            where = f"turn {measured.turn_seconds * 1000:.0f} ms {measured.where}"
            statuses = sorted(set(measured.statuses))
            text = json.dumps(case)[:700]
            print(f"{seconds * 1000:.0f} ms {measured.peak_mib:.0f} MiB {statuses} {text} {where}", flush=True)

    attempt()
    runner.run(playing.__aexit__(None, None, None))
    worst = sorted(found.values(), key=lambda one: -one[0])[:SHOWN_MAX]
    print("the worst, as lines for corpus.jsonl:")
    for seconds, case, measured in worst:
        print(f"# {seconds * 1000:.0f} ms, {seconds / normal:.0f} x, {measured.peak_mib:.0f} MiB {measured.statuses}")
        print(json.dumps(case))
    return 1 if worst and worst[0][0] / normal > ratio_max else 0
