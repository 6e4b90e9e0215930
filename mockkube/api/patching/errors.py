"""What can be wrong with a patch: one class per answer; the message is upstream's where a client sees it."""

from mockkube.api.patching.gotext import json_kind


class PatchError(Exception):
    """A patch that cannot be applied."""


class BadPatch(PatchError):
    """The patch is malformed: 400 BadRequest with the message as it is."""

    @classmethod
    def kind(cls, value: object, wanted: str) -> "BadPatch":
        """Refuse JSON of another kind than the Go type `wanted` is decoded from."""
        return cls(f"json: cannot unmarshal {json_kind(value)} into Go value of type {wanted}")


class TooManyOperations(PatchError):
    """More operations than a JSON patch may have: 413 RequestEntityTooLarge with the message as it is."""

    def __init__(self, count: int, operations_max: int) -> None:
        super().__init__(f"The allowed maximum operations in a JSON patch is {operations_max}, got {count}")
        self.count = count
        self.operations_max = operations_max


class PatchRejected(PatchError):
    """The patch does not fit the object: 422 Invalid with upstream's fixed text; the message is for the log."""


class TestFailed(PatchRejected):
    """A test among the operations of a JSON patch did not hold."""

    __test__ = False


class PatchFailed(PatchError):
    """What upstream did not foresee: 500 without a reason, with the message as it is."""
