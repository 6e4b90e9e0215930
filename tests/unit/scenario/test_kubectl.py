"""kubectl's command lines, and what its apply sends."""

from typing import Any

import pytest

from mockkube.scenario.errors import StepFailed
from mockkube.scenario.kubectl.command_line import CommandLine, parse_command_line
from mockkube.scenario.kubectl.last_applied import LAST_APPLIED, make_patch, with_last_applied


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("get pods", CommandLine("get", ("pods",), {}), id="words"),
        pytest.param("kubectl get po", CommandLine("get", ("po",), {}), id="with its own name"),
        pytest.param(
            "get po -n x -o yaml",
            CommandLine("get", ("po",), {"--namespace": ("x",), "--output": ("yaml",)}),
            id="short flags",
        ),
        pytest.param("get po -ojson", CommandLine("get", ("po",), {"--output": ("json",)}), id="glued"),
        pytest.param("-n x get po", CommandLine("get", ("po",), {"--namespace": ("x",)}), id="flags before the verb"),
        pytest.param("delete po p --force", CommandLine("delete", ("po", "p"), {"--force": ("true",)}), id="a switch"),
        pytest.param("apply -f a -f b", CommandLine("apply", (), {"--filename": ("a", "b")}), id="several"),
        pytest.param(
            """patch po p -p '{"a": "b c"}'""",
            CommandLine("patch", ("po", "p"), {"--patch": ('{"a": "b c"}',)}),
            id="quotes",
        ),
        pytest.param(
            "scale deploy/a --replicas=2", CommandLine("scale", ("deploy/a",), {"--replicas": ("2",)}), id="equals"
        ),
        pytest.param(
            "taint node a k=v:NoSchedule k-",
            CommandLine("taint", ("node", "a", "k=v:NoSchedule", "k-"), {}),
            id="a taint to go",
        ),
    ],
)
def test_a_line_is_taken_apart(text: str, line: CommandLine) -> None:
    assert parse_command_line(text) == line


@pytest.mark.parametrize("text", ["", "kubectl", "get 'pods"])
def test_a_line_that_is_none_is_told(text: str) -> None:
    with pytest.raises(StepFailed, match="kubectl: "):
        parse_command_line(text)


def test_flags_that_are_not_built_in_are_told() -> None:
    with pytest.raises(StepFailed, match="--watch is not built in"):
        parse_command_line("get pods --watch true").check_flags("--selector")


def applied(**spec: Any) -> Any:
    return with_last_applied({"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": spec})


def test_what_is_there_already_is_not_sent() -> None:
    assert make_patch({"metadata": {"name": "x"}, "spec": {"a": 1}}, {**applied(a=1), "status": {}})["metadata"]
    whole = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": 1}}
    assert make_patch(whole, applied(a=1)) == {}


def test_what_was_applied_and_is_not_wanted_any_more_goes() -> None:
    wanted = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": 1}}
    present = applied(a=1, b={"c": 2})
    present["spec"]["mine"] = 3
    patch = make_patch(wanted, present)
    assert patch["spec"] == {"b": None}
    assert LAST_APPLIED in patch["metadata"]["annotations"]
