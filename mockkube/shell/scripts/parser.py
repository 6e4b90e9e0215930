"""Parser for shell scripts. At an unsupported construct the tree ends with `UnsupportedRest`."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.scripts import words
from mockkube.shell.scripts.syntax import (
    ArithmeticCommand,
    Case,
    Chain,
    Command,
    CommandKind,
    ConditionCommand,
    For,
    FunctionDefinition,
    Group,
    If,
    Pipeline,
    Redirect,
    Script,
    SimpleCommand,
    Text,
    UnsupportedRest,
    While,
    Word,
)  # fmt: skip

CHARACTERS_MAX: Final = 64 * 1024
DEPTH_MAX: Final = 40
_CLOSERS: Final = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_REDIRECT: Final = re.compile(r"(\d*|&)(>>|>\||>&|<&|>|<<<|<<|<)")
_FUNCTION: Final = re.compile(r"([A-Za-z_][\w-]*)[ \t]*\([ \t]*\)")
_BLANK: Final = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
_BLANK_LINES: Final = re.compile(r"(?:(?:[ \t\n]|\\\n)+|#[^\n]*)*")


@lru_cache(maxsize=512)
def parse(text: str) -> Script:
    """Return the tree of a script, up to the first unsupported construct."""
    if len(text) > CHARACTERS_MAX:
        return (_UNSUPPORTED_REST,)
    parser = Parser(text)
    chains: list[Chain] = []
    try:
        while not parser.at_end():
            chains.append(parser.parse_chain())
    except Unsupported:
        # What comes before an unsupported construct is still interpreted: the script may end or sleep there.
        chains.append(_UNSUPPORTED_REST)
    return tuple(chains)


_UNSUPPORTED_REST: Final = Chain(Pipeline((Command(UnsupportedRest()),)))


class Parser:
    """Parses a script; raises Unsupported at unsupported constructs."""

    def __init__(self, text: str, at: int = 0, depth: int = 0) -> None:
        self.text, self.at, self.depth = text, at, depth

    def at_end(self) -> bool:
        """Skip white space and comments; return whether nothing else follows."""
        self.at = _match(_BLANK_LINES, self.text, self.at).end()
        return self.at >= len(self.text)

    def parse_until(self, *closers: str) -> Script:
        """Parse up to one of these words or operators, without consuming it."""
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise Unsupported
        chains = []
        while not self.at_end() and not any(self._is_next(closer) for closer in closers):
            chains.append(self.parse_chain())
        self.depth -= 1
        # A shell refuses an empty body, and a script that ends before the closing word.
        if self.at_end() or not chains:
            raise Unsupported
        return tuple(chains)

    def parse_chain(self) -> Chain:
        """Parse pipelines joined by `&&` and `||`, with their terminator."""
        first, rest = self._parse_pipeline(), []
        while (operator := self._take_operator("&&", "||")) is not None:
            self.at_end()
            rest.append((operator, self._parse_pipeline()))
        background = self._take_operator("&") is not None
        if not background:
            self._skip_blank()
            if self.text.startswith(";", self.at) and not self.text.startswith(";;", self.at):
                self.at += 1
        return Chain(first, tuple(rest), background)

    def _parse_pipeline(self) -> Pipeline:
        negated = False
        while self._take_keyword("!"):
            negated = not negated
        commands = [self._parse_command()]
        while not self.text.startswith("||", self._skip_blank()) and self._take_operator("|") is not None:
            self.at_end()
            commands.append(self._parse_command())
        return Pipeline(tuple(commands), negated)

    def _parse_command(self) -> Command:
        self._skip_blank()
        if (kind := self._parse_compound()) is None:
            return self._parse_simple()
        redirects = []
        while (redirect := self._parse_redirect()) is not None:
            redirects.append(redirect)
        return Command(kind, tuple(redirects))

    def _parse_compound(self) -> CommandKind | None:
        if self._take_operator("((") is not None:
            return ArithmeticCommand(self._parse_balanced())
        if self._take_operator("(") is not None:
            return self._parse_group(")", lambda body: Group(body, is_subshell=True))
        readers: dict[str, Callable[[], CommandKind]] = {
            "{": lambda: self._parse_group("}", lambda body: Group(body, is_subshell=False)),
            "[[": self._parse_test,
            "if": self._parse_if,
            "while": lambda: self._parse_while(until=False),
            "until": lambda: self._parse_while(until=True),
            "for": self._parse_for,
            "case": self._parse_case,
        }
        for name, reader in readers.items():
            if self._take_keyword(name):
                return reader()
        # A closing word without its opening one is a syntax error.
        if any(self._is_next(closer) for closer in _CLOSERS):
            raise Unsupported
        if (found := _FUNCTION.match(self.text, self.at)) is not None:
            self.at = found.end()
            self.at_end()
            return FunctionDefinition(found[1], self._parse_command())
        return None

    def _parse_group(self, closer: str, make: Callable[[Script], CommandKind]) -> CommandKind:
        body = self.parse_until(closer)
        self.at += len(closer)
        return make(body)

    def _parse_balanced(self) -> Word:
        expression, self.at = words.parse_arithmetic(self.text, self.at, self._parse_inner_script)
        return expression

    def _parse_if(self) -> If:
        branches: list[tuple[Script | None, Script]] = []
        while True:
            condition = self.parse_until("then")
            self._take_keyword("then")
            branches.append((condition, self.parse_until("elif", "else", "fi")))
            if self._take_keyword("elif"):
                continue
            if self._take_keyword("else"):
                branches.append((None, self.parse_until("fi")))
            if not self._take_keyword("fi"):
                raise Unsupported
            return If(tuple(branches))

    def _parse_while(self, *, until: bool) -> While:
        condition = self.parse_until("do")
        return While(condition, self._parse_loop_body(), until)

    def _parse_loop_body(self) -> Script:
        if not self._take_keyword("do"):
            raise Unsupported
        body = self.parse_until("done")
        self._take_keyword("done")
        return body

    def _parse_for(self) -> For:
        self._skip_blank()
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise Unsupported
        self.at = found.end()
        self.at_end()
        listed = None
        if self._take_keyword("in"):
            listed = self._parse_words()
        self._skip_separator()
        return For(found[0], listed, self._parse_loop_body())

    def _parse_words(self) -> tuple[Word, ...]:
        found = []
        while (word := self._parse_word()) is not None:
            found.append(word)
        return tuple(found)

    def _skip_separator(self) -> None:
        self._take_operator(";")
        self.at_end()

    def _parse_case(self) -> Case:
        subject = self._parse_word()
        self.at_end()
        if subject is None or not self._take_keyword("in"):
            raise Unsupported
        arms = []
        while not self.at_end() and not self._is_next("esac"):
            self._take_operator("(")
            patterns = [self._parse_word()]
            while self._take_operator("|") is not None:
                patterns.append(self._parse_word())
            if self._take_operator(")") is None:
                raise Unsupported
            self.at_end()
            body = () if self._is_next(";;") else self.parse_until(";;", "esac")
            self._take_operator(";;")
            arms.append((tuple(one for one in patterns if one is not None), body))
        if not self._take_keyword("esac"):
            raise Unsupported
        return Case(subject, tuple(arms))

    def _parse_test(self) -> ConditionCommand:
        found: list[Word] = []
        while True:
            self.at_end()
            if self._take_keyword("]]"):
                return ConditionCommand(tuple(found))
            sign = self._take_operator("&&", "||", "(", ")", "<", ">")
            word = (Text(sign),) if sign is not None else self._parse_word()
            if word is None:
                raise Unsupported
            found.append(word)

    def _parse_simple(self) -> Command:
        assignments: list[tuple[str, Word]] = []
        found: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            if (redirect := self._parse_redirect()) is not None:
                redirects.append(redirect)
            elif not found and (assigned := words.match_assignment(self.text, self.at)) is not None:
                self.at = assigned.end()
                value = () if self._ends_word() else self._parse_word()
                assignments.append((assigned[1], value or ()))
            elif (word := self._parse_word()) is not None:
                found.append(word)
            else:
                break
        if not (assignments or found or redirects):
            raise Unsupported
        return Command(SimpleCommand(tuple(assignments), tuple(found)), tuple(redirects))

    def _parse_redirect(self) -> Redirect | None:
        found = _REDIRECT.match(self.text, self._skip_blank())
        if found is None:
            return None
        # Here-documents are not supported.
        if found[2].startswith("<<"):
            raise Unsupported
        self.at = found.end()
        target = self._parse_word()
        if target is None:
            raise Unsupported
        both = found[1] == "&"
        descriptor = -1 if both else int(found[1] or (0 if found[2][0] == "<" else 1))
        return Redirect(descriptor, found[2].removesuffix("|"), target)

    def _parse_word(self) -> Word | None:
        self._skip_blank()
        word, self.at = words.parse_word(self.text, self.at, self._parse_inner_script)
        return word

    def _parse_inner_script(self, text: str, at: int) -> tuple[Script, int]:
        inner = Parser(text, at, self.depth)
        return inner.parse_until(")"), inner.at

    def _ends_word(self) -> bool:
        return self.at >= len(self.text) or self.text[self.at] in words.ENDS

    def _skip_blank(self) -> int:
        self.at = _match(_BLANK, self.text, self.at).end()
        return self.at

    def _take_operator(self, *signs: str) -> str | None:
        """Consume an operator if it is next."""
        self._skip_blank()
        for sign in signs:
            if self.text.startswith(sign, self.at):
                self.at += len(sign)
                return sign
        return None

    def _is_next(self, closer: str) -> bool:
        end = self.at + len(closer)
        alone = end >= len(self.text) or not closer[-1].isalnum() or self.text[end] in words.ENDS
        return alone and self.text.startswith(closer, self.at)

    def _take_keyword(self, name: str) -> bool:
        """Consume a reserved word if it is next."""
        self._skip_blank()
        end = self.at + len(name)
        if not self.text.startswith(name, self.at) or (end < len(self.text) and self.text[end] not in words.ENDS):
            return False
        self.at = end
        return True


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    assert found is not None, "these match the empty text"
    return found
