"""Syntax errors in the words of cel-go's generated parser.

The words follow from the internals of ANTLR, which the C++ engine shares with Go's, so the C++ parser produces them.
It is called only for expressions that our own parser rejects; see `docs/adr/0004-cel-engine.md`.
"""

import re
from functools import cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional

from mockkube_cel.issues import ISSUES_MAX, LocatedIssue, Source

_HEADER: Final = re.compile(r"^ERROR: <input>:(-?[0-9]+):(-?[0-9]+): ", re.MULTILINE)
_UNRECOGNIZED: Final = "Syntax error: token recognition error at: '"
# Replaces NUL, at which C++ would end the text.
_NUL_REPLACEMENT: Final = "\x01"
_QUESTION_MARK: Final = ("'\\u003F'", "'?'")
_RESERVED: Final = re.compile("no viable alternative at input '.(true|false|null)'")


@cache
def _parser() -> Any:
    return cel.NewEnv(extensions=[ext_optional.ExtOptional()])


def describe_syntax_errors(source: Source) -> list[LocatedIssue]:
    """Return the syntax errors of an expression that does not parse; there is at least one."""
    try:
        _parser().compile(source.text.replace("\0", _NUL_REPLACEMENT), disable_check=True)
    except RuntimeError as error:
        text = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
    except ValueError as error:
        text = str(error)
    else:
        text = "ERROR: <input>:1:1: Syntax error"
    found = [issue for issue in _split_issues(text) if "<<nil>> parsetree" not in issue.message]
    # Go stops at the first error past the limit; C++ continues and counts them.
    return [_to_go_wording(issue, source) for issue in found[: ISSUES_MAX + 1]]


def _split_issues(text: str) -> list[LocatedIssue]:
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    return [
        LocatedIssue(int(header[1]), int(header[2]) - 1, _message(text[header.end() : end]))
        for header, end in zip(headers, ends, strict=True)
    ]


def _message(text: str) -> str:
    """Return the message without the line of the source and the caret."""
    message, _, snippet = text.rstrip("\n").rpartition("\n | ")
    if not snippet or not message:
        return text.rstrip("\n")
    return message.rpartition("\n | ")[0] or message


def _to_go_wording(issue: LocatedIssue, source: Source) -> LocatedIssue:
    message = issue.message.replace(*_QUESTION_MARK)
    message = _RESERVED.sub(r"mismatched input '\1' expecting IDENTIFIER", message)
    if message.startswith(_UNRECOGNIZED):
        message = _restore_source_text(issue, message, source)
    column = issue.column if source.text else -1
    return LocatedIssue(issue.line, column, message.replace(_NUL_REPLACEMENT, "\0"))


def _restore_source_text(issue: LocatedIssue, message: str, source: Source) -> str:
    """Quote the original text, in which C++ prints line ends as escapes."""
    shown = message[len(_UNRECOGNIZED) : -1]
    start = sum(len(line) + 1 for line in source.lines[: issue.line - 1]) + issue.column
    length = len(shown)
    for end in range(start, len(source.text) + 1):
        part = source.text[start:end].replace("\0", _NUL_REPLACEMENT)
        if part.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") == shown:
            length = end - start
            break
    return f"{_UNRECOGNIZED}{source.text[start : start + length]}'"
