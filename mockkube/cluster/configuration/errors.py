"""Errors of starting a cluster; the command line turns them into one line and an exit code."""


class ConfigurationError(Exception):
    """Error of a flag, variable or file; the text names its place and the remedy."""


class StartError(Exception):
    """Error of the machine with a valid configuration: a port in use, a directory that cannot be written."""
