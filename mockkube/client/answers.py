"""What a server answers when it refuses, as the error it means."""

from collections.abc import Mapping
from typing import Any, Final

from mockkube.api import errors
from mockkube.api.errors import ApiError, Invalid

_KINDS: Final = (
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
_BY_REASON: Final[Mapping[str, type[ApiError]]] = {kind.reason: kind for kind in _KINDS} | {"Gone": errors.Expired}
_BY_CODE: Final[Mapping[int, type[ApiError]]] = {kind.code: kind for kind in reversed(_KINDS)}


def error_of(status: Any, code: int) -> ApiError:
    """Return the error that a Status tells of; whatever else came with a failing code is its message."""
    if not isinstance(status, dict) or status.get("kind") != "Status":
        status = {"message": str(status) if status else f"the server answered {code}"}
    code, details = status.get("code") or code, status.get("details")
    kind = _BY_REASON.get(status.get("reason", "")) or _BY_CODE.get(code, ApiError)
    error = kind.__new__(kind)  # the classes compose their messages; here it is composed already
    seconds = (details or {}).get("retryAfterSeconds", 0)
    ApiError.__init__(error, status.get("message", ""), details=details, retry_after_seconds=seconds)
    error.code, error.reason = code, status.get("reason", "")
    if isinstance(error, Invalid):
        error.errors = ()
    return error
