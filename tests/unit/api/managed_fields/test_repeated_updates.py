"""Updates computed from stored entries, or from earlier updates, give what computing them in full gives."""

import copy
import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.managed_fields import repeated_updates
from mockkube.api.managed_fields import updater as updaters
from mockkube.api.managed_fields.managers import encode
from mockkube.api.managed_fields.merge_updater import MergeUpdater
from mockkube.api.managed_fields.repeated_updates import repeat_update
from mockkube.api.managed_fields.reset_fields import get_field_filter
from mockkube.api.managed_fields.types import Type
from mockkube.api.managed_fields.updater import ManagedFieldsUpdater, WriteInfo

EMPTY = {"apiVersion": "v1", "kind": "Thing", "metadata": {}, "spec": {}}
LABELS = st.dictionaries(st.sampled_from(("a", "b")), st.sampled_from(("1", "2")), max_size=2)
CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(("c", "d"))}, optional={"image": st.sampled_from(("i", "j"))}),
    max_size=2,
    unique_by=lambda one: one["name"],
)
SPECS = st.fixed_dictionaries(
    {}, optional={"replicas": st.integers(0, 2), "selector": LABELS, "containers": CONTAINERS, "any": LABELS}
)
WRITES = st.tuples(
    st.sampled_from(("kubelet", "kubectl")),
    st.sampled_from(("", "status")),
    LABELS,
    SPECS,
    st.sampled_from(("keep", "drop", "set")),
)


class NoVersions:
    """Converter of a kind with one version."""

    def convert(self, typed, version):
        return typed if typed.version == version else None


def make_updater(kind, subresource=""):
    merger = MergeUpdater(NoVersions(), get_field_filter("example.com", "Thing", subresource))
    return ManagedFieldsUpdater("Thing", "v1", kind, EMPTY, merger, subresource)


def update_in_full(updater, live, new, write):
    """The update without the entries that were computed before."""
    if new == live:
        return dict(new)
    old, now = updaters._strip_managed_fields(live), updaters._strip_managed_fields(new)
    managed = updater._initial_entries(live, new, reset=False)
    return updaters._set_entries(now, encode(updater._update_if_managed(old, now, managed, write)))


@given(st.lists(WRITES, min_size=1, max_size=8))
def test_any_updates_give_the_entries_of_full_ones(thing, writes):
    trackers = {name: make_updater(thing, name) for name in ("", "status")}
    live = None
    for second, (manager, subresource, labels, spec, entries) in enumerate(writes):
        tracker, write = trackers[subresource], WriteInfo(manager, f"2026-01-01T00:00:{second % 3:02}Z")
        new = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", "uid": "1", "labels": labels}}
        new["spec"], new["status"] = spec, spec
        before = EMPTY if live is None else live
        if entries == "keep" and "managedFields" in before["metadata"]:
            new["metadata"]["managedFields"] = before["metadata"]["managedFields"]
        elif entries == "set":
            fields = {"f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}, "f:replicas": {}}}
            entry = {"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
            new["metadata"]["managedFields"] = [{**entry, "fieldsV1": fields}]
        given_objects = copy.deepcopy((before, new))
        expected = update_in_full(tracker, before, new, write)
        # Twice: computed, and as it was computed before.
        assert tracker.update(before, new, write) == expected
        live = tracker.update(before, new, write)
        assert live == expected
        assert (before, new) == given_objects
        # The order of members counts, too: it shows in the bytes that are stored.
        assert list(map(list, live["metadata"].get("managedFields", []))) == list(
            map(list, expected["metadata"].get("managedFields", []))
        )


def entry(manager="m", fields=None, **changes):
    whole = {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "1", "fieldsType": "FieldsV1"}
    return {**whole, "fieldsV1": {"f:spec": {"f:replicas": {}}} if fields is None else fields, **changes}


REPLICAS = ("f:spec", "f:replicas")
ME = ("m", "v1", "")


def test_a_repeated_update_changes_the_time_of_its_manager_alone(thing):
    other = entry("n", {"f:spec": {"f:paused": {}}}, time="5")
    repeated = repeat_update([entry(), other], ME, [REPLICAS], thing, "9")
    assert repeated == [other, entry(time="9")]


@pytest.mark.parametrize(
    ("entries", "paths"),
    [
        pytest.param([entry()], [("f:spec", "f:paused")], id="a field that the manager has not"),
        pytest.param([entry(), entry("n")], [REPLICAS], id="a field that another has, too"),
        pytest.param([entry("n")], [REPLICAS], id="another manager"),
        pytest.param([entry(operation="Apply")], [REPLICAS], id="an applier of this name"),
        pytest.param([entry(subresource="status")], [REPLICAS], id="another subresource"),
        pytest.param([entry(), entry("n", {"f:x": {}}, apiVersion="v2")], [REPLICAS], id="another version"),
        pytest.param([entry(), entry("n", {})], [REPLICAS], id="an empty entry, which is dropped"),
        pytest.param([entry(), entry("n", {"f:x": {"wrong": {}}})], [REPLICAS], id="fields that are none"),
        pytest.param([entry(fields={"f:spec": {"f:selector": {"f:a": {}}, "f:replicas": {}}})], [REPLICAS],
                     id="fields below a value that is atomic now"),
        pytest.param([entry(fields={"f:spec": {"f:replicas": {}, "f:paused": {}}})], [REPLICAS], id="unsorted fields"),
        pytest.param([entry(), entry("n", {"f:x": {}}), entry("n", {"f:y": {}})], [REPLICAS], id="a manager twice"),
    ],
)  # fmt: skip
def test_any_other_update_is_computed(thing, entries, paths):
    assert repeat_update(entries, ME, paths, thing, "9") is None


def owned(*uids):
    owners = {f'k:{{"uid":"{uid}"}}': {".": {}, "f:image": {}} for uid in uids}
    return entry(fields={"f:spec": {"f:containers": {".": {}, **owners}, "f:replicas": {}}})


def test_what_is_known_of_fields_does_not_grow_with_owners(thing):
    before = len(repeated_updates._SETTLED)
    for number in range(100):
        one = owned(f"{number:08}-aaaa")
        assert repeat_update([one], ME, [REPLICAS], thing, "9") == [{**one, "time": "9"}]
    assert len(repeated_updates._SETTLED) <= before + 1


def test_the_order_of_several_owners_counts(thing):
    assert repeat_update([owned("a", "b")], ME, [REPLICAS], thing, "9") is not None
    assert repeat_update([owned("b", "a")], ME, [REPLICAS], thing, "9") is None


def test_the_type_of_a_kind_that_is_gone_is_not_kept(thing):
    kind = Type(thing.map, thing.scalar, thing.list)
    gone = weakref.ref(kind)
    assert repeat_update([entry()], ME, [REPLICAS], kind, "9") is not None
    del kind
    gc.collect()
    assert gone() is None
