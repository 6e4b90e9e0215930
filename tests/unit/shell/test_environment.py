"""Which variables a container has."""

from typing import Any

from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.environment import build_environment, expand_references, expand_words

POD: dict[str, Any] = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"containers": []}}


def variables_of(env: list[dict[str, str]]) -> dict[str, str]:
    return build_environment(POD, {"name": "c", "env": env}, ContainerStart()).variables


def test_references_to_variables_are_replaced() -> None:
    found = variables_of([{"name": "A", "value": "a"}, {"name": "B", "value": "$(A)-$$(A)-$(C)"}])
    assert found["B"] == "a-$(A)-$(C)"


def test_variables_that_double_one_another_stay_as_short_as_linux_allows() -> None:
    env = [{"name": "E0", "value": "x" * 10}]
    env += [{"name": f"E{number + 1}", "value": f"$(E{number})$(E{number})"} for number in range(99)]
    found = variables_of(env)
    assert len(found["E10"]) == 10 * 1024
    assert max(map(len, found.values())) <= 128 * 1024
    assert found["E99"] == "$(E98)$(E98)" or len(found["E99"]) <= 128 * 1024


def test_many_long_variables_and_words_are_bounded_together() -> None:
    long = {"name": "L", "value": "x" * 100_000}
    found = variables_of([long, *({"name": f"E{number}", "value": "$(L)"} for number in range(1000))])
    assert sum(map(len, found.values())) < 3 * 1024 * 1024
    words = expand_words(["$(L)"] * 1000, {"L": "x" * 100_000})
    assert words[0] == "x" * 100_000
    assert words[-1] == "$(L)"
    assert sum(map(len, words)) < 3 * 1024 * 1024


def test_what_is_long_already_stays() -> None:
    assert expand_references("y" * 200_000 + "$(A)", {"A": ""}) == "y" * 200_000
    assert expand_references("y" * 200_000 + "$(A)", {"A": "aaaaa"}).endswith("$(A)")
