"""kubectl's command lines, and what its apply sends."""

from typing import Any

import pytest

from mockkube.scenario.errors import Failure
from mockkube.scenario.kubectl.applying import LAST_APPLIED, patch_of, remembered
from mockkube.scenario.kubectl.line import Line, parse


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("get pods", Line("get", ("pods",), {}), id="words"),
        pytest.param("kubectl get po", Line("get", ("po",), {}), id="with its own name"),
        pytest.param(
            "get po -n x -o yaml",
            Line("get", ("po",), {"--namespace": ("x",), "--output": ("yaml",)}),
            id="short flags",
        ),
        pytest.param("get po -ojson", Line("get", ("po",), {"--output": ("json",)}), id="glued"),
        pytest.param("-n x get po", Line("get", ("po",), {"--namespace": ("x",)}), id="flags before the verb"),
        pytest.param("delete po p --force", Line("delete", ("po", "p"), {"--force": ("true",)}), id="a switch"),
        pytest.param("apply -f a -f b", Line("apply", (), {"--filename": ("a", "b")}), id="several"),
        pytest.param(
            """patch po p -p '{"a": "b c"}'""", Line("patch", ("po", "p"), {"--patch": ('{"a": "b c"}',)}), id="quotes"
        ),
        pytest.param("scale deploy/a --replicas=2", Line("scale", ("deploy/a",), {"--replicas": ("2",)}), id="equals"),
        pytest.param(
            "taint node a k=v:NoSchedule k-",
            Line("taint", ("node", "a", "k=v:NoSchedule", "k-"), {}),
            id="a taint to go",
        ),
    ],
)
def test_a_line_is_taken_apart(text: str, line: Line) -> None:
    assert parse(text) == line


@pytest.mark.parametrize("text", ["", "kubectl", "get 'pods"])
def test_a_line_that_is_none_is_told(text: str) -> None:
    with pytest.raises(Failure, match="kubectl: "):
        parse(text)


def test_flags_that_are_not_built_in_are_told() -> None:
    with pytest.raises(Failure, match="--watch is not built in"):
        parse("get pods --watch true").known("--selector")


def applied(**spec: Any) -> Any:
    return remembered({"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": spec})


def test_what_is_there_already_is_not_sent() -> None:
    assert patch_of({"metadata": {"name": "x"}, "spec": {"a": 1}}, {**applied(a=1), "status": {}})["metadata"]
    whole = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": 1}}
    assert patch_of(whole, applied(a=1)) == {}


def test_what_was_applied_and_is_not_wanted_any_more_goes() -> None:
    wanted = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": 1}}
    present = applied(a=1, b={"c": 2})
    present["spec"]["mine"] = 3
    patch = patch_of(wanted, present)
    assert patch["spec"] == {"b": None}
    assert LAST_APPLIED in patch["metadata"]["annotations"]
