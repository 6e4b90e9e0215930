"""Syntax errors in the words of the C++ engine, whose parser ANTLR has generated from the same grammar as Go's."""

import re
from functools import cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional
from mockkube_cel.issues import LocatedIssue, Source

HEADER = re.compile(r"^ERROR: <input>:(-?[0-9]+):(-?[0-9]+): ", re.MULTILINE)
UNRECOGNIZED = "Syntax error: token recognition error at: '"
RESERVED = re.compile("no viable alternative at input '.(true|false|null)'")
# C++ has other limits, and other words for the errors that are found in the tree.
INCOMPARABLE = re.compile("Exceeded max|More than 12|variable name must|argument must|Invalid string|reserved|constant")


@cache
def load_parser() -> Any:
    return cel.NewEnv(extensions=[ext_optional.ExtOptional()])


def describe(source: Source) -> str | None:
    """Return the errors of an expression that does not parse; None if the two engines cannot be compared."""
    try:
        load_parser().compile(source.text, disable_check=True)
    except (RuntimeError, ValueError) as error:
        text = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
    else:
        raise AssertionError(f"C++ compiles {source.text!r}")
    headers = list(HEADER.finditer(text))
    if INCOMPARABLE.search(text) or not headers:
        return None
    ends = [header.start() for header in headers[1:]] + [len(text)]
    issues = [
        LocatedIssue(int(header[1]), int(header[2]) - 1, read_message(text[header.end() : end]))
        for header, end in zip(headers, ends, strict=True)
    ]
    return source.render(translate(issue, source) for issue in issues if "<<nil>> parsetree" not in issue.message)


def read_message(text: str) -> str:
    """Return the message without the line of the source and the caret."""
    message, _, snippet = text.rstrip("\n").rpartition("\n | ")
    if not snippet or not message:
        return text.rstrip("\n")
    return message.rpartition("\n | ")[0] or message


def translate(issue: LocatedIssue, source: Source) -> LocatedIssue:
    """Return the error in Go's words, where C++ has others."""
    message = RESERVED.sub(r"mismatched input '\1' expecting IDENTIFIER", issue.message.replace("'\\u003F'", "'?'"))
    return LocatedIssue(issue.line, issue.column if source.text else -1, message)
