"""Which of the objects in hand made a reader fail."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.client.bad_objects import find_suspects

JSON = dict[str, Any]


def pod(**spec: Any) -> JSON:
    metadata = {"name": "p", "namespace": "n"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [], **spec}}


def node(**spec: Any) -> JSON:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": spec}


def failure(act: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 (whatever a reader raises)
        act()
    return caught.value


def admit(pod: JSON, node: JSON) -> None:
    if pod["spec"].get("os", {}).get("name") or node["spec"].get("taints", [])[0]["key"]:
        raise ValueError("neither")


def names(given_pod: JSON, given_node: JSON) -> list[str]:
    error = failure(lambda: admit(given_pod, given_node))
    return [obj["kind"] for obj in find_suspects(error, lambda obj: obj is given_pod)]


def test_a_pod_of_wrong_types_is_to_blame_beside_a_sound_node() -> None:
    assert names(pod(os=[1]), node(taints=[{"key": "a"}])) == []


def test_a_node_of_wrong_types_is_to_blame_beside_a_sound_pod() -> None:
    assert names(pod(), node(taints="x")) == ["Node"]


def test_of_two_sound_objects_that_of_others_is_not_guessed_at() -> None:
    assert names(pod(), node(taints=[])) == []


def test_amounts_and_times_are_types_too() -> None:
    bad = node() | {"status": {"allocatable": {"cpu": "1e"}}}
    error = failure(lambda: admit(pod(), bad))
    assert find_suspects(error) == [bad]
