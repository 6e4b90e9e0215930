"""Errors of scenarios: files that cannot be read, checks that fail, steps that are skipped or time out."""


class ScenarioError(Exception):
    """A file that cannot be played. The text names file, line and remedy."""


class StepFailed(Exception):
    """A check that does not hold, or a rejected operation."""


class StepNotSupported(Exception):
    """A step that this world does not support, with the reason; it is skipped."""


class StepTimedOut(Exception):
    """An operation that exceeded its limit in real time."""
