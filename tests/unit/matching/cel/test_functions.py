"""What holds for every declared function."""

import pytest
from mockkube_cel.declarations import Function

from mockkube.matching.cel.libraries import catalogue

FUNCTIONS = catalogue.load_functions(with_patches=True)
_PLANNED_APART = {
    "_?:_", "_?_:_", "_&&_", "_||_", "_==_", "_!=_", "_[_]", "_?._", "_[?_]", "or", "orValue",
}  # fmt: skip
"""The planner makes closures of their own for them."""


@pytest.mark.parametrize("function", [pytest.param(each, id=each.name) for each in FUNCTIONS.values()])
def test_it_has_an_implementation_for_each_overload(function: Function) -> None:
    ids = [overload.id for overload in function.overloads]
    assert len(ids) == len(set(ids))
    if function.name not in _PLANNED_APART:
        assert function.run is not None or all(overload.run is not None for overload in function.overloads)


def test_merging_keeps_the_order_of_the_libraries() -> None:
    names = [overload.id for overload in FUNCTIONS["isGreaterThan"].overloads]
    assert names == ["quantity_is_greater_than", "semver_is_greater_than"]
