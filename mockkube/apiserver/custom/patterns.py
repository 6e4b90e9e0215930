"""Match patterns of schemas, in Go's dialect of regular expressions."""

from mockkube_cel.golang.goregexp import RegexError, compile_pattern


def matches_pattern(pattern: str, text: str) -> bool:
    """Return whether the pattern matches a part of the text; an invalid pattern never does."""
    try:
        return compile_pattern(pattern).search(text) is not None
    except RegexError:
        return False
