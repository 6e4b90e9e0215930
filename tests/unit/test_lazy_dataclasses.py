"""Lazy dataclasses behave as those of the standard decorator, compiled or not: each test runs with all."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from mockkube.lazy_dataclasses import dataclass

T = TypeVar("T")
Decorator = Callable[..., Any]


@pytest.fixture(params=["standard", "lazy", "compiled"])
def decorate(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Decorator:
    if request.param == "compiled":  # with the first instance
        monkeypatch.setattr("mockkube.lazy_dataclasses._UNCOMPILED_MAX", 0)
    return dataclasses.dataclass if request.param == "standard" else dataclass


@dataclass(frozen=True, slots=True)
class Pickled:
    name: str
    labels: dict[str, str] = field(default_factory=dict)


@pytest.fixture(params=[{}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}], ids=str)
def options(request: pytest.FixtureRequest) -> dict[str, bool]:
    return request.param


@pytest.fixture
def container(decorate: Decorator, options: dict[str, bool]) -> type[Any]:
    @decorate(**options)
    class Container:
        """A container."""

        kind: ClassVar[str] = "Container"
        name: str
        image: str = "pause"
        ports: list[int] = field(default_factory=list)
        note: str = field(default="", kw_only=True, compare=False)
        secret: str = field(default="hidden", init=False, repr=False)

    return Container


def test_fields_get_their_arguments_and_defaults(container: type[Any]) -> None:
    plain, given = container("a"), container("b", "nginx", [80], note="n")
    assert (plain.name, plain.image, plain.ports, plain.note, plain.secret) == ("a", "pause", [], "", "hidden")
    assert (given.name, given.image, given.ports, given.note) == ("b", "nginx", [80], "n")
    assert container("a").ports is not plain.ports
    assert container.kind == "Container"


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        pytest.param((), {}, r"missing 1 required positional argument: 'name'", id="missing"),
        pytest.param(("a",), {"x": 1}, r"got an unexpected keyword argument 'x'", id="unknown"),
        pytest.param(("a",), {"name": "b"}, r"got multiple values for argument 'name'", id="twice"),
        pytest.param(("a", "b", [], "n"), {}, r"takes from 2 to 4 positional arguments but 5 were given", id="many"),
    ],
)
def test_wrong_arguments_are_refused(
    container: type[Any], arguments: tuple[Any, ...], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=rf"Container\.__init__\(\) {message}"):
        container(*arguments, **keywords)


def test_equal_are_instances_of_one_class_with_equal_fields(container: type[Any], decorate: Decorator) -> None:
    @decorate
    class Other:
        name: str

    assert container("a", note="x") == container("a", note="y")
    assert container("a") != container("b")
    assert container("a") != Other("a")
    assert container("a") != "a"


def test_only_frozen_instances_have_a_hash(decorate: Decorator) -> None:
    @decorate(frozen=True, slots=True)
    class Key:
        namespace: str
        name: str
        uid: str = field(default="", hash=False)

    @decorate
    class Mutable:
        name: str

    assert {Key("a", "b"): 1}[Key("a", "b")] == 1
    assert hash(Key("a", "b", "c")) == hash(Key("a", "b"))
    assert Mutable.__hash__ is None


def test_without_eq_instances_are_compared_by_identity(decorate: Decorator) -> None:
    @decorate(frozen=True, eq=False)
    class Node:
        name: str

    assert Node("a") != Node("a")
    assert len({Node("a"), Node("a")}) == 2


def test_methods_of_the_class_stay(decorate: Decorator) -> None:
    @decorate(frozen=True, slots=True)
    class Name:
        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Name) and other.text.lower() == self.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

        def __repr__(self) -> str:
            return self.text

    assert {Name("A"), Name("a")} == {Name("A")}
    assert repr(Name("A")) == "A"


def test_own_eq_alone_gets_the_hash_of_the_fields(decorate: Decorator) -> None:
    @decorate(frozen=True)
    class Name:
        text: str

        def __eq__(self, other: object) -> bool:
            return True

    assert hash(Name("a")) == hash(("a",))


def test_repr_shows_the_fields(container: type[Any], decorate: Decorator) -> None:
    expected = "Container(name='a', image='pause', ports=[], note='')"
    assert repr(container("a")).rpartition(".")[2] == expected

    @decorate
    class Tree:
        children: list[Any]

    tree = Tree([])
    tree.children.append(tree)
    assert repr(tree).endswith("Tree(children=[...])")


def test_frozen_instances_cannot_change(decorate: Decorator) -> None:
    @decorate(frozen=True)
    class Pod:
        name: str

    class Subclass(Pod):
        pass

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        Pod("a").name = "b"
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        Pod("a").x = "b"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del Pod("a").name
    child = Subclass("a")
    with pytest.raises(FrozenInstanceError):
        child.name = "b"
    child.extra = 1
    assert child.extra == 1
    del child.extra


def test_post_init_runs_after_the_fields_are_set(decorate: Decorator) -> None:
    @decorate(slots=True)
    class Range:
        first: int
        last: int = field(init=False)

        def __post_init__(self) -> None:
            self.last = self.first + 1

    assert Range(1).last == 2


def test_standard_functions_work_on_it(container: type[Any]) -> None:
    one = container("a", ports=[1])
    assert [field.name for field in dataclasses.fields(container)] == ["name", "image", "ports", "note", "secret"]
    assert dataclasses.is_dataclass(container)
    assert dataclasses.asdict(one)["ports"] == [1]
    assert copy.copy(one) == copy.deepcopy(one) == one
    assert container.__match_args__ == ("name", "image", "ports")
    assert dataclasses.replace(one, image="x").image == "x"


def test_pickle_restores_frozen_instances_with_slots() -> None:
    assert pickle.loads(pickle.dumps(Pickled("a", {"b": "c"}))) == Pickled("a", {"b": "c"})


@pytest.mark.parametrize("sub", [dataclasses.dataclass, dataclass], ids=["standard", "lazy"])
def test_dataclasses_inherit_from_it(decorate: Decorator, sub: Decorator) -> None:
    @decorate(frozen=True, slots=True)
    class Step:
        at: int

    @sub(frozen=True, slots=True)
    class Cordon(Step):
        node: str = ""

    assert (Cordon(1, "n").at, Cordon(1, "n").node) == (1, "n")
    assert Cordon(1, "n") != Step(1)
    with pytest.raises(FrozenInstanceError):
        Cordon(1).at = 2
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):

        @sub
        class Mutable(Step):
            name: str = ""


def test_generic_classes_are_made_through_an_alias(decorate: Decorator) -> None:
    @decorate(slots=True)
    class Box(Generic[T]):
        value: T

    assert Box[int](1) == Box(1)


def test_methods_are_compiled_when_they_are_called_often() -> None:
    @dataclass
    class Pod:
        name: str

    lazily = Pod.__init__
    pods = [Pod(str(number)) for number in range(30)]
    assert [pod.name for pod in pods] == [str(number) for number in range(30)]
    assert Pod.__init__ is lazily
    pod = Pod("a")
    assert pod.name == "a"
    assert Pod.__init__ is not lazily
    assert str(inspect.signature(Pod)) == "(name)"
    assert Pod.__init__.__qualname__.endswith("Pod.__init__")
    lazily(pod, "b")  # held by a thread that looked it up before
    assert pod.name == "b"
