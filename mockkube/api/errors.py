"""API errors: one class for each response a caller can act on, with its `Status`."""

from collections.abc import Sequence
from typing import Any, Final

from mockkube.api.fields import FieldError, quote
from mockkube.api.json_objects import Object

# Cause of a rejected creation: the namespace is being deleted.
NAMESPACE_TERMINATING: Final = "NamespaceTerminating"


class ApiError(Exception):
    """Error response of an API; `status()` is what the client gets."""

    code = 500
    reason = "InternalError"

    def __init__(self, message: str, *, details: Object | None = None, retry_after_seconds: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.retry_after_seconds = retry_after_seconds

    def status(self) -> Object:
        """Return the `Status` object of the response."""
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status

    def has_cause(self, reason: str) -> bool:
        """Return whether one of the causes in the details has this reason."""
        causes = (self.status().get("details") or {}).get("causes") or ()
        return any(cause.get("reason") == reason for cause in causes)


def make_details(group: str, kind: str, name: str = "", **more: Any) -> Object:
    """Return the `details` of an object; empty parts are left out, as upstream does."""
    named = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in named.items() if value not in ("", None)}


def format_group_resource(group: str, resource: str) -> str:
    """Return `deployments.apps`, or `pods` for the core group."""
    return f"{resource}.{group}" if group else resource


class BadRequest(ApiError):
    """Request that cannot be understood."""

    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    """Invalid or missing credentials."""

    code, reason = 401, "Unauthorized"

    def __init__(self, message: str = "Unauthorized") -> None:
        super().__init__(message)


class Forbidden(ApiError):
    """Request that authorization or admission rejects."""

    code, reason = 403, "Forbidden"

    @classmethod
    def for_object(cls, group: str, resource: str, name: str, reason_text: str) -> "Forbidden":
        """Return the error for a rejected operation on one object."""
        details = make_details(group, resource, name)
        if not resource:
            return cls(f"forbidden: {reason_text}", details=details)
        title = (
            f"{format_group_resource(group, resource)} {quote(name)}"
            if name
            else format_group_resource(group, resource)
        )
        return cls(f"{title} is forbidden: {reason_text}", details=details)


class NotFound(ApiError):
    """Object or path that does not exist."""

    code, reason = 404, "NotFound"

    @classmethod
    def for_object(cls, group: str, resource: str, name: str) -> "NotFound":
        """Return the error for an object that does not exist."""
        return cls(
            f"{format_group_resource(group, resource)} {quote(name)} not found",
            details=make_details(group, resource, name),
        )

    @classmethod
    def for_path(cls) -> "NotFound":
        """Return the error for a path that is not served."""
        # upstream sends empty details here, where other errors have none.
        return cls("the server could not find the requested resource", details={})


class MethodNotAllowed(ApiError):
    """Verb that an existing path does not support."""

    code, reason = 405, "MethodNotAllowed"

    def __init__(
        self,
        message: str = "the server does not allow this method on the requested resource",
        *,
        details: Object | None = None,
    ) -> None:
        super().__init__(message, details=details or {})

    @classmethod
    def for_verb(cls, group: str, resource: str, verb: str) -> "MethodNotAllowed":
        """Return the error for a verb that a resource does not support."""
        message = f'{verb} is not supported on resources of kind "{format_group_resource(group, resource)}"'
        return cls(message, details=make_details(group, resource))


class NotAcceptable(ApiError):
    """Request for media types that the server cannot produce."""

    code, reason = 406, "NotAcceptable"


class AlreadyExists(ApiError):
    """Creation under a name that is taken."""

    code, reason = 409, "AlreadyExists"

    @classmethod
    def for_object(cls, group: str, resource: str, name: str) -> "AlreadyExists":
        """Return the error for an object whose name is taken."""
        return cls(
            f"{format_group_resource(group, resource)} {quote(name)} already exists",
            details=make_details(group, resource, name),
        )


class Conflict(ApiError):
    """Write to an object that is not in the expected state."""

    code, reason = 409, "Conflict"

    @classmethod
    def for_object(cls, group: str, resource: str, name: str, reason_text: str) -> "Conflict":
        """Return the error for an operation that the object's present state does not allow."""
        title = (
            f"Operation cannot be fulfilled on {format_group_resource(group, resource)} {quote(name)}: {reason_text}"
        )
        return cls(title, details=make_details(group, resource, name))

    @classmethod
    def for_modified_object(cls, group: str, resource: str, name: str) -> "Conflict":
        """Return the error for an object that was modified since the client read it."""
        why = "the object has been modified; please apply your changes to the latest version and try again"
        return cls.for_object(group, resource, name, why)


class Expired(ApiError):
    """Requested resource version that is no longer available.

    The error for an expired continue token has another one, which goes on at the newest resource version.
    """

    code, reason = 410, "Expired"

    def __init__(
        self, message: str, *, details: Object | None = None, retry_after_seconds: int = 0, continue_token: str = ""
    ) -> None:
        super().__init__(message, details=details, retry_after_seconds=retry_after_seconds)
        self.continue_token = continue_token

    def status(self) -> Object:
        """Return the `Status` object of the response."""
        status = super().status()
        if self.continue_token:
            status["metadata"] = {"continue": self.continue_token}
        return status


class TooLarge(ApiError):
    """Body that is larger than the server accepts."""

    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """Body in a format that the server does not decode."""

    code, reason = 415, "UnsupportedMediaType"


# Maximum total length of the causes of one response.
CAUSES_CHARACTERS_MAX: Final = 4 * 1024 * 1024


class Invalid(ApiError):
    """Object that fails validation; `errors` are its field errors."""

    code, reason = 422, "Invalid"

    def __init__(self, group: str, kind: str, name: str, errors: Sequence[FieldError]) -> None:
        title = f"{format_group_resource(group, kind)} {quote(name)} is invalid"
        details = make_details(group, kind, name)
        causes = _make_causes(errors)
        if causes:
            details["causes"] = causes
        texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
        if len(causes) < len(errors):
            texts.append(f"{len(errors) - len(causes)} more errors")
        super().__init__(f"{title}: {aggregate_messages(texts)}" if errors else title, details=details)
        self.errors = tuple(errors)


def _make_causes(errors: Sequence[FieldError]) -> list[Object]:
    """Return the causes of a response within its bound; each may quote a whole field value."""
    causes, size = list[Object](), 0
    for error in errors:
        message = error.message
        causes.append({"reason": str(error.type), "message": message, "field": error.field})
        size += len(message) + len(error.field)
        if size > CAUSES_CHARACTERS_MAX:  # differs: upstream has no limit, and spends gigabytes on such an answer
            break
    return causes


class Unprocessable(ApiError):
    """Patch that cannot be applied to this object."""

    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    """Request that is rejected for now."""

    code, reason = 429, "TooManyRequests"


class Internal(ApiError):
    """Failure that the client did not cause."""

    code, reason = 500, "InternalError"

    def __init__(self, message: str) -> None:
        details = {"causes": [{"message": message}]}
        super().__init__(f"Internal error occurred: {message}", details=details)


class StorageTooLarge(ApiError):
    """Object that is larger than the store accepts."""

    # upstream 1.36: etcd refuses requests beyond 1.5 MiB, its client those beyond 2 MiB
    code, reason = 500, ""
    BYTES_MAX: Final = 1536 * 1024
    SENT_BYTES_MAX: Final = 2 * 1024 * 1024

    def __init__(self, size: int) -> None:
        message = "etcdserver: request is too large"
        if size > self.SENT_BYTES_MAX:
            sent = f"trying to send message larger than max ({size} vs. {self.SENT_BYTES_MAX})"
            message = f"rpc error: code = ResourceExhausted desc = {sent}"
        super().__init__(message)


class Unavailable(ApiError):
    """Server that cannot answer now."""

    code, reason = 503, "ServiceUnavailable"


class Timeout(ApiError):
    """Request that took too long."""

    code, reason = 504, "Timeout"


def aggregate_messages(errors: Sequence[object]) -> str:
    """Join errors in one line: each text once, in order, several in brackets."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
