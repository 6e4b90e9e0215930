"""What writes do to managedFields, told as stories of several managers."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.managed_fields.errors import ApplyConflict, InvalidApply, InvalidEntry, TypeMismatch
from mockkube.api.managed_fields.last_applied import LAST_APPLIED_ANNOTATION
from mockkube.api.managed_fields.merge_updater import MergeUpdater, TypedValue
from mockkube.api.managed_fields.reset_fields import ALL_FIELDS, get_field_filter
from mockkube.api.managed_fields.updater import ManagedFieldsUpdater, WriteInfo, keep_timestamps

EMPTY = {"apiVersion": "v1", "kind": "Thing", "metadata": {}, "spec": {}}


def solid(value):
    """The value without what is empty or null."""
    if isinstance(value, dict):
        kept = {key: solid(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in (None, {}, [])}
    return [solid(one) for one in value] if isinstance(value, list) else value


class Versions:
    """v2 calls the data of v1 labels, and there is no v3."""

    def convert(self, typed, version):
        if version not in ("v1", "v2"):
            return None
        value = dict(typed.value)
        metadata = dict(value.get("metadata", {}))
        if version == "v2" and "data" in value:
            metadata["labels"] = value.pop("data")
        elif version == "v1" and "labels" in metadata:
            value["data"] = metadata.pop("labels")
        return TypedValue({**value, "metadata": metadata}, typed.type, version)


class Story:
    """One object and what has happened to it; every write is a second later, an applied object is decoded."""

    def __init__(self, thing):
        self.thing = thing
        self.live = None
        self.second = 0

    def tracker(self, version="v1", subresource="", within=ALL_FIELDS):
        merger = MergeUpdater(Versions(), within)
        return ManagedFieldsUpdater("Thing", version, self.thing, EMPTY | {"apiVersion": version}, merger, subresource)

    def write(self, manager):
        self.second += 1
        return WriteInfo(manager, f"2026-01-01T00:00:{self.second:02}Z")

    def apply(self, manager, *, force=False, version="v1", tracker=None, **parts):
        applied = {"apiVersion": version, "kind": "Thing", "metadata": {"name": "t"}, **parts}
        before = json.dumps([self.live, applied])
        merged = (tracker or self.tracker(version)).apply(self.live or EMPTY, applied, self.write(manager), force=force)
        assert json.dumps([self.live, applied]) == before
        decoded = {name: one for name in ("data", "spec", "status") if (one := solid(merged.get(name)))}
        plain = {name: one for name, one in merged.items() if name not in ("data", "spec", "status")}
        new = EMPTY | plain | decoded | {"metadata": {"uid": "u"} | merged["metadata"]}
        self.live = keep_timestamps(self.live, new) if self.live else new
        return self

    def update(self, manager, tracker=None, *, reset=False, managed=None, **parts):
        metadata = {"name": "t", **(self.live or EMPTY)["metadata"], **parts.pop("metadata", {})}
        if managed is not None:
            metadata["managedFields"] = managed
        new = {"apiVersion": "v1", "kind": "Thing", "spec": {}, **parts, "metadata": metadata}
        self.live = (tracker or self.tracker()).update(self.live or EMPTY, new, self.write(manager), reset=reset)
        self.live["metadata"].setdefault("uid", "u")
        return self

    def managed(self):
        return {
            f"{one['manager']}/{one['operation']}": one["fieldsV1"]
            for one in self.live["metadata"].get("managedFields", [])
        }

    def conflict(self, manager, **parts):
        with pytest.raises(ApplyConflict) as caught:
            self.apply(manager, **parts)
        return str(caught.value)


@pytest.fixture
def story(thing):
    return Story(thing)


def test_the_first_apply_creates_and_owns_what_it_says(story):
    story.apply("m1", data={"a": "1"})
    assert story.live["data"] == {"a": "1"}
    assert story.live["metadata"]["managedFields"] == [
        {
            "manager": "m1", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:01Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}},
        }
    ]  # fmt: skip


def test_an_update_owns_what_it_adds_containers_included(story):
    story.update("m1", data={"a": "1"}, spec={"replicas": 1})
    assert story.managed() == {"m1/Update": {"f:data": {".": {}, "f:a": {}}, "f:spec": {"f:replicas": {}}}}


def test_applying_the_same_again_changes_nothing_not_even_the_time(story):
    story.apply("m1", data={"a": "1"})
    before = copy.deepcopy(story.live)
    story.apply("m1", data={"a": "1"})
    assert story.live == before


def test_what_is_no_longer_applied_goes(story):
    story.apply("m1", data={"a": "1", "b": "2"}).apply("m1", data={"a": "1"})
    assert story.live["data"] == {"a": "1"}
    assert story.managed() == {"m1/Apply": {"f:data": {"f:a": {}}}}


def test_one_who_applies_nothing_manages_nothing(story):
    story.apply("m1", data={"a": "1"}).apply("m1")
    assert not story.live.get("data")
    assert story.managed() == {}


def test_a_shared_field_stays_until_the_last_lets_go(story):
    story.apply("m1", data={"a": "1", "b": "1"}).apply("m2", data={"a": "1"}).apply("m1", data={"b": "1"})
    assert story.live["data"] == {"a": "1", "b": "1"}
    story.apply("m2", data={"c": "1"})
    assert story.live["data"] == {"b": "1", "c": "1"}


def test_another_value_is_a_conflict_unless_forced(story):
    story.apply("m1", data={"a": "1", "b": "1"})
    assert story.conflict("m2", data={"a": "2"}) == 'Apply failed with 1 conflict: conflict with "m1": .data.a'
    story.apply("m2", force=True, data={"a": "2"})
    assert story.managed() == {"m1/Apply": {"f:data": {"f:b": {}}}, "m2/Apply": {"f:data": {"f:a": {}}}}


def test_conflicts_name_managers_of_updates_with_their_version(story):
    story.update("editor", data={"a": "1"}).apply("m1", data={"b": "1"})
    assert story.conflict("m2", data={"a": "2", "b": "2"}) == (
        'Apply failed with 2 conflicts: conflicts with "editor" using v1:\n- .data.a\nconflicts with "m1":\n- .data.b'
    )


def test_an_update_takes_what_it_changes_and_what_it_removes_is_nobodys(story):
    story.apply("m1", data={"a": "1", "b": "1", "c": "1"}).update("editor", data={"a": "2", "c": "1"})
    assert story.managed() == {"m1/Apply": {"f:data": {"f:c": {}}}, "editor/Update": {"f:data": {"f:a": {}}}}


def test_what_an_update_left_unowned_is_not_removed_by_an_applier(story):
    story.update("editor", data={"x": "1"}).apply("m1", data={"a": "1"}).apply("m1", data={"b": "1"})
    assert story.live["data"] == {"x": "1", "b": "1"}


def test_two_updates_of_one_manager_are_one_entry_with_the_later_time(story):
    story.update("m1", data={"a": "1"}).update("m1", data={"a": "1", "b": "1"})
    [entry] = story.live["metadata"]["managedFields"]
    assert (entry["time"], entry["fieldsV1"]) == ("2026-01-01T00:00:02Z", {"f:data": {".": {}, "f:a": {}, "f:b": {}}})


def test_an_update_that_changes_nothing_keeps_entries_and_times(story):
    story.update("m1", data={"a": "1"})
    before = story.live["metadata"]["managedFields"]
    story.update("m2", data={"a": "1"})
    assert story.live["metadata"]["managedFields"] == before


def test_items_of_lists_are_managed_one_by_one(story):
    story.apply("m1", spec={"containers": [{"name": "c", "image": "1"}]})
    story.apply("m2", spec={"containers": [{"name": "side", "image": "2"}]})
    assert [one["name"] for one in story.live["spec"]["containers"]] == ["c", "side"]
    assert story.conflict("m2", spec={"containers": [{"name": "c", "image": "9"}]}) == (
        'Apply failed with 1 conflict: conflict with "m1": .spec.containers[name="c"].image'
    )
    story.apply("m2", spec={"containers": []})
    assert [one["name"] for one in story.live["spec"]["containers"]] == ["c"]
    assert list(story.managed()) == ["m1/Apply"]


def test_before_the_first_apply_all_belongs_to_nobody_in_particular(story):
    story.update("m1", data={"a": "1"}).update("m1", reset=True, managed=[], data={"a": "1"})
    assert story.managed() == {}
    story.update("m1", data={"a": "1", "b": "1"})
    assert story.managed() == {}
    assert story.conflict("m2", data={"a": "2"}) == (
        'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a'
    )


def test_an_empty_entry_forgets_who_manages_what(story):
    story.update("m1", data={"a": "1"}).update("m1", managed=[{}], data={"a": "1"})
    assert story.managed() == {}


def test_a_client_may_hand_in_managed_fields_but_not_through_a_subresource(story):
    given = [
        {
            "manager": "me", "operation": "Apply", "apiVersion": "v1", "time": "2020-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}},
        }
    ]  # fmt: skip
    story.update("m1", data={"a": "1"}).update(
        "m1", story.tracker(subresource="status"), managed=given, data={"a": "1"}
    )
    assert list(story.managed()) == ["m1/Update"]
    story.update("m1", managed=given, data={"a": "1"})
    assert story.live["metadata"]["managedFields"] == given


def test_entries_that_cannot_be_read_are_passed_over_by_an_update_and_refused_by_an_apply(story):
    story.update("m1", data={"a": "1"}).update("m1", managed=[{"operation": "x"}], data={"a": "1"})
    assert list(story.managed()) == ["m1/Update"]
    story.live["metadata"]["managedFields"] = [{"operation": "x"}]
    with pytest.raises(InvalidEntry, match="failed to decode managed fields: operation must be"):
        story.apply("m2", data={"b": "1"})


def test_what_an_endpoint_does_not_write_is_not_managed_through_it(story):
    spec_only = story.tracker(within=get_field_filter("", "Thing"))
    story.update("m1", spec_only, spec={"replicas": 1}, status={"replicas": 2})
    assert story.managed() == {"m1/Update": {"f:spec": {"f:replicas": {}}}}
    status = story.tracker(subresource="status", within=get_field_filter("", "Thing", "status"))
    story.apply("m2", tracker=status, spec={"replicas": 5}, status={"replicas": 2})
    entry = story.live["metadata"]["managedFields"][0]
    assert (entry["subresource"], entry["fieldsV1"]) == ("status", {"f:status": {"f:replicas": {}}})


def test_the_names_of_an_object_are_not_managed(story):
    story.apply("m1", metadata={"name": "t", "namespace": "n", "labels": {"a": "1"}})
    assert story.managed() == {"m1/Apply": {"f:metadata": {"f:labels": {"f:a": {}}}}}


def test_fields_are_followed_through_versions(story):
    story.apply("m1", data={"a": "1", "b": "1"})
    live, applied = story.live, {"apiVersion": "v2", "kind": "Thing"}
    as_v2 = Versions().convert(TypedValue(live, story.thing, "v1"), "v2").value | {"apiVersion": "v2"}
    applied["metadata"] = {"labels": {"a": "1"}}
    merged = story.tracker("v2").apply(as_v2, applied, story.write("m1"))
    assert merged["metadata"]["labels"] == {"a": "1"}
    assert merged["metadata"]["managedFields"][0]["fieldsV1"] == {"f:metadata": {"f:labels": {"f:a": {}}}}


def test_entries_of_versions_that_are_gone_are_dropped(story):
    story.update("m1", data={"a": "1"})
    story.live["metadata"]["managedFields"][0]["apiVersion"] = "v3"
    story.apply("m2", data={"a": "2"})
    assert story.managed() == {"m2/Apply": {"f:data": {"f:a": {}}}}


@pytest.mark.parametrize(
    ("applied", "answer", "complaint"),
    [
        pytest.param({}, InvalidApply, "invalid object type: /, Kind=", id="nothing"),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "Other"}, InvalidApply, "invalid object type: apps/v1, Kind=Other",
            id="kind",
        ),
        pytest.param({"apiVersion": "v1", "kind": "Thing", "metadata": {"managedFields": []}}, InvalidApply,
                     "metadata.managedFields must be nil", id="managed fields"),
        pytest.param({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "n"}, "no": 1},
                     TypeMismatch,
                     "failed to create typed patch object (n/t; /v1, Kind=Thing): .no: field not declared in schema",
                     id="unknown field"),
    ],
)  # fmt: skip
def test_what_cannot_be_applied_is_refused_in_upstreams_words(story, applied, answer, complaint):
    with pytest.raises(answer) as caught:
        story.tracker().apply(EMPTY, applied, story.write("m1"))
    assert str(caught.value) == complaint


def test_an_update_that_cannot_be_tracked_goes_through_untracked(story):
    story.update("m1", spec={"containers": [{"name": "c"}]}).update("m1", spec={"containers": [None]})
    assert "managedFields" not in story.live["metadata"]


def client_side(**data):
    return json.dumps({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t"}, "data": data})


def test_kubectl_may_overwrite_what_it_applied_on_the_client_side(story):
    story.update(
        "kubectl-client-side-apply",
        metadata={"annotations": {LAST_APPLIED_ANNOTATION: client_side(a="1")}},
        data={"a": "1"},
    )
    story.apply("kubectl", data={"a": "2"})
    assert story.live["data"] == {"a": "2"}
    assert story.live["metadata"]["annotations"][LAST_APPLIED_ANNOTATION] == (
        '{"apiVersion":"v1","data":{"a":"2"},"kind":"Thing","metadata":{"name":"t"}}\n'
    )


@pytest.mark.parametrize(
    "annotation",
    [
        pytest.param(client_side(b="1"), id="of something else"),
        pytest.param(client_side(a="0"), id="overwritten since"),
        pytest.param("{", id="no json"),
        pytest.param(client_side(a=1), id="of a wrong type"),
        pytest.param('{"apiVersion":"v9"}', id="of another version"),
    ],
)
def test_kubectl_may_not_overwrite_more_than_that(story, annotation):
    story.update("editor", metadata={"annotations": {LAST_APPLIED_ANNOTATION: annotation}}, data={"a": "1", "b": "1"})
    assert '"editor" using v1: .data.a' in story.conflict("kubectl", data={"a": "2"})
    assert '"editor" using v1: .data.a' in story.conflict("other", data={"a": "2"})


def test_an_annotation_that_grew_too_large_is_dropped(story):
    story.update("kubectl-client-side-apply", metadata={"annotations": {LAST_APPLIED_ANNOTATION: client_side()}})
    story.apply("kubectl", metadata={"name": "t", "annotations": {"own": "1"}}, data={"a": "x" * 300_000})
    assert story.live["metadata"]["annotations"] == {"own": "1"}


def test_times_alone_are_no_change(story):
    story.update("m1", data={"a": "1"})
    entries = story.live["metadata"]["managedFields"]
    later = {**story.live, "metadata": {**story.live["metadata"], "managedFields": [{**entries[0], "time": "later"}]}}
    assert keep_timestamps(story.live, later) == story.live
    changed = {**later, "data": {"a": "2"}}
    assert keep_timestamps(story.live, changed) is changed


names = st.sampled_from("abc")
parts = st.fixed_dictionaries(
    {},
    optional={
        "data": st.dictionaries(names, names, min_size=1),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "replicas": st.integers(0, 2),
                "selector": st.dictionaries(names, names, min_size=1),
                "containers": st.lists(
                    st.fixed_dictionaries({"name": names}, optional={"image": names}),
                    unique_by=lambda one: one["name"],
                ),
            },
        ),
    },
)


@given(first=parts, second=parts)
def test_one_who_applies_alone_gets_what_was_applied_last(thing, first, second):
    live = Story(thing).apply("m1", **first).apply("m1", **second).live
    assert solid({name: live.get(name) for name in ("data", "spec")}) == solid(second)


@given(st.lists(st.tuples(st.sampled_from(["m1", "m2", "m3"]), parts), min_size=1, max_size=5))
def test_whoever_applies_by_force_gets_it_and_a_conflict_is_exactly_where_force_would_take(thing, applies):
    story = Story(thing)
    for manager, applied in applies:
        before = copy.deepcopy(story.live)
        try:
            story.apply(manager, **applied)
        except ApplyConflict as conflict:
            assert story.live == before
            others = {one.manager for one in conflict.conflicts}
            assert f'"{manager}"' not in others
            story.apply(manager, force=True, **applied)
        again = copy.deepcopy(story.live)
        assert story.apply(manager, **applied).live == again
