"""Errors of imports."""


class UnreadableDumpError(Exception):
    """Error: a dump cannot be read; its text names the file and the remedy."""
