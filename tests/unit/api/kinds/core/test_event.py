import pytest

from mockkube.api.kinds.core.event import EventsEventStrategy, EventStrategy

CORE, EVENTS = EventStrategy(), EventsEventStrategy()
TIME = "2026-01-01T00:00:00.000000Z"


def event(namespace="default", about="default", **fields):
    return {"metadata": {"name": "e", "namespace": namespace}, "involvedObject": {"namespace": about}, **fields}


def reported(**fields):
    report = {"reportingComponent": "a.b/c", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Normal"}
    return event(eventTime=TIME, **{**report, **fields})


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        pytest.param(event(), [], id="beside its object"),
        pytest.param(event(about=""), [], id="about a cluster object, in default"),
        pytest.param(event("x", "y"), ["involvedObject.namespace"], id="elsewhere"),
        pytest.param({**reported(), **event("kube-system", "")}, [], id="about a cluster object, with time"),
    ],
)
def test_the_core_group_judges_where_an_event_stands(judge, obj, fields):
    assert [error.field for error in CORE.validate(obj, judge())] == fields


def test_an_event_with_a_time_says_who_reports(judge):
    errors = CORE.validate(event(eventTime=TIME), judge())
    assert [error.field for error in errors if error.type == "FieldValueRequired"] == [
        "reportingComponent",
        "reportingInstance",
        "action",
        "reason",
    ]


def test_each_group_names_the_reporter_in_its_own_way(judge):
    errors = EVENTS.validate(reported(reportingComponent=""), judge())
    assert {error.field for error in errors} == {"reportingController"}


def test_the_new_group_refuses_what_the_old_one_had(judge):
    errors = EVENTS.validate(reported(count=2, source={"component": "c"}), judge())
    assert [str(error) for error in errors] == [
        'count: Invalid value: "": needs to be unset',
        'source: Invalid value: "": needs to be unset',
    ]


def test_in_the_new_group_only_the_series_changes(judge):
    series = {"count": 2, "lastObservedTime": TIME}
    assert EVENTS.validate_update(reported(series=series), reported(), judge()) == []
    (error,) = EVENTS.validate_update(reported(message="new"), reported(), judge())
    assert str(error) == 'message: Invalid value: "new": field is immutable'


def test_the_source_is_the_reporter_where_it_is_missing():
    fields = CORE.selectable_fields(event(reportingComponent="r", reason="why"))
    assert fields["source"] == "r"
    assert fields["involvedObject.namespace"] == "default"
    assert fields["regarding.namespace"] == "default"
    assert set(fields) == {*CORE.selectable_field_names, *EVENTS.selectable_field_names}


def test_the_core_group_lets_a_name_be_any_step_in_a_path():
    assert EventStrategy().validate_name("Some Name") == []
    assert EventStrategy().validate_name("a/b") == ["may not contain '/'"]
    assert EventsEventStrategy().validate_name("Some Name") != []
