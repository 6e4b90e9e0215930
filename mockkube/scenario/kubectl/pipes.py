"""Pipes behind a kubectl command: `grep` as documents use it is built in."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from mockkube.scenario.errors import StepFailed

_SWITCHES: Final = frozenset("vicEFe")
_OPERATOR: Final = re.compile(r"\\([+?|(){}])|([+?|(){}])")


def split_pipes(text: str) -> tuple[list[str], list[list[str]]]:
    """Return the words of the first command, and those of each command it is piped into."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise StepFailed(f"kubectl: {error}: {text}") from None
    commands: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands[0], commands[1:]


def apply_pipes(printed: str, pipes: Sequence[Sequence[str]]) -> str:
    """Return the output after all pipes."""
    for pipe in pipes:
        if pipe[:1] != ["grep"]:
            raise StepFailed(f"| {' '.join(pipe)}: only grep is built in: use a script")
        printed = _grep(printed, pipe[1:])
    return printed


def _grep(printed: str, words: Sequence[str]) -> str:
    switches = {letter for word in words if _is_switch(word) for letter in word[1:]}
    patterns = [word for word in words if not _is_switch(word)]
    if switches - _SWITCHES or len(patterns) != 1:
        raise StepFailed(
            f"| grep {' '.join(words)}: only one pattern and -{', -'.join(sorted(_SWITCHES))} are built in"
        )
    pattern = _compile_pattern(patterns[0], switches)
    # A final line end does not start another, empty line.
    lines = printed.split("\n")[: -1 if printed.endswith("\n") or not printed else None]
    matching = [line for line in lines if (pattern.search(line) is None) is ("v" in switches)]
    return f"{len(matching)}\n" if "c" in switches else "".join(f"{line}\n" for line in matching)


def _is_switch(word: str) -> bool:
    return len(word) > 1 and word.startswith("-")


def _compile_pattern(text: str, switches: set[str]) -> re.Pattern[str]:
    """Return grep's pattern as a Python one: basic patterns escape the operators, extended ones do not."""
    if "F" in switches:
        text = re.escape(text)
    elif "E" not in switches:
        text = _OPERATOR.sub(lambda match: match[1] or f"\\{match[2]}", text)
    try:
        return re.compile(text, re.IGNORECASE if "i" in switches else 0)
    except re.error as error:
        raise StepFailed(f"| grep {text}: not a regular expression: {error}") from None
