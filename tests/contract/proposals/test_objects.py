"""What a proposal from outside adds to objects, at every place, version and setting of its gate."""

from copy import deepcopy
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockkube.api.decoding.codec import DecodingError
from mockkube.api.decoding.decoding_errors import find_unknown_fields
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.proposals.component_view import ComponentView
from mockkube.proposals.server_impact import find_server_impact

GATE = "QuietNodes"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD = {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
OBJECTS = {
    "Pod": {"apiVersion": "v1", "spec": POD},
    "PodTemplate": {"apiVersion": "v1", "template": TEMPLATE},
    "Deployment": {
        "apiVersion": "apps/v1",
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
    },
    "CronJob": {
        "apiVersion": "batch/v1",
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}},
        },
    },
    "ConfigMap": {"apiVersion": "v1", "data": {"a": "b"}},
    "Service": {"apiVersion": "v1", "spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}},
    "Lease": {"apiVersion": "coordination.k8s.io/v1", "spec": {}},
    "PriorityClass": {"apiVersion": "scheduling.k8s.io/v1", "value": 1},
}
PLACES = [
    ("Pod", ("spec",)),
    ("Pod", ("spec", "containers", 1)),
    ("Pod", ("metadata",)),
    ("PodTemplate", ("template", "spec")),
    ("PodTemplate", ("template", "metadata")),
    ("Deployment", ("spec",)),
    ("Deployment", ("spec", "template", "spec")),
    ("Deployment", ("spec", "template", "spec", "containers", 0)),
    ("CronJob", ("spec", "jobTemplate", "spec", "template", "spec", "containers", 1)),
    ("ConfigMap", ()),
    ("Service", ("spec", "ports", 1)),
    ("Lease", ("spec",)),
    ("PriorityClass", ()),
    ("PriorityClass", ("metadata",)),
]
QUIET = st.fixed_dictionaries({}, optional={"level": st.integers(-20, 30), "on": st.booleans()})


def obj(kind, way=(), quiet=None):
    """Return an object that has the field at a place."""
    made = {"kind": kind, **deepcopy(OBJECTS[kind]), "metadata": {"name": "x", "namespace": "default"}}
    at(made, way).update({} if quiet is None else {"quiet": deepcopy(quiet)})
    return made


def at(made, way):
    for step in way:
        made = made[step]
    return made


def path(way):
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in (*way, "quiet")).removeprefix(".")


@pytest.fixture
def view(trains):
    """An API server: `view("1.36", on=True)`."""

    def make(version, *, on=None):
        release = Version.parse(version)
        gates = enabled_gates(release, {} if on is None else {GATE: on}, trains)
        return ComponentView(Capabilities(release, gates, trains), NOW)

    return make


fresh = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


@fresh
@given(place=st.sampled_from(PLACES), quiet=QUIET, version=st.sampled_from(["1.36", "1.37"]))
def test_a_field_is_kept_and_checked_wherever_it_is_declared(view, place, quiet, version):
    kind, way = place
    server = view(version, on=True)
    stored, errors = server.simulate_create(server.decode(obj(kind, way, quiet)))
    assert at(stored, way)["quiet"] == quiet
    level = quiet.get("level", 0)
    expected = [f"{path(way)}.level: Invalid value: {level}: must be 10 or less"] if level > 10 else []
    assert [str(error) for error in errors] == expected


@fresh
@given(place=st.sampled_from(PLACES), quiet=QUIET)
def test_with_the_gate_off_it_is_dropped_from_new_objects_and_kept_in_stored_ones(view, place, quiet):
    kind, way = place
    server = view("1.36", on=False)
    decoded = server.decode(obj(kind, way, quiet))
    stored, errors = server.simulate_create(decoded)
    assert (at(stored, way).get("quiet"), errors) == (None, [])
    assert server.simulate_update(decoded) == []
    assert at(decoded, way)["quiet"] == quiet


@fresh
@given(place=st.sampled_from(PLACES), quiet=QUIET)
def test_an_older_version_has_never_heard_of_it(view, place, quiet):
    kind, way = place
    server, given_ = view("1.35"), obj(kind, way, quiet)
    assert "quiet" not in at(server.decode(given_), way)
    group, _, version = given_["apiVersion"].rpartition("/")
    assert list(find_unknown_fields(server.schema.find_kind_type(group, version, kind), given_)) == [path(way)]


@fresh
@given(place=st.sampled_from(PLACES), wrong=st.sampled_from([3, "x", [], {"level": "x"}, {"on": 1}]))
def test_a_value_of_another_type_is_refused(view, place, wrong):
    kind, way = place
    with pytest.raises(DecodingError):
        view("1.36", on=True).decode(obj(kind, way, wrong))


@pytest.mark.parametrize(("version", "on"), [("1.36", False), ("1.37", True)])
def test_its_gate_follows_its_train(view, version, on):
    assert view(version).caps.enabled(GATE) is on


@fresh
@given(place=st.sampled_from(PLACES), level=st.integers(11, 30), other=st.integers(11, 30))
def test_an_update_keeps_what_is_wrong_already_and_brings_nothing_new(view, place, level, other):
    kind, way = place
    server = view("1.36", on=True)
    stored = server.decode(obj(kind, way, {"level": level}))
    assert server.simulate_update(stored) == []
    strategy = server._strategy(stored)
    new = deepcopy(stored)
    at(new, way)["quiet"]["level"] = other
    errors = strategy.validate_update(new, stored, server._validation_context)
    ours = [str(error) for error in errors if "10 or less" in str(error)]
    assert bool(ours) is (other != level)


def test_a_check_of_a_kind_judges_that_kind_alone(view):
    server = view("1.36", on=True)
    many = obj("Deployment")
    many["spec"]["replicas"] = 7
    assert [str(error) for error in server.simulate_create(server.decode(many))[1]] == [
        "spec.replicas: Invalid value: 7: must be less than 5"
    ]
    assert server.simulate_update(server.decode(many)) == []
    assert view("1.36", on=False).simulate_create(view("1.36").decode(many))[1] == []


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [({}, {"own": "a"}, False), ({"own": "a"}, {"own": "a"}, False), ({"own": "a"}, {"own": "b"}, True)],
)
def test_a_transition_judges_updates(view, before, after, refused):
    server = view("1.36", on=True)
    old, new = (
        server.decode({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x", "annotations": one}})
        for one in (before, after)
    )
    errors = server._strategy(new).validate_update(new, old, server._validation_context)
    assert bool(errors) is refused


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "CronJob"])
def test_scan_knows_what_breaks_without_it(view, kind):
    way = next(way for one, way in PLACES if one == kind)
    found = list(find_server_impact(obj(kind, way, {"on": True}), view("1.36", on=True), view("1.36", on=False)))
    assert [(one.field, one.reason) for one in found] == [
        (path(way), "silently dropped from new objects; stored objects keep it")
    ]
