"""Why a cluster was not started: the answers a front door turns into one line and an exit code."""


class ConfigurationError(Exception):
    """A flag, variable or file says something that cannot be meant. The text names it, its place and the remedy."""


class StartError(Exception):
    """The configuration is fine and the machine refuses: a port in use, a directory that cannot be written."""
