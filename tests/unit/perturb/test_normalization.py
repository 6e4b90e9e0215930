"""States of two runs that did the same are equal."""

from typing import Any

import pytest

from mockkube.perturb.differences import compare_states, to_ignored_path
from mockkube.perturb.normalization import IgnoredPath, NamePattern, ObjectId, make_fingerprint, normalize

MAPS = "configmaps"


def config_map(name: str, uid: str, *, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "uid": uid, **metadata}, "data": data or {}}


def state(*objects: dict[str, Any], patterns: tuple[NamePattern, ...] = ()) -> Any:
    return normalize({ObjectId(MAPS, "ns", one["metadata"]["name"]): one for one in objects}, patterns)


def uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def differences(expected: Any, found: Any, *ignored: IgnoredPath) -> list[str]:
    return [str(one) for one in compare_states(expected, found, ignored)]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"uid": uid(9)}, id="uid"),
        pytest.param({"resourceVersion": "77"}, id="resource version"),
        pytest.param({"creationTimestamp": "2031-05-05T05:05:05Z"}, id="time of creation"),
        pytest.param({"generation": 4}, id="generation"),
        pytest.param({"managedFields": [{"manager": "x"}]}, id="managed fields"),
        pytest.param({"annotations": {"at": "2031-05-05T05:05:05.123+00:00"}}, id="time in a value"),
        pytest.param({"annotations": {"at": f"of {uid(77)}"}}, id="uid of something unknown"),
    ],
)
def test_what_differs_between_runs_does_not_count(changed: dict[str, Any]) -> None:
    usual = {"annotations": {"at": "2030-01-01T00:00:00Z"}} if "2031" in str(changed.get("annotations")) else {}
    usual = usual or ({"annotations": {"at": f"of {uid(5)}"}} if "annotations" in changed else {})
    one, other = config_map("a", uid(1), **usual), config_map("a", uid(1), **usual)
    other["metadata"] |= changed
    assert differences(state(one), state(other)) == []


def test_a_generated_name_with_that_of_its_owner_differs_with_it() -> None:
    def run(parent: str, number: int) -> Any:
        owned = {"generateName": f"{parent}-", "ownerReferences": [{"uid": uid(number), "controller": True}]}
        pattern = NamePattern(MAPS, "ns", "worker-")
        return state(config_map(parent, uid(number)), config_map(f"{parent}-abc", uid(9), **owned), patterns=(pattern,))

    assert sorted(one.name for one in run("worker-1f2e", 1)) == ["*-* of worker-*#1", "worker-*#1"]
    assert differences(run("worker-1f2e", 1), run("worker-77aa", 2)) == []


def test_the_time_of_the_last_trigger_does_not_count_even_if_it_is_absent() -> None:
    trigger = {"endpoints.kubernetes.io/last-change-trigger-time": "2030-01-01T00:00:00Z"}
    assert differences(state(config_map("a", uid(1), annotations=trigger)), state(config_map("a", uid(1)))) == []


def test_the_annotation_of_a_conflict_does_not_count_where_a_controller_has_copied_it() -> None:
    copied = config_map("a", uid(1), annotations={"mockkube.dev/touched": "true", "kept": "1"})
    assert differences(state(copied), state(config_map("a", uid(1), annotations={"kept": "1"}))) == []


def test_generated_names_are_compared_by_prefix_owner_and_number() -> None:
    def run(first: str, second: str, parent: int) -> Any:
        owned = {"generateName": "p-", "ownerReferences": [{"uid": uid(parent), "controller": True}]}
        return state(
            config_map("parent", uid(parent), data={"children": f"{first},{second}"}),
            config_map(first, uid(parent + 1), data={"n": "1"}, **owned),
            config_map(second, uid(parent + 2), data={"n": "2"}, **owned),
        )

    assert differences(run("p-abc", "p-xyz", 10), run("p-zzz", "p-aaa", 20)) == []
    assert sorted(one.name for one in run("p-abc", "p-xyz", 10)) == ["p-* of parent#1", "p-* of parent#2", "parent"]


def test_one_more_generated_object_is_left_over() -> None:
    one = config_map("p-a", uid(1), generateName="p-")
    assert differences(state(one), state(one, config_map("p-b", uid(2), generateName="p-"))) == [
        "configmaps ns/p-*#2 is left over"
    ]


def test_names_that_a_controller_generates_are_learnt_patterns() -> None:
    pattern = NamePattern(MAPS, "ns", "db-")
    one, other = (state(config_map(f"db-{name}", uid(1)), patterns=(pattern,)) for name in ("3f9a", "c001"))
    assert differences(one, other) == []


def test_differences_name_object_and_field() -> None:
    expected = state(config_map("a", uid(1), data={"x": "1", "y": "1"}), config_map("b", uid(2)))
    found = state(config_map("a", uid(1), data={"x": "2"}), config_map("c", uid(3)))
    assert differences(expected, found) == [
        'configmaps ns/a: data.x is "2", not "1"',
        'configmaps ns/a: data.y is absent, not "1"',
        "configmaps ns/b is missing",
        "configmaps ns/c is left over",
    ]


@pytest.mark.parametrize(
    ("ignored", "left"),
    [
        pytest.param(IgnoredPath(MAPS, "a", "data.x"), 0, id="the field"),
        pytest.param(IgnoredPath(MAPS, "*", "data"), 0, id="a field above it"),
        pytest.param(IgnoredPath("*", "*", "data.*"), 0, id="any of its siblings"),
        pytest.param(IgnoredPath(MAPS, "b", "data.x"), 1, id="another object"),
        pytest.param(IgnoredPath("secrets", "a", "data.x"), 1, id="another resource"),
        pytest.param(IgnoredPath(MAPS, "a", "data.xy"), 1, id="a longer name"),
    ],
)
def test_ignored_fields_are_not_compared(ignored: IgnoredPath, left: int) -> None:
    one, other = (state(config_map("a", uid(1), data={"x": x})) for x in "12")
    assert len(differences(one, other, ignored)) == left


def test_a_difference_between_undisturbed_runs_is_ignored_for_all_items_of_a_list() -> None:
    def run(*values: str) -> Any:
        return state({"kind": "X", "metadata": {"name": "a"}, "items": [{"v": value} for value in values]})

    (difference,) = compare_states(run("1", "2"), run("1", "3"))
    learnt = to_ignored_path(difference)
    assert str(learnt) == "configmaps/a: items[*].v"
    assert differences(run("1", "2"), run("4", "5"), learnt) == []


def test_only_content_makes_a_fingerprint() -> None:
    one = config_map("a", uid(1), resourceVersion="1", annotations={"at": "2030-01-01T00:00:00Z"})
    same = config_map("a", uid(1), resourceVersion="2", annotations={"at": "2030-01-01T00:00:07Z"})
    assert make_fingerprint(one) == make_fingerprint(same)
    assert make_fingerprint(one) != make_fingerprint(config_map("a", uid(1), data={"x": "1"}))


def test_the_order_of_conditions_does_not_count() -> None:
    def run(*types: str) -> Any:
        status = {"conditions": [{"type": one, "status": "True"} for one in types]}
        return state({"kind": "X", "metadata": {"name": "a"}, "status": status})

    assert differences(run("Ready", "Synced"), run("Synced", "Ready")) == []
