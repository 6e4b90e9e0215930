"""Convert Status objects of failed requests to API errors."""

from collections.abc import Mapping
from typing import Any, Final

from mockkube.api import errors
from mockkube.api.errors import ApiError, Invalid

_ERROR_CLASSES: Final = (
    errors.BadRequest,
    errors.Unauthorized,
    errors.Forbidden,
    errors.NotFound,
    errors.MethodNotAllowed,
    errors.NotAcceptable,
    errors.AlreadyExists,
    errors.Conflict,
    errors.Expired,
    errors.TooLarge,
    errors.UnsupportedMediaType,
    errors.Invalid,
    errors.TooManyRequests,
    errors.Internal,
    errors.Unavailable,
    errors.Timeout,
)
_BY_REASON: Final[Mapping[str, type[ApiError]]] = {kind.reason: kind for kind in _ERROR_CLASSES} | {
    "Gone": errors.Expired
}
_BY_CODE: Final[Mapping[int, type[ApiError]]] = {kind.code: kind for kind in reversed(_ERROR_CLASSES)}


def error_from_status(status: Any, code: int) -> ApiError:
    """Return the API error for a Status, or for any other body that came with an error code."""
    if not isinstance(status, dict) or status.get("kind") != "Status":
        status = {"message": str(status) if status else f"the server answered {code}"}
    # The code inside the Status wins over the HTTP code: in an ERROR event of a watch there is no HTTP code.
    code, details = status.get("code") or code, status.get("details")
    # An unknown reason (of an aggregated server, say) falls back to the class of the HTTP code.
    kind = _BY_REASON.get(status.get("reason", "")) or _BY_CODE.get(code, ApiError)
    error = kind.__new__(kind)  # `__init__` would compose a message; the server has sent one
    seconds = (details or {}).get("retryAfterSeconds", 0)
    ApiError.__init__(error, status.get("message", ""), details=details, retry_after_seconds=seconds)
    error.code, error.reason = code, status.get("reason", "")
    if isinstance(error, Invalid):
        # `__init__` of Invalid was bypassed, and would have set the list of field errors.
        error.errors = ()
    elif isinstance(error, errors.Expired):
        error.continue_token = (status.get("metadata") or {}).get("continue", "")
    return error
