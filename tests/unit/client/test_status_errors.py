"""A refusal over HTTP is the error it is within the process."""

import pytest

from mockkube.api import errors
from mockkube.api.errors import ApiError
from mockkube.api.fields import required
from mockkube.client.status_errors import error_from_status


@pytest.mark.parametrize(
    "error",
    [
        errors.BadRequest("what?"),
        errors.Unauthorized(),
        errors.Forbidden.for_object("", "pods", "p", "no"),
        errors.NotFound.for_object("apps", "deployments", "d"),
        errors.MethodNotAllowed(),
        errors.AlreadyExists.for_object("", "pods", "p"),
        errors.Conflict.for_modified_object("", "pods", "p"),
        errors.Expired("too old"),
        errors.Invalid("", "Pod", "p", [required("spec.containers")]),
        errors.TooManyRequests("later", details={"retryAfterSeconds": 3}, retry_after_seconds=3),
        errors.Internal("oh"),
        errors.Unavailable("away"),
        errors.Timeout("late", retry_after_seconds=0),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_the_way(error: ApiError) -> None:
    read = error_from_status(error.status(), error.code)
    assert type(read) is type(error)
    assert (read.status(), str(read), read.retry_after_seconds) == (
        error.status(),
        str(error),
        error.retry_after_seconds,
    )


@pytest.mark.parametrize(
    ("answer", "code", "kind", "message"),
    [
        pytest.param("404 page not found", 404, errors.NotFound, "404 page not found", id="text"),
        pytest.param("", 503, errors.Unavailable, "the server answered 503", id="nothing"),
        pytest.param({"kind": "Pod"}, 409, errors.AlreadyExists, "{'kind': 'Pod'}", id="something else"),
        pytest.param("teapot", 418, ApiError, "teapot", id="a code nobody knows"),
    ],
)
def test_what_is_no_status_is_judged_by_its_code(answer: object, code: int, kind: type[ApiError], message: str) -> None:
    read = error_from_status(answer, code)
    assert (type(read), read.message, read.code) == (kind, message, code)


def test_a_gone_answer_has_expired() -> None:
    assert isinstance(
        error_from_status({"kind": "Status", "reason": "Gone", "message": "x", "code": 410}, 410), errors.Expired
    )
