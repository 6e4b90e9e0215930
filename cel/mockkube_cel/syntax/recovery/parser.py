"""Parser that reports every syntax error of an expression and goes on after each, as ANTLR's parsers do.

upstream 1.36: antlr4-go/antlr error_strategy.go, cel-go parser/parser.go (recoveryLimitErrorStrategy)
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from mockkube_cel.syntax.literals import BadLiteral
from mockkube_cel.syntax.parser import DEPTH_MAX, LITERALS, RESERVED_NAMES
from mockkube_cel.syntax.recovery import lexer
from mockkube_cel.syntax.recovery.grammar import (
    END,
    RULE_END,
    TOKENS,
    Call,
    Choice,
    Element,
    Kind,
    Loop,
    Match,
    Precedence,
    Sequence,
    State,
    load_grammar,
)
from mockkube_cel.syntax.recovery.lexer import RecoveryToken
from mockkube_cel.syntax.recovery.prediction import NoViableAlternative, Predictor

# cel-go gives up after so many recoveries, or after skipping so many tokens in one of them.
_RECOVERIES_MAX: Final = 30
_SKIPPED_TOKENS_MAX: Final = 256
# Alternatives of `primary` that are a name, or a call of a global function.
_NAMED: Final = (1, 2)
_READERS: Final = {lexer.KINDS[kind]: read for kind, read in LITERALS.items()}
_ORDER: Final = {token: number for number, token in enumerate(TOKENS)}
_ESCAPES: Final = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


class RecoveryStopped(Exception):
    """The parser gives up; the message is an error without a position."""


class _SyntaxMismatch(Exception):
    """A rule cannot go on; carries the message and the offset of the error."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


@dataclass(slots=True)
class _Frame:
    """A rule that is being matched: the state that called it, and the precedence it was called with."""

    rule: str
    caller: State | None
    precedence: int
    # Number of issues of the tree up to the last complete entry of a map.
    complete_issues: int


class RecoveringParser:
    """Matches tokens with the grammar; calls `report` with offset and message of each error."""

    def __init__(self, text: str, tokens: list[RecoveryToken], report: Callable[[int, str], None]) -> None:
        self._text = text
        self._tokens = tokens
        self._kinds = [token.kind for token in tokens]
        self._report = report
        self._grammar = load_grammar()
        self._predictor = _load_predictor()
        self._position = 0
        self._state = self._grammar.starts["start"]
        self._frames: list[_Frame] = []
        self._depths: Counter[str] = Counter()
        # After an error, nothing is reported until a token matches.
        self._recovering = False
        self._recoveries = 0
        # Where the last recovery ended, and the states at that position: the second time a token is skipped.
        self._last_position = -1
        self._last_states: set[State] = set()
        # Offset and message of names and literals that fit the grammar and are refused nevertheless.
        self.tree_issues: list[tuple[int, str]] = []

    def parse(self) -> None:
        """Match all tokens; RecoveryStopped after too many errors."""
        self._call("start", 0)

    def _call(self, rule: str, precedence: int) -> None:
        frame = _Frame(rule, self._state if self._frames else None, precedence, len(self.tree_issues))
        self._frames.append(frame)
        self._depths[rule] += 1
        if self._depths[rule] > DEPTH_MAX:
            raise RecoveryStopped(f"expression recursion limit exceeded: {DEPTH_MAX}")
        self._state = self._grammar.starts[rule]
        try:
            self._run(self._grammar.bodies[rule])
        except _SyntaxMismatch as error:
            self._report_error(error.offset, error.message)
            self._recover()
            if rule == "mapInitializerList":  # cel-go does not look at a key without a value
                del self.tree_issues[frame.complete_issues :]
        self._depths[rule] -= 1
        self._frames.pop()
        if frame.caller is not None:
            self._state = frame.caller

    def _run(self, element: Element) -> None:
        match element:
            case Match():
                self._state = element.state
                self._match(element.tokens)
            case Call():
                self._state = element.state
                start = self._position
                self._call(element.rule, element.precedence)
                if element.rule == "literal" and not self._recovering:
                    self._check_literal(start)
                if element.rule == "expr":
                    self._frames[-1].complete_issues = len(self.tree_issues)
            case Sequence():
                for each in element.elements:
                    self._run(each)
            case Choice():
                self._run_choice(element)
            case Loop():
                self._run_loop(element)
            case Precedence():
                self._state = element.state

    def _run_choice(self, choice: Choice) -> None:
        self._state = choice.state
        self._synchronize()
        number = self._decide(choice.state)
        if number <= len(choice.alternatives):
            if choice.state.rule == "primary" and number in _NAMED and not choice.optional:
                self._check_name()
            self._run(choice.alternatives[number - 1])
        elif not choice.optional:
            raise self._no_viable_alternative(self._position, self._position)

    def _run_loop(self, loop: Loop) -> None:
        self._state = loop.entry
        self._synchronize()
        if not loop.at_least_one and self._decide(loop.decision) != 1:
            return
        while True:
            self._run(loop.body)
            self._state = loop.back
            self._synchronize()
            if self._decide(loop.decision) != 1:
                return

    def _decide(self, decision: State) -> int:
        """Return the number of the alternative to take, from 1; one past the last if no first token fits."""
        firsts = self._grammar.first_tokens(decision)
        if firsts is None:
            return self._predict(decision)
        token = self._kinds[self._position]
        return next((number for number, tokens in enumerate(firsts, 1) if token in tokens), len(firsts) + 1)

    def _predict(self, decision: State) -> int:
        precedence = self._frames[-1].precedence
        callers = (frame.caller.edges[0].follow for frame in self._frames if frame.caller is not None)
        follows = [follow for follow in callers if follow is not None]
        try:
            return self._predictor.predict(decision, precedence, self._kinds, self._position, follows)
        except NoViableAlternative as error:
            raise self._no_viable_alternative(self._position, error.position) from None

    def _check_name(self) -> None:
        """Refuse a reserved name at the beginning of an alternative."""
        at = self._position + (self._kinds[self._position] == "'.'")
        if self._tokens[at].text in RESERVED_NAMES:
            offset = self._tokens[self._position].offset
            self.tree_issues.append((offset, f"reserved identifier: {self._tokens[at].text}"))

    def _check_literal(self, start: int) -> None:
        """Refuse a number out of range, or a string with an escape of no character."""
        tokens = self._tokens[start : self._position]
        if not tokens or (read := _READERS.get(tokens[-1].kind)) is None:
            return
        try:
            read("".join(token.text for token in tokens))
        except BadLiteral as error:
            self.tree_issues.append((tokens[0].offset, str(error)))

    def _match(self, tokens: frozenset[str]) -> None:
        if self._kinds[self._position] not in tokens:
            self._recover_in_place()
            return
        self._end_recovery()
        self._consume()

    def _consume(self) -> None:
        if self._kinds[self._position] != END:
            self._position += 1

    def _end_recovery(self) -> None:
        self._recovering = False
        self._last_position = -1
        self._last_states = set()

    def _expected(self, state: State) -> frozenset[str]:
        """Return the tokens that may follow a state, in this rule and those that called it."""
        found = set(following := self._grammar.next_tokens(state))
        for caller in self._follows():
            if RULE_END not in following:
                break
            following = self._grammar.next_tokens(caller)
            found |= following
        return frozenset(found - {RULE_END})

    def _follows(self) -> Iterator[State]:
        """Yield where the parser goes on after each rule, innermost first."""
        for frame in reversed(self._frames):
            if frame.caller is not None:
                follow = frame.caller.edges[0].follow
                assert follow is not None
                yield follow

    def _synchronize(self) -> None:
        """Check that the next token fits before a choice or loop; if not, delete it or skip tokens."""
        following = self._grammar.next_tokens(self._state)
        if self._recovering or RULE_END in following or self._kinds[self._position] in following:
            return
        if self._state.kind is Kind.CHOICE:
            if not self._delete_token():
                raise self._mismatch()
            return
        self._report_unwanted()
        self._skip_until(self._expected(self._state) | self._recovery_tokens(), limited=False)

    def _delete_token(self) -> bool:
        """Skip one token if the one after it fits; report it as extraneous."""
        after = self._kinds[min(self._position + 1, len(self._kinds) - 1)]
        if after not in self._expected(self._state):
            return False
        self._report_unwanted()
        self._consume()
        self._end_recovery()
        return True

    def _recover_in_place(self) -> None:
        """Delete a token, or go on as if the missing one were there; else the rule cannot go on."""
        self._count_recovery()
        if self._delete_token():
            self._consume()
            return
        if self._kinds[self._position] in self._expected(self._state.edges[0].target):
            token = self._tokens[self._position]
            self._report_error(token.offset, f"missing {_join(self._expected(self._state))} at {_quote(token.shown)}")
            return
        raise self._mismatch()

    def _recover(self) -> None:
        """Skip tokens until one that a rule in progress can go on with."""
        self._count_recovery()
        if self._last_position == self._position and self._state in self._last_states:
            self._consume()
        self._last_position = self._position
        self._last_states.add(self._state)
        self._skip_until(self._recovery_tokens(), limited=True)

    def _recovery_tokens(self) -> frozenset[str]:
        found = frozenset[str]().union(*map(self._grammar.next_tokens, self._follows()))
        return found - {RULE_END}

    def _skip_until(self, tokens: frozenset[str], *, limited: bool) -> None:
        skipped = 0
        while self._kinds[self._position] != END and self._kinds[self._position] not in tokens:
            if limited and skipped >= _SKIPPED_TOKENS_MAX:
                raise RecoveryStopped(f"error recovery token lookahead limit exceeded: {_SKIPPED_TOKENS_MAX}")
            self._consume()
            skipped += 1

    def _count_recovery(self) -> None:
        if self._recoveries == _RECOVERIES_MAX:
            self._report(
                self._tokens[self._position].offset, f"error recovery attempt limit exceeded: {_RECOVERIES_MAX}"
            )
            raise RecoveryStopped
        self._recoveries += 1

    def _report_error(self, offset: int, message: str) -> None:
        if not self._recovering:
            self._recovering = True
            self._report(offset, message)

    def _report_unwanted(self) -> None:
        token = self._tokens[self._position]
        expected = _join(self._expected(self._state))
        self._report_error(token.offset, f"extraneous input {_quote(token.shown)} expecting {expected}")

    def _mismatch(self) -> _SyntaxMismatch:
        token = self._tokens[self._position]
        expected = _join(self._expected(self._state))
        return _SyntaxMismatch(token.offset, f"mismatched input {_quote(token.shown)} expecting {expected}")

    def _no_viable_alternative(self, start: int, end: int) -> _SyntaxMismatch:
        first, last = self._tokens[start], self._tokens[end]
        shown = (
            END if first.kind == END else lexer.remove_errors(self._text, first.offset, last.offset + len(last.text))
        )
        return _SyntaxMismatch(last.offset, f"no viable alternative at input {_quote(shown)}")


@cache
def _load_predictor() -> Predictor:
    return Predictor(load_grammar())


def _quote(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"


def _join(tokens: frozenset[str]) -> str:
    names = sorted(tokens, key=_ORDER.__getitem__)
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
