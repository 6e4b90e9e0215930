"""Errors in an expression, rendered as cel-go does: position, message, source line and caret."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

# Number of issues that are printed; of the others only their number is.
ISSUES_MAX: Final = 100
_SNIPPET_BYTES_MAX: Final = 16384
# Offset of an issue with the expression as a whole.
NOWHERE: Final = -1


@dataclass(frozen=True, slots=True)
class Issue:
    """One error at an offset in characters."""

    offset: int
    message: str


@dataclass(frozen=True, slots=True)
class LocatedIssue:
    """One error at a line (from 1) and column (from 0)."""

    line: int
    column: int
    message: str


class Source:
    """The text of an expression, with its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    def locate(self, issue: Issue) -> LocatedIssue:
        """Return the issue with its line and column."""
        if issue.offset == NOWHERE:
            return LocatedIssue(-1, -1, issue.message)
        before = self.text[: issue.offset]
        line = before.count("\n")
        return LocatedIssue(line + 1, len(before) - (before.rfind("\n") + 1), issue.message)

    def render(self, issues: Iterable[LocatedIssue]) -> str:
        """Print issues in the order of their positions."""
        ordered = sorted(issues, key=lambda issue: (issue.line, issue.column))
        texts = [self._render(issue) for issue in ordered[:ISSUES_MAX]]
        if len(ordered) > ISSUES_MAX:
            texts.append(f"{len(ordered) - ISSUES_MAX} more errors were truncated")
        return "\n".join(texts)

    def _render(self, issue: LocatedIssue) -> str:
        text = f"ERROR: <input>:{issue.line}:{issue.column + 1}: {issue.message}"
        if not self.text or not 1 <= issue.line <= len(self.lines):
            return text
        line = self.lines[issue.line - 1]
        if len(line.encode(errors="surrogatepass")) > _SNIPPET_BYTES_MAX:
            return text
        line = line.replace("\t", " ")
        # Wide characters get a wide dot and caret, so that the caret stays below the column in question.
        dots = "".join("." if letter.isascii() else "．" for letter in line[: issue.column])
        at_caret = line[issue.column : issue.column + 1]
        return f"{text}\n | {line}\n | {dots}{'^' if at_caret.isascii() else '＾'}"
