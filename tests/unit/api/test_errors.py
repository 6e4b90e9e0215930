"""The answers that are no success, and the Status of each."""

import pytest

from mockkube.api import errors, fields
from mockkube.api.errors import ApiError

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, ApiError)]


@pytest.mark.parametrize(
    ("error", "code", "reason", "message"),
    [
        pytest.param(errors.BadRequest("why"), 400, "BadRequest", "why", id="bad request"),
        pytest.param(errors.Unauthorized(), 401, "Unauthorized", "Unauthorized", id="unauthorized"),
        pytest.param(
            errors.Forbidden.for_object("apps", "deployments", "a", "why"),
            403,
            "Forbidden",
            'deployments.apps "a" is forbidden: why',
            id="forbidden",
        ),
        pytest.param(
            errors.Forbidden.for_object("", "pods", "", "why"), 403, "Forbidden", "pods is forbidden: why", id="no name"
        ),
        pytest.param(errors.Forbidden.for_object("", "", "", "why"), 403, "Forbidden", "forbidden: why", id="nothing"),
        pytest.param(
            errors.NotFound.for_object("", "pods", "a"), 404, "NotFound", 'pods "a" not found', id="not found"
        ),
        pytest.param(
            errors.AlreadyExists.for_object("", "pods", "a"),
            409,
            "AlreadyExists",
            'pods "a" already exists',
            id="taken",
        ),
        pytest.param(
            errors.Conflict.for_modified_object("", "pods", "a"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on pods "a": the object has been modified; '
            "please apply your changes to the latest version and try again",
            id="changed",
        ),
        pytest.param(errors.Internal("why"), 500, "InternalError", "Internal error occurred: why", id="internal"),
    ],
)
def test_a_status_says_what_why_and_how_bad(error: ApiError, code: int, reason: str, message: str) -> None:
    status = error.status()
    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
    assert (status["code"], status["reason"], status["message"]) == (code, reason, message)


def test_details_name_the_object_and_leave_out_what_is_empty() -> None:
    assert errors.NotFound.for_object("apps", "deployments", "a").status()["details"] == {
        "name": "a",
        "group": "apps",
        "kind": "deployments",
    }
    assert errors.NotFound.for_object("", "pods", "").status()["details"] == {"kind": "pods"}
    assert "details" not in errors.BadRequest("why").status()


def test_an_invalid_object_tells_every_complaint_as_a_cause() -> None:
    complaints = [fields.required("spec.a", "say it"), fields.invalid("spec.b", "x", "not x")]
    status = errors.Invalid("apps", "Deployment", "web", complaints).status()
    assert status["message"] == (
        'Deployment.apps "web" is invalid: [spec.a: Required value: say it, spec.b: Invalid value: "x": not x]'
    )
    assert status["details"]["causes"] == [
        {"reason": "FieldValueRequired", "message": "Required value: say it", "field": "spec.a"},
        {"reason": "FieldValueInvalid", "message": 'Invalid value: "x": not x', "field": "spec.b"},
    ]


def test_a_single_complaint_stands_without_brackets_and_none_stands_alone() -> None:
    one = errors.Invalid("", "Pod", "a", [fields.required("spec", "")])
    assert one.message == 'Pod "a" is invalid: spec: Required value'
    assert errors.Invalid("", "Pod", "a\n", []).message == r'Pod "a\n" is invalid'
    assert errors.Invalid("", "Pod", "a", []).message == 'Pod "a" is invalid'


@pytest.mark.parametrize(
    ("texts", "line"),
    [(["a"], "a"), (["a", "b"], "[a, b]"), (["a", "b", "a"], "[a, b]"), (["a", "a"], "a")],
    ids=["one", "two", "a repetition", "only repetitions"],
)
def test_complaints_are_joined_each_once(texts: list[str], line: str) -> None:
    assert errors.aggregate_messages(texts) == line


@pytest.mark.parametrize("kind", CLASSES)
def test_every_answer_is_no_success(kind: type[ApiError]) -> None:
    assert 400 <= kind.code < 600
    assert kind.reason or kind is errors.StorageTooLarge  # upstream has no reason for it
    assert kind.__doc__


def test_an_answer_tells_of_as_many_errors_as_it_has_room_for() -> None:
    long = [fields.invalid(f"spec.list[{index}]", "x" * 1_000_000, "is wrong") for index in range(10)]
    answer = errors.Invalid("", "Pod", "p", long)
    causes = answer.status()["details"]["causes"]
    assert 1 < len(causes) < 10
    assert answer.message.endswith(f", {10 - len(causes)} more errors]")
    assert len(answer.errors) == 10
