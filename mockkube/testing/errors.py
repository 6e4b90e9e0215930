"""Errors of the methods of `MockKube`."""


class ManifestError(ValueError):
    """Error: a manifest cannot be read."""


class WaitTimeoutError(AssertionError):
    """Error: what a test waited for did not happen; the text says what is there instead."""


class UnknownKindError(LookupError):
    """Error: the API server serves no kind of this name."""


class RealTimeError(RuntimeError):
    """Error: the cluster runs in real time, which cannot be moved."""
