"""How playing a scenario can end other than well."""


class ScenarioError(Exception):
    """A file cannot be played. The text names the file, the line and the remedy."""


class Failure(Exception):
    """A claim does not hold, or an operation was refused."""


class Impossible(Exception):
    """A step cannot be done in this world; the text says why. It is skipped."""


class TimedOut(Exception):
    """Something took longer in real time than it may."""
