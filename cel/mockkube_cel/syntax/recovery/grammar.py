"""CEL's grammar as a network of states, in the form of ANTLR's augmented transition networks.

upstream 1.36: cel-go parser/gen/CEL.g4
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cache
from typing import Final

_TOKENS: Final = (
    "<EOF> '==' '!=' 'in' '<' '<=' '>=' '>' '&&' '||' '[' ']' '{' '}' '(' ')' '.' ',' '-' '!' '?' ':' '+' '*' '/' '%' "
    "'true' 'false' 'null' NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER ESC_IDENTIFIER"
)
# In the order of their numbers, in which messages list them. Names without quotes have many texts.
TOKENS: Final = tuple(_TOKENS.split())
END: Final = "<EOF>"
# Stands in a set of next tokens for: the rule may end here.
RULE_END: Final = ""
# `=1=` before an alternative of a left-recursive rule is its precedence; `calc=2` calls a rule for operators that bind
# at least as tight.
RULES: Final = {
    "start": "expr <EOF>",
    "expr": "conditionalOr ( '?' conditionalOr ':' expr )?",
    "conditionalOr": "conditionalAnd ( '||' conditionalAnd )*",
    "conditionalAnd": "relation ( '&&' relation )*",
    "relation": "calc ( =1= '<'|'<='|'>='|'>'|'=='|'!='|'in' relation=2 )*",
    "calc": "unary ( =2= '*'|'/'|'%' calc=3 | =1= '+'|'-' calc=2 )*",
    "unary": "member | '!' + member | '-' + member",
    "member": "primary ( =3= '.' '?' ? escapeIdent | =2= '.' IDENTIFIER '(' exprList ? ')' | =1= '[' '?' ? expr ']' )*",
    "primary": "'.' ? IDENTIFIER | '.' ? IDENTIFIER '(' exprList ? ')' | '(' expr ')' | '[' listInit ? ',' ? ']' | "
    "'{' mapInitializerList ? ',' ? '}' | '.' ? IDENTIFIER ( '.' IDENTIFIER )* '{' fieldInitializerList ? ',' ? '}' | "
    "literal",
    "exprList": "expr ( ',' expr )*",
    "listInit": "optExpr ( ',' optExpr )*",
    "fieldInitializerList": "optField ':' expr ( ',' optField ':' expr )*",
    "optField": "'?' ? escapeIdent",
    "mapInitializerList": "optExpr ':' expr ( ',' optExpr ':' expr )*",
    "escapeIdent": "IDENTIFIER | ESC_IDENTIFIER",
    "optExpr": "'?' ? expr",
    "literal": "'-' ? NUM_INT | NUM_UINT | '-' ? NUM_FLOAT | STRING | BYTES | 'true' | 'false' | 'null'",
}
LEFT_RECURSIVE: Final = frozenset(("relation", "calc", "member"))
_TOKEN: Final = re.compile(r"'[^']+'|[\w<>]+")


class Kind(Enum):
    """Kind of a state, by which the parser recovers from an unexpected token."""

    BASIC = auto()
    # Before a choice or a loop, where one unexpected token is deleted.
    CHOICE = auto()
    # After a round of a loop, where tokens are skipped until the loop goes on or what follows it begins.
    LOOP_BACK = auto()
    # After a choice or a loop.
    BLOCK_END = auto()
    RULE_STOP = auto()


@dataclass(eq=False, slots=True)
class State:
    """One state; alternatives of a decision are its edges, in order."""

    rule: str
    kind: Kind = Kind.BASIC
    edges: "list[Edge]" = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A transition: to match tokens, to call a rule and go on at `follow`, to check a precedence, or for free."""

    target: State
    tokens: frozenset[str] = frozenset()
    follow: State | None = None
    precedence: int = 0
    checks_precedence: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Match one token of a set."""

    state: State
    tokens: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Call a rule."""

    state: State
    rule: str
    precedence: int


@dataclass(frozen=True, slots=True, eq=False)
class Precedence:
    """Go on only if the operator binds tight enough."""

    state: State
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """Elements one after the other."""

    elements: "tuple[Element, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of several alternatives; without a chosen one, an optional choice is skipped."""

    state: State
    alternatives: tuple[Sequence, ...]
    optional: bool


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Any number of rounds, or at least one; `decision` is where the parser chooses whether to go on."""

    entry: State
    back: State
    decision: State
    body: "Sequence | Choice"
    at_least_one: bool


Element = Match | Call | Precedence | Sequence | Choice | Loop


class Grammar:
    """Rules as elements to run, and as states to look ahead in."""

    def __init__(self) -> None:
        self.starts = {rule: State(rule) for rule in RULES}
        self.stops = {rule: State(rule, Kind.RULE_STOP) for rule in RULES}
        # Calls of each rule: where the parser goes on after it, and with which precedence it was called.
        self.callers: dict[str, list[Edge]] = {rule: [] for rule in RULES}
        # Decisions whether another operator of a left-recursive rule follows.
        self.operator_loops: set[State] = set()
        self.bodies = {rule: _Builder(self, rule).build() for rule in RULES}
        self._skip_plain_states()
        self._next_tokens: dict[State, frozenset[str]] = {}
        self._decisions: dict[State, tuple[frozenset[str], ...] | None] = {}

    def _skip_plain_states(self) -> None:
        """Leave out the states between elements, as ANTLR does: what differs in them alone is no different state."""
        todo, seen = list(self.starts.values()), dict[State, None]()
        while todo:
            state = todo.pop()
            if state in seen:
                continue
            seen[state] = None
            state.edges = [
                replace(edge, target=_skip(edge.target), follow=edge.follow and _skip(edge.follow))
                for edge in state.edges
            ]
            todo += [one for edge in state.edges for one in (edge.target, edge.follow) if one is not None]
        for state in seen:
            for edge in state.edges:
                if edge.follow is not None:
                    self.callers[edge.target.rule].append(edge)

    def next_tokens(self, state: State) -> frozenset[str]:
        """Return the tokens that may follow within the rule, and RULE_END if it may end."""
        known = self._next_tokens.get(state)
        if known is None:
            known = self._next_tokens[state] = frozenset(self._look(state, ()))
        return known

    def _look(self, state: State, returns: tuple[State, ...]) -> Iterator[str]:
        if state.kind is Kind.RULE_STOP:
            if not returns:
                yield RULE_END
            else:
                yield from self._look(returns[-1], returns[:-1])
            return
        for edge in state.edges:
            yield from edge.tokens
            if not edge.tokens:
                yield from self._look(edge.target, returns if edge.follow is None else (*returns, edge.follow))

    def first_tokens(self, decision: State) -> tuple[frozenset[str], ...] | None:
        """Return the first tokens of each alternative; None if one token or a precedence does not decide alone."""
        if decision not in self._decisions:
            firsts = [frozenset(self._look_out(edge.target, (), set())) for edge in decision.edges]
            union = frozenset().union(*firsts)
            decides = RULE_END not in union and len(union) == sum(map(len, firsts))
            self._decisions[decision] = tuple(firsts) if decides else None
        return self._decisions[decision]

    def _look_out(self, state: State, returns: tuple[State, ...], seen: set[State]) -> Iterator[str]:
        """Yield next tokens, also those of callers; RULE_END stands for a precedence that is checked on the way."""
        if state.kind is Kind.RULE_STOP:
            if returns:
                yield from self._look_out(returns[-1], returns[:-1], seen)
            elif state not in seen:
                seen.add(state)
                for caller in self.callers[state.rule]:
                    assert caller.follow is not None
                    yield from self._look_out(caller.follow, (), seen)
            return
        for edge in state.edges:
            if edge.checks_precedence:
                yield RULE_END
            elif edge.tokens:
                yield from edge.tokens
            else:
                yield from self._look_out(
                    edge.target, returns if edge.follow is None else (*returns, edge.follow), seen
                )


def _skip(state: State) -> State:
    """Return the state behind plain ones, up to the last of a rule."""
    while state.kind is Kind.BASIC and len(state.edges) == 1:
        [edge] = state.edges
        if edge.tokens or edge.follow or edge.checks_precedence or edge.target.kind is Kind.RULE_STOP:
            break
        state = edge.target
    return state


class _Builder:
    """Builds the states and elements of one rule."""

    def __init__(self, grammar: Grammar, rule: str) -> None:
        self._grammar = grammar
        self._rule = rule
        self._words = RULES[rule].split()

    def build(self) -> Element:
        """Return the element of the rule; its states lead from the rule's start to its stop."""
        body, left, right = self._build_choice()
        assert not self._words
        self._grammar.starts[self._rule].edges.append(Edge(left))
        right.edges.append(Edge(self._grammar.stops[self._rule]))
        return body

    def _state(self, kind: Kind = Kind.BASIC) -> State:
        return State(self._rule, kind)

    def _build_choice(self) -> tuple[Sequence | Choice, State, State]:
        built = [self._build_sequence()]
        while self._words[:1] == ["|"]:
            self._words.pop(0)
            built.append(self._build_sequence())
        if len(built) == 1:
            return built[0]
        start, end = self._state(Kind.CHOICE), self._state(Kind.BLOCK_END)
        for _, left, right in built:
            start.edges.append(Edge(left))
            right.edges.append(Edge(end))
        return Choice(start, tuple(sequence for sequence, _, _ in built), optional=False), start, end

    def _build_sequence(self) -> tuple[Sequence, State, State]:
        element, left, right = self._build_element()
        elements = [element]
        while self._words and self._words[0] not in (")", ")?", ")*", "|"):
            element, start, end = self._build_element()
            elements.append(element)
            right.edges.append(Edge(start))
            right = end
        return Sequence(tuple(elements)), left, right

    def _build_element(self) -> tuple[Element, State, State]:
        word = self._words.pop(0)
        if word == "(":
            body, start, end = self._build_choice()
            suffix = self._words.pop(0)[1:]
        else:
            element, start, end = self._build_word(word)
            if self._words[:1] not in (["?"], ["+"]):
                return element, start, end
            body, suffix = Sequence((element,)), self._words.pop(0)
        if suffix == "?":
            assert isinstance(body, Sequence)
            return self._build_optional(body, start, end)
        return self._build_loop(body, start, end, at_least_one=suffix == "+")

    def _build_word(self, word: str) -> tuple[Element, State, State]:
        start, end = self._state(), self._state()
        if word.startswith("="):
            precedence = int(word.strip("="))
            start.edges.append(Edge(end, precedence=precedence, checks_precedence=True))
            return Precedence(start, precedence), start, end
        name, _, precedence_text = word.partition("=")
        if name in RULES:
            edge = Edge(self._grammar.starts[name], follow=end, precedence=int(precedence_text or 0))
            start.edges.append(edge)
            return Call(start, name, edge.precedence), start, end
        tokens = frozenset(_TOKEN.findall(word))
        assert tokens <= frozenset(TOKENS)
        start.edges.append(Edge(end, tokens=tokens))
        return Match(start, tokens), start, end

    def _build_optional(self, body: Sequence, left: State, right: State) -> tuple[Element, State, State]:
        start, end = self._state(Kind.CHOICE), self._state(Kind.BLOCK_END)
        start.edges += [Edge(left), Edge(end)]
        right.edges.append(Edge(end))
        return Choice(start, (body,), optional=True), start, end

    def _build_loop(
        self, body: Sequence | Choice, left: State, right: State, *, at_least_one: bool
    ) -> tuple[Element, State, State]:
        entry, back, end = self._state(Kind.CHOICE), self._state(Kind.LOOP_BACK), self._state(Kind.BLOCK_END)
        right.edges.append(Edge(back))
        if at_least_one:
            entry.edges.append(Edge(left))
            back.edges += [Edge(entry), Edge(end)]
            return Loop(entry, back, back, body, at_least_one=True), entry, end
        entry.edges += [Edge(left), Edge(end)]
        back.edges.append(Edge(entry))
        if self._rule in LEFT_RECURSIVE:
            self._grammar.operator_loops.add(entry)
        return Loop(entry, back, entry, body, at_least_one=False), entry, end


@cache
def load_grammar() -> Grammar:
    """Return the grammar, built once."""
    return Grammar()
