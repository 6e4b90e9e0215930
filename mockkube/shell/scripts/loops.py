"""Detection of endless loops."""

from typing import Final

from mockkube.shell.scripts.syntax import (
    Case,
    Command,
    For,
    FunctionDefinition,
    Group,
    If,
    Script,
    SimpleCommand,
    Text,
    UnsupportedRest,
    While,
    Word,
)  # fmt: skip

_LEAVING_COMMANDS: Final = frozenset({"break", "exit", "return", "exec", "set", "kill", "eval", ".", "source"})
_TRUE_COMMANDS: Final = (("true",), (":",), ("/bin/true",), ("[", "1", "]"), ("[", "true", "]"))
_FALSE_COMMANDS: Final = (("false",), ("/bin/false",))


def is_endless(loop: While) -> bool:
    """Return whether no command in a loop can end it."""
    if len(loop.condition) != 1 or loop.condition[0].rest or len(loop.condition[0].first.commands) != 1:
        return False
    kind = loop.condition[0].first.commands[0].kind
    if not isinstance(kind, SimpleCommand) or loop.condition[0].first.negated:
        return False
    said = tuple(_literal_text(word) for word in kind.words)
    # Detected before it runs: interpreting it up to the bound on steps would leave its end unknown.
    return said in (_FALSE_COMMANDS if loop.until else _TRUE_COMMANDS) and _cannot_leave(loop.body)


def _cannot_leave(script: Script) -> bool:
    """Return whether a script cannot leave the loop around it."""
    return all(
        _cannot_leave_by_command(command)
        for chain in script
        for pipeline in (chain.first, *(one for _, one in chain.rest))
        for command in pipeline.commands
    )


def _cannot_leave_by_command(command: Command) -> bool:
    match command.kind:
        case SimpleCommand(words=words):
            name = _literal_text(words[0]) if words else ":"
            # A command whose name is computed may be one that leaves the loop.
            return name is not None and name not in _LEAVING_COMMANDS
        case If(branches=branches):
            return all(
                _cannot_leave(body) and (condition is None or _cannot_leave(condition)) for condition, body in branches
            )
        case While(condition=condition, body=body):
            return _cannot_leave(condition) and _cannot_leave(body)
        case For(body=body) | Group(body=body):
            return _cannot_leave(body)
        case Case(arms=arms):
            return all(_cannot_leave(body) for _, body in arms)
        case FunctionDefinition() | UnsupportedRest():
            return False
    return True


def _literal_text(word: Word) -> str | None:
    texts = [part.text for part in word if isinstance(part, Text)]
    return "".join(texts) if len(texts) == len(word) else None
