"""Parser for shell scripts. At an unsupported construct the tree ends with `UnsupportedRest`."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from mockkube.shell import words
from mockkube.shell.syntax import (
    Case,
    Chain,
    Command,
    Define,
    For,
    Group,
    If,
    Kind,
    Let,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Test,
    Text,
    Unsupported,
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
_EMPTY: Final = re.compile(r"(?:(?:[ \t\n]|\\\n)+|#[^\n]*)*")


@lru_cache(maxsize=512)
def parse(text: str) -> Script:
    """Return the tree of a script, up to the first unsupported construct."""
    if len(text) > CHARACTERS_MAX:
        return (_BEYOND,)
    parser = Parser(text)
    chains: list[Chain] = []
    try:
        while not parser.at_end():
            chains.append(parser.chain())
    except Unsupported:
        # What comes before an unsupported construct is still interpreted: the script may end or sleep there.
        chains.append(_BEYOND)
    return tuple(chains)


_BEYOND: Final = Chain(Pipeline((Command(UnsupportedRest()),)))


class Parser:
    """Parses a script; raises Unsupported at unsupported constructs."""

    def __init__(self, text: str, at: int = 0, depth: int = 0) -> None:
        self.text, self.at, self.depth = text, at, depth

    def at_end(self) -> bool:
        """Skip white space and comments; return whether nothing else follows."""
        self.at = _match(_EMPTY, self.text, self.at).end()
        return self.at >= len(self.text)

    def until(self, *closers: str) -> Script:
        """Parse up to one of these words or operators, without consuming it."""
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise Unsupported
        chains = []
        while not self.at_end() and not any(self._is_next(closer) for closer in closers):
            chains.append(self.chain())
        self.depth -= 1
        # A shell refuses an empty body, and a script that ends before the closing word.
        if self.at_end() or not chains:
            raise Unsupported
        return tuple(chains)

    def chain(self) -> Chain:
        """Parse pipelines joined by `&&` and `||`, with their terminator."""
        first, rest = self._pipeline(), []
        while (operator := self._sign("&&", "||")) is not None:
            self.at_end()
            rest.append((operator, self._pipeline()))
        background = self._sign("&") is not None
        if not background:
            self._blank()
            if self.text.startswith(";", self.at) and not self.text.startswith(";;", self.at):
                self.at += 1
        return Chain(first, tuple(rest), background)

    def _pipeline(self) -> Pipeline:
        negated = False
        while self._keyword("!"):
            negated = not negated
        commands = [self._command()]
        while not self.text.startswith("||", self._blank()) and self._sign("|") is not None:
            self.at_end()
            commands.append(self._command())
        return Pipeline(tuple(commands), negated)

    def _command(self) -> Command:
        self._blank()
        if (kind := self._compound()) is None:
            return self._simple()
        redirects = []
        while (redirect := self._redirect()) is not None:
            redirects.append(redirect)
        return Command(kind, tuple(redirects))

    def _compound(self) -> Kind | None:
        if self._sign("((") is not None:
            return Let(self._parse_balanced())
        if self._sign("(") is not None:
            return self._parse_group(")", lambda body: Group(body, apart=True))
        readers: dict[str, Callable[[], Kind]] = {
            "{": lambda: self._parse_group("}", lambda body: Group(body, apart=False)),
            "[[": self._test,
            "if": self._if,
            "while": lambda: self._loop(until=False),
            "until": lambda: self._loop(until=True),
            "for": self._for,
            "case": self._case,
        }
        for name, reader in readers.items():
            if self._keyword(name):
                return reader()
        # A closing word without its opening one is a syntax error.
        if any(self._is_next(closer) for closer in _CLOSERS):
            raise Unsupported
        if (found := _FUNCTION.match(self.text, self.at)) is not None:
            self.at = found.end()
            self.at_end()
            return Define(found[1], self._command())
        return None

    def _parse_group(self, closer: str, make: Callable[[Script], Kind]) -> Kind:
        body = self.until(closer)
        self.at += len(closer)
        return make(body)

    def _parse_balanced(self) -> Word:
        expression, self.at = words.arithmetic(self.text, self.at, self._inner)
        return expression

    def _if(self) -> If:
        branches: list[tuple[Script | None, Script]] = []
        while True:
            condition = self.until("then")
            self._keyword("then")
            branches.append((condition, self.until("elif", "else", "fi")))
            if self._keyword("elif"):
                continue
            if self._keyword("else"):
                branches.append((None, self.until("fi")))
            if not self._keyword("fi"):
                raise Unsupported
            return If(tuple(branches))

    def _loop(self, *, until: bool) -> While:
        condition = self.until("do")
        return While(condition, self._body(), until)

    def _body(self) -> Script:
        if not self._keyword("do"):
            raise Unsupported
        body = self.until("done")
        self._keyword("done")
        return body

    def _for(self) -> For:
        self._blank()
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise Unsupported
        self.at = found.end()
        self.at_end()
        listed = None
        if self._keyword("in"):
            listed = self._words()
        self._separator()
        return For(found[0], listed, self._body())

    def _words(self) -> tuple[Word, ...]:
        found = []
        while (word := self._word()) is not None:
            found.append(word)
        return tuple(found)

    def _separator(self) -> None:
        self._sign(";")
        self.at_end()

    def _case(self) -> Case:
        subject = self._word()
        self.at_end()
        if subject is None or not self._keyword("in"):
            raise Unsupported
        arms = []
        while not self.at_end() and not self._is_next("esac"):
            self._sign("(")
            patterns = [self._word()]
            while self._sign("|") is not None:
                patterns.append(self._word())
            if self._sign(")") is None:
                raise Unsupported
            self.at_end()
            body = () if self._is_next(";;") else self.until(";;", "esac")
            self._sign(";;")
            arms.append((tuple(one for one in patterns if one is not None), body))
        if not self._keyword("esac"):
            raise Unsupported
        return Case(subject, tuple(arms))

    def _test(self) -> Test:
        found: list[Word] = []
        while True:
            self.at_end()
            if self._keyword("]]"):
                return Test(tuple(found))
            sign = self._sign("&&", "||", "(", ")", "<", ">")
            word = (Text(sign),) if sign is not None else self._word()
            if word is None:
                raise Unsupported
            found.append(word)

    def _simple(self) -> Command:
        assignments: list[tuple[str, Word]] = []
        found: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            if (redirect := self._redirect()) is not None:
                redirects.append(redirect)
            elif not found and (assigned := words.assignment(self.text, self.at)) is not None:
                self.at = assigned.end()
                value = () if self._ends_word() else self._word()
                assignments.append((assigned[1], value or ()))
            elif (word := self._word()) is not None:
                found.append(word)
            else:
                break
        if not (assignments or found or redirects):
            raise Unsupported
        return Command(Simple(tuple(assignments), tuple(found)), tuple(redirects))

    def _redirect(self) -> Redirect | None:
        found = _REDIRECT.match(self.text, self._blank())
        if found is None:
            return None
        # Here-documents are not supported.
        if found[2].startswith("<<"):
            raise Unsupported
        self.at = found.end()
        target = self._word()
        if target is None:
            raise Unsupported
        both = found[1] == "&"
        descriptor = -1 if both else int(found[1] or (0 if found[2][0] == "<" else 1))
        return Redirect(descriptor, found[2].removesuffix("|"), target)

    def _word(self) -> Word | None:
        self._blank()
        word, self.at = words.word(self.text, self.at, self._inner)
        return word

    def _inner(self, text: str, at: int) -> tuple[Script, int]:
        inner = Parser(text, at, self.depth)
        return inner.until(")"), inner.at

    def _ends_word(self) -> bool:
        return self.at >= len(self.text) or self.text[self.at] in words.ENDS

    def _blank(self) -> int:
        self.at = _match(_BLANK, self.text, self.at).end()
        return self.at

    def _sign(self, *signs: str) -> str | None:
        """Consume an operator if it is next."""
        self._blank()
        for sign in signs:
            if self.text.startswith(sign, self.at):
                self.at += len(sign)
                return sign
        return None

    def _is_next(self, closer: str) -> bool:
        end = self.at + len(closer)
        alone = end >= len(self.text) or not closer[-1].isalnum() or self.text[end] in words.ENDS
        return alone and self.text.startswith(closer, self.at)

    def _keyword(self, name: str) -> bool:
        """Consume a reserved word if it is next."""
        self._blank()
        end = self.at + len(name)
        if not self.text.startswith(name, self.at) or (end < len(self.text) and self.text[end] not in words.ENDS):
            return False
        self.at = end
        return True


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    assert found is not None, "these match the empty text"
    return found
