"""Patch errors: one class for each response; messages that a client gets are upstream's."""

from mockkube.api.patching.go_formatting import json_kind_name


class PatchError(Exception):
    """Patch that cannot be applied."""


class BadPatch(PatchError):
    """Malformed patch: 400 BadRequest with this message."""

    @classmethod
    def wrong_type(cls, value: object, wanted: str) -> "BadPatch":
        """Return the error for JSON of another kind than the Go type `wanted` is decoded from."""
        return cls(f"json: cannot unmarshal {json_kind_name(value)} into Go value of type {wanted}")


class TooManyOperations(PatchError):
    """JSON patch with too many operations: 413 RequestEntityTooLarge with this message."""

    def __init__(self, count: int, operations_max: int) -> None:
        super().__init__(f"The allowed maximum operations in a JSON patch is {operations_max}, got {count}")
        self.count = count
        self.operations_max = operations_max


class PatchRejected(PatchError):
    """Patch that does not fit the object: 422 Invalid with upstream's fixed text; the message is for the log."""


class TestFailed(PatchRejected):
    """Test operation of a JSON patch that did not hold."""

    # pytest would collect the class for its name.
    __test__ = False


class PatchFailed(PatchError):
    """Failure that upstream does not handle: 500 without a reason, with this message."""
