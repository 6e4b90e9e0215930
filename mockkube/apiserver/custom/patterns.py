"""Patterns of schemas, in Go's dialect of regular expressions."""

from mockkube_cel.golang.goregexp import RegexError, compile_pattern


def found_in(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text; never, if it is none."""
    try:
        return compile_pattern(pattern).search(text) is not None
    except RegexError:
        return False
