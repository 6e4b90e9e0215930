"""Error of selectors that cannot be parsed."""


class BadSelector(ValueError):
    """Text or object that is no selector; upstream's message, sent with 400 BadRequest."""
