"""Sets written under another schema: parts of what has become a single value."""

import pytest

from mockkube.api.managed_fields.field_set import FieldSet
from mockkube.api.managed_fields.reconcile import reconcile_with_type


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"f:spec": {"f:selector": {".": {}, "f:a": {}}}}, {"f:spec": {"f:selector": {}}}, id="map"),
        pytest.param(
            {"f:spec": {"f:selector": {"f:a": {}}}}, {"f:spec": {"f:selector": {}}}, id="map not owned itself"
        ),
        pytest.param(
            {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:args": {'v:"x"': {}}, "f:image": {}}}}},
            {"f:spec": {"f:containers": {'k:{"name":"c"}': {"f:args": {}, "f:image": {}}}}},
            id="list inside an item",
        ),
    ],
)
def test_parts_of_a_single_value_become_the_value(thing, before, after):
    assert reconcile_with_type(FieldSet.from_fields_v1(before), thing).to_fields_v1() == after


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"f:spec": {"f:selector": {}, "f:replicas": {}}}, id="single values"),
        pytest.param({"f:data": {".": {}, "f:a": {}}, "f:unknown": {"f:x": {}}}, id="maps, and what the type has not"),
        pytest.param({"f:spec": {"f:any": {"f:x": {"f:y": {}}}}}, id="what has no schema"),
    ],
)
def test_what_fits_stays_the_same_set(thing, fields):
    made = FieldSet.from_fields_v1(fields)
    assert reconcile_with_type(made, thing) is made
