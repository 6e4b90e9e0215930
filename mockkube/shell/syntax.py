"""The tree of a shell script, as far as it is read."""

from dataclasses import dataclass


class Unread(Exception):
    """The command does not say what happens from here on: it is beyond what is read."""


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text; what is quoted is neither split nor matched with files."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$NAME`, `${NAME}`, `${NAME:-word}`; the operator is empty, or what stands between name and word."""

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
    """Where a descriptor goes: to a file, or to another descriptor."""

    descriptor: int
    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments and a program with its arguments."""

    assignments: tuple[tuple[str, Word], ...] = ()
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Test:
    """`[[ ... ]]`: its words are not split, and combine with `&&`, `||`, `!` and parentheses."""

    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Let:
    """`((expression))`."""

    expression: Word


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with what follows from each; an `else` has no condition."""

    branches: tuple[tuple["Script | None", "Script"], ...]


@dataclass(frozen=True, slots=True)
class While:
    """A loop while a condition holds, or until it does."""

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
    """A word, and patterns with what follows from each."""

    word: Word
    arms: tuple[tuple[tuple[Word, ...], "Script"], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`{ ...; }`, or `( ... )` with variables of its own."""

    body: "Script"
    apart: bool


@dataclass(frozen=True, slots=True)
class Define:
    """`name() { ...; }`."""

    name: str
    body: "Command"


@dataclass(frozen=True, slots=True)
class Beyond:
    """What could not be read: nothing is known once it is reached."""


Kind = Simple | Test | Let | If | While | For | Case | Group | Define | Beyond


@dataclass(frozen=True, slots=True)
class Command:
    """One command with its redirections."""

    kind: Kind
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each reading what the one before prints."""

    commands: tuple[Command, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """Pipelines joined by `&&` and `||`, maybe in the background."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...] = ()
    background: bool = False


Script = tuple[Chain, ...]
