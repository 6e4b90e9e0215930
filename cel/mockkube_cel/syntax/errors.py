"""Syntax errors of an expression that does not parse, in the words of cel-go.

Called only for expressions that our own parser rejects; see `docs/adr/0008-syntax-errors-without-antlr.md`.
"""

import re
from typing import Final

from mockkube_cel.issues import ISSUES_MAX, NOWHERE, Issue, LocatedIssue, Source
from mockkube_cel.recursion import raised_recursion_limit
from mockkube_cel.syntax.parser import DEPTH_MAX
from mockkube_cel.syntax.recovery import lexer
from mockkube_cel.syntax.recovery.parser import RecoveringParser, RecoveryStopped

# upstream 1.36: cel-go parser/parser.go, reservedIdentifier
_RESERVED: Final = re.compile("no viable alternative at input '.(true|false|null)'")
_EXPECTED_NAME: Final = r"mismatched input '\1' expecting IDENTIFIER"
# Frames that the recovering parser takes for a level of nesting, in units of the other parser's.
_LEVELS: Final = 4 * DEPTH_MAX


def describe_syntax_errors(source: Source) -> list[LocatedIssue]:
    """Return the syntax errors of an expression that does not parse; there is at least one."""
    issues: list[Issue] = []

    def report(offset: int, message: str) -> None:
        issues.append(Issue(offset, f"Syntax error: {_RESERVED.sub(_EXPECTED_NAME, message)}"))
        if len(issues) > ISSUES_MAX:  # the last one only tells that there are more
            raise RecoveryStopped

    try:
        parser = RecoveringParser(source.text, lexer.tokenize(source.text, report), report)
        with raised_recursion_limit(_LEVELS):
            parser.parse()
        issues += [Issue(offset, message) for offset, message in parser.tree_issues]
    except RecoveryStopped as error:
        if str(error):
            issues.append(Issue(NOWHERE, str(error)))
    return [_locate(issue, source) for issue in issues]


def _locate(issue: Issue, source: Source) -> LocatedIssue:
    located = source.locate(issue)
    return located if source.text else LocatedIssue(located.line, -1, located.message)
