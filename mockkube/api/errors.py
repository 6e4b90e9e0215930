"""The answers of an API that are not a success: one class per answer a caller can act on, each with its `Status`."""

from collections.abc import Sequence
from typing import Any, Final

from mockkube.api.fields import FieldError, quoted
from mockkube.api.types import Object

NAMESPACE_TERMINATING: Final = "NamespaceTerminating"
"""The cause of a refusal: what was to be created is in a namespace that is going."""


class ApiError(Exception):
    """An answer other than success. `status()` is what the client sees."""

    code = 500
    reason = "InternalError"

    def __init__(self, message: str, *, details: Object | None = None, retry_after_seconds: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.retry_after_seconds = retry_after_seconds

    def status(self) -> Object:
        """The `Status` object that answers the request."""
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
        """Whether one of the causes in the details has this reason."""
        causes = (self.status().get("details") or {}).get("causes") or ()
        return any(cause.get("reason") == reason for cause in causes)


def kind_details(group: str, kind: str, name: str = "", **more: Any) -> Object:
    """The `details` naming what an answer is about; empty parts are left out, as upstream writes them."""
    named = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in named.items() if value not in ("", None)}


def qualified(group: str, resource: str) -> str:
    """`deployments.apps`, or `pods` for the core group."""
    return f"{resource}.{group}" if group else resource


class BadRequest(ApiError):
    """The request cannot be understood."""

    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    """The credentials are not valid."""

    code, reason = 401, "Unauthorized"

    def __init__(self, message: str = "Unauthorized") -> None:
        super().__init__(message)


class Forbidden(ApiError):
    """Understood, and refused."""

    code, reason = 403, "Forbidden"

    @classmethod
    def object(cls, group: str, resource: str, name: str, why: str) -> "Forbidden":
        """Refuse an operation on one object."""
        details = kind_details(group, resource, name)
        if not resource:
            return cls(f"forbidden: {why}", details=details)
        title = f"{qualified(group, resource)} {quoted(name)}" if name else qualified(group, resource)
        return cls(f"{title} is forbidden: {why}", details=details)


class NotFound(ApiError):
    """There is no such object, or no such path."""

    code, reason = 404, "NotFound"

    @classmethod
    def object(cls, group: str, resource: str, name: str) -> "NotFound":
        """No object with this name."""
        return cls(
            f"{qualified(group, resource)} {quoted(name)} not found", details=kind_details(group, resource, name)
        )

    @classmethod
    def path(cls) -> "NotFound":
        """Nothing is served at this path."""
        return cls("the server could not find the requested resource", details={})


class MethodNotAllowed(ApiError):
    """The path exists, the verb does not."""

    code, reason = 405, "MethodNotAllowed"

    def __init__(
        self,
        message: str = "the server does not allow this method on the requested resource",
        *,
        details: Object | None = None,
    ) -> None:
        super().__init__(message, details=details or {})

    @classmethod
    def verb(cls, group: str, resource: str, verb: str) -> "MethodNotAllowed":
        """A resource that lacks this verb."""
        message = f'{verb} is not supported on resources of kind "{qualified(group, resource)}"'
        return cls(message, details=kind_details(group, resource))


class NotAcceptable(ApiError):
    """No representation the client accepts."""

    code, reason = 406, "NotAcceptable"


class AlreadyExists(ApiError):
    """The name is taken."""

    code, reason = 409, "AlreadyExists"

    @classmethod
    def object(cls, group: str, resource: str, name: str) -> "AlreadyExists":
        """An object with this name exists."""
        return cls(
            f"{qualified(group, resource)} {quoted(name)} already exists", details=kind_details(group, resource, name)
        )


class Conflict(ApiError):
    """The object is not what the request supposes."""

    code, reason = 409, "Conflict"

    @classmethod
    def object(cls, group: str, resource: str, name: str, why: str) -> "Conflict":
        """The operation on this object cannot be fulfilled as things stand."""
        title = f"Operation cannot be fulfilled on {qualified(group, resource)} {quoted(name)}: {why}"
        return cls(title, details=kind_details(group, resource, name))

    @classmethod
    def changed(cls, group: str, resource: str, name: str) -> "Conflict":
        """The object changed since the client read it."""
        why = "the object has been modified; please apply your changes to the latest version and try again"
        return cls.object(group, resource, name, why)


class Expired(ApiError):
    """The revision asked for is no longer kept."""

    code, reason = 410, "Expired"


class TooLarge(ApiError):
    """The body is larger than the server reads."""

    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """The body is in a format the server does not read."""

    code, reason = 415, "UnsupportedMediaType"


CAUSES_CHARACTERS_MAX: Final = 4 * 1024 * 1024
"""How long the causes of one answer may be together."""


class Invalid(ApiError):
    """The object breaks the rules of its kind; `errors` says which."""

    code, reason = 422, "Invalid"

    def __init__(self, group: str, kind: str, name: str, errors: Sequence[FieldError]) -> None:
        title = f"{qualified(group, kind)} {quoted(name)} is invalid"
        details = kind_details(group, kind, name)
        told = _told(errors)
        if told:
            details["causes"] = told
        texts = [f"{cause['field']}: {cause['message']}" for cause in told]
        if len(told) < len(errors):
            texts.append(f"{len(errors) - len(told)} more errors")
        super().__init__(f"{title}: {aggregate(texts)}" if errors else title, details=details)
        self.errors = tuple(errors)


def _told(errors: Sequence[FieldError]) -> list[Object]:
    """The causes of an answer, as many as it has room for: each may quote the whole of what it is about."""
    causes, size = list[Object](), 0
    for error in errors:
        message = error.message
        causes.append({"reason": str(error.type), "message": message, "field": error.field})
        size += len(message) + len(error.field)
        if size > CAUSES_CHARACTERS_MAX:  # differs: upstream has no limit, and spends gigabytes on such an answer
            break
    return causes


class Unprocessable(ApiError):
    """A patch that cannot be carried out on this object."""

    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    """Refused for now."""

    code, reason = 429, "TooManyRequests"


class Internal(ApiError):
    """A failure that is not the client's."""

    code, reason = 500, "InternalError"

    def __init__(self, message: str) -> None:
        details = {"causes": [{"message": message}]}
        super().__init__(f"Internal error occurred: {message}", details=details)


class StorageTooLarge(ApiError):
    """An object is larger than what can be stored."""

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
    """The server cannot answer now."""

    code, reason = 503, "ServiceUnavailable"


class Timeout(ApiError):
    """The request took too long."""

    code, reason = 504, "Timeout"


def aggregate(errors: Sequence[object]) -> str:
    """Several complaints in one line: each text once, in order, in brackets when there is more than one."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
