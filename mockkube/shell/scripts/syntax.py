"""Syntax tree of a shell script."""

from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text; quoted text is neither split nor matched against files."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$NAME`, `${NAME}`, `${NAME:-word}`; the operator stands between name and word, or is empty."""

    name: str
    operator: str = ""
    word: "Word" = ()
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((expression))`."""

    expression: "Word"
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(script)`."""

    script: "Script"
    quoted: bool = False


Word = tuple[Text | Parameter | Arithmetic | Substitution, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """Target of a file descriptor: a file, or another descriptor."""

    descriptor: int
    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """Assignments and a program with its arguments."""

    assignments: tuple[tuple[str, Word], ...] = ()
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class ConditionCommand:
    """`[[ ... ]]`: its words are not split, and combine with `&&`, `||`, `!` and parentheses."""

    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class ArithmeticCommand:
    """`((expression))`."""

    expression: Word


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with their bodies; an `else` has no condition."""

    branches: tuple[tuple["Script | None", "Script"], ...]


@dataclass(frozen=True, slots=True)
class While:
    """A loop that runs while, or until, a condition is true."""

    condition: "Script"
    body: "Script"
    until: bool


@dataclass(frozen=True, slots=True)
class For:
    """A loop over words; None: over the arguments."""

    name: str
    words: tuple[Word, ...] | None
    body: "Script"


@dataclass(frozen=True, slots=True)
class Case:
    """A word, and patterns with their bodies."""

    word: Word
    arms: tuple[tuple[tuple[Word, ...], "Script"], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`{ ...; }`, or `( ... )` with variables of its own."""

    body: "Script"
    is_subshell: bool


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """`name() { ...; }`."""

    name: str
    body: "Command"


@dataclass(frozen=True, slots=True)
class UnsupportedRest:
    """An unsupported construct: nothing after it is known."""


CommandKind = (
    SimpleCommand
    | ConditionCommand
    | ArithmeticCommand
    | If
    | While
    | For
    | Case
    | Group
    | FunctionDefinition
    | UnsupportedRest
)


@dataclass(frozen=True, slots=True)
class Command:
    """One command with its redirections."""

    kind: CommandKind
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each reading the output of the one before."""

    commands: tuple[Command, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """Pipelines joined by `&&` and `||`, possibly in the background."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...] = ()
    background: bool = False


Script = tuple[Chain, ...]
