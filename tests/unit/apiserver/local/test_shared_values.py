"""Values that decoded objects share."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from mockkube.apiserver.local.shared_values import OBJECTS_MIN, VALUES_MAX, SharedValues

values = st.recursive(
    st.none() | st.booleans() | st.sampled_from([0, 1, 1.0, 2**40, "", "a", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "1"]), inner, max_size=3),
)
objects = st.dictionaries(st.sampled_from(["spec", "status", "a"]), values, max_size=3)


def decode(obj: object) -> Any:
    """Return an object of which no part is another's."""
    return orjson.loads(orjson.dumps(obj))


@given(st.lists(objects, max_size=8))
def test_objects_stay_as_they_are_written(written: list[dict[str, Any]]) -> None:
    shared, decoded = SharedValues(), decode(written)
    for obj in decoded:
        shared.share_within(obj, current=10)
    assert orjson.dumps(decoded) == orjson.dumps(written)


def test_equal_parts_are_one() -> None:
    shared = SharedValues()
    spec = {"tolerations": [{"key": "node.kubernetes.io/not-ready", "seconds": 300}], "args": ["x y"]}
    first, second, third = decode([{"spec": spec}, {"spec": spec}, {"spec": {**spec, "nodeName": "a b"}}])
    for obj in (first, second, third):
        shared.share_within(obj, current=10)
    assert first["spec"] is second["spec"]
    assert first["spec"] is not third["spec"]
    assert first["spec"]["tolerations"] is third["spec"]["tolerations"]
    assert first["spec"]["args"] is third["spec"]["args"]


def test_no_more_than_so_many_values_are_known() -> None:
    shared = SharedValues()
    first, *between, last = decode(
        [{"a": {"b": "c d"}}, *({"a": f"v {n}"} for n in range(VALUES_MAX)), {"a": {"b": "c d"}}]
    )
    for obj in (first, *between, last):
        shared.share_within(obj, current=VALUES_MAX)
    assert first == last
    assert first["a"] is not last["a"]


def test_values_of_objects_that_came_and_went_are_forgotten() -> None:
    shared = SharedValues()
    for obj in decode([{"a": f"v {number}"} for number in range(10 * OBJECTS_MIN)]):
        shared.share_within(obj, current=0)
    assert 0 < len(shared) <= OBJECTS_MIN


def test_values_of_objects_that_stay_are_known() -> None:
    shared = SharedValues()
    objects = decode([{"a": f"v {number}"} for number in range(10 * OBJECTS_MIN)])
    for number, obj in enumerate(objects):
        shared.share_within(obj, current=number)
    assert len(shared) == len(objects)
