"""The managed fields of a workload, lent to its scale and brought back."""

from mockkube.api.managed_fields.scale import to_parent_entries, to_scale_entries

PATHS = {"apps/v1": ("f:spec", "f:replicas"), "apps/v1beta9": None}
REPLICAS = {"f:spec": {"f:replicas": {}}}


def entry(manager, fields, operation="Apply", version="apps/v1", **more):
    return {
        "manager": manager, "operation": operation, "apiVersion": version, "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": fields, **more,
    }  # fmt: skip


OWNER = entry("m1", {"f:spec": {"f:replicas": {}, "f:paused": {}}})
OTHER = entry("m2", {"f:spec": {"f:paused": {}}})


def test_only_who_manages_the_replicas_is_lent():
    assert to_scale_entries([OWNER, OTHER, entry("m3", REPLICAS, version="apps/v1beta9")], PATHS) == [
        entry("m1", REPLICAS, version="autoscaling/v1")
    ]


def test_who_keeps_the_replicas_keeps_all():
    assert to_parent_entries([OWNER, OTHER], to_scale_entries([OWNER, OTHER], PATHS), "apps/v1", PATHS) == [
        OWNER,
        OTHER,
    ]


def test_who_takes_the_replicas_gets_an_entry_without_a_time():
    thief = entry("hpa", REPLICAS, version="autoscaling/v1", subresource="scale")
    taken = entry("hpa", REPLICAS, subresource="scale")
    del taken["time"]
    assert to_parent_entries([OWNER, OTHER], [thief], "apps/v1", PATHS) == [
        taken, entry("m1", {"f:spec": {"f:paused": {}}}), OTHER,
    ]  # fmt: skip


def test_who_managed_nothing_else_is_gone_and_so_are_unknown_versions():
    unknown = entry("m4", {"f:spec": {"f:x": {}}}, version="apps/v0")
    without_scale = entry("m5", REPLICAS, version="apps/v1beta9")
    assert to_parent_entries([entry("m1", REPLICAS), unknown, without_scale], [], "apps/v1", PATHS) == [without_scale]


def test_what_the_scale_manages_beside_the_replicas_stays_behind():
    assert to_parent_entries([OTHER], [entry("m1", {"f:x": {}}, version="autoscaling/v1")], "apps/v1", PATHS) == [OTHER]
