"""The entries of managedFields: read, written, ordered, kept few."""

import pytest

from mockkube.api.managed_fields.errors import ApplyConflict, FieldConflict, InvalidEntry
from mockkube.api.managed_fields.field_set import FieldSet
from mockkube.api.managed_fields.managers import (
    ManagedFields,
    ManagerId,
    VersionedSet,
    cap_update_entries,
    decode,
    encode,
)


def entry(manager, operation="Update", second=1, version="v1", **more):
    return {
        "manager": manager, "operation": operation, "apiVersion": version, "time": f"2026-01-01T00:00:{second:02}Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {f"f:{manager}": {}}}, **more,
    }  # fmt: skip


def test_what_is_written_reads_the_same_in_order():
    entries = [
        entry("b", "Apply", second=9),
        entry("z", second=1),
        entry("a", second=2),
        entry("b", second=2),
        entry("b", second=2, version="v2"),
        entry("b", second=2, version="v2", subresource="status"),
    ]
    assert encode(decode(reversed(entries))) == entries


def test_one_who_applies_is_the_same_in_every_version():
    assert list(decode([entry("a", "Apply", version="v1"), entry("a", "Apply", version="v2")]).sets) == [
        ManagerId.for_apply("a")
    ]


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        pytest.param({"operation": "Other"}, "operation must be `Apply` or `Update`", id="operation"),
        pytest.param({"apiVersion": ""}, "apiVersion must not be empty", id="version"),
        pytest.param({"fieldsType": ""}, "missing fieldsType in managed fields entry 0", id="no type"),
        pytest.param({"fieldsType": "V9"}, 'invalid fieldsType "V9" in managed fields entry 0', id="type"),
    ],
)
def test_an_entry_that_cannot_be_read_is_refused(bad, complaint):
    with pytest.raises(InvalidEntry) as caught:
        decode([entry("a") | bad])
    assert str(caught.value) == complaint


def test_a_nameless_manager_is_unknown_and_others_are_shown_with_what_tells_them_apart():
    assert ManagerId.for_update("", "v1").name == "unknown"
    assert str(ManagerId.for_apply("a")) == '"a"'
    assert str(ManagerId.for_apply("a", "scale")) == '"a" with subresource "scale"'
    assert str(ManagerId.for_update("a", "apps/v1", "status")) == '"a" with subresource "status" using apps/v1'


def test_the_oldest_updates_of_a_version_become_one_entry():
    entries = [entry("applier", "Apply")]
    entries += [entry(f"m{second:02}", second=second, version="v2" if second == 2 else "v1") for second in range(1, 13)]
    names = [(one["manager"], one["time"][-3:-1]) for one in encode(cap_update_entries(decode(entries)))]
    assert names == [
        ("applier", "01"), ("m02", "02"), ("ancient-changes", "04"), *((f"m{n:02}", f"{n:02}") for n in range(5, 13)),
    ]  # fmt: skip
    joined = next(
        share for who, share in cap_update_entries(decode(entries)).sets.items() if who.name == "ancient-changes"
    )
    assert joined.fields.to_fields_v1() == {"f:data": {"f:m01": {}, "f:m03": {}, "f:m04": {}}}


def test_few_updates_stay_apart():
    few = decode([entry(f"m{second}", second=second) for second in range(10)])
    assert cap_update_entries(few) is few


def test_an_entry_without_a_time_has_none():
    managed = ManagedFields(
        {ManagerId.for_apply("a"): VersionedSet(FieldSet.from_paths(("f:x",)), "v1", is_applied=True)}
    )
    assert "time" not in encode(managed)[0]


def test_conflicts_are_told_by_manager():
    one = ApplyConflict([FieldConflict('"m1"', ".data.a")])
    assert str(one) == 'Apply failed with 1 conflict: conflict with "m1": .data.a'
    assert one.causes() == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".data.a"}
    ]  # fmt: skip
    several = ApplyConflict(
        [FieldConflict('"m1"', ".a"), FieldConflict('"m2" using v1', ".c"), FieldConflict('"m1"', ".b")]
    )
    assert str(several) == (
        'Apply failed with 3 conflicts: conflicts with "m1":\n- .a\n- .b\nconflicts with "m2" using v1:\n- .c'
    )
