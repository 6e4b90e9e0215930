"""What is raised for a selector that cannot be read."""


class BadSelector(ValueError):
    """The text is no selector; the message is upstream's, and answered as it is with 400 BadRequest."""
