"""Choice between alternatives by as many tokens as it takes: ANTLR's adaptive LL(*) prediction.

At first the callers of the current rule are ignored, so that results can be kept (SLL). Only if alternatives stay
ambiguous that way, the prediction is repeated with the callers (LL). The two may see an error at different tokens.
upstream 1.36: antlr4-go/antlr parser_atn_simulator.go, prediction_mode.go
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from mockkube_cel.syntax.recovery.grammar import END, Edge, Grammar, Kind, State

# Where the parser goes on after the present rules: a state, and the rest. None is an unknown caller, or none.
Stack = tuple[State, Any] | None


class NoViableAlternative(Exception):
    """No alternative fits the tokens up to the one at `position`."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Config(NamedTuple):
    """A state that an alternative may be in."""

    state: State
    alternative: int
    stack: Stack
    # The rule that decides has ended on the way here.
    left_rule: bool = False
    # The outermost call of the left-recursive rule that decides has ended on the way here.
    left_recursion: bool = False


@dataclass(eq=False)
class Lookahead:
    """Configs that are left after some tokens, with what follows from them."""

    configs: Sequence[Config]
    next: "dict[str, Lookahead | None]" = field(default_factory=dict)

    @cached_property
    def alternative(self) -> int:
        """The only alternative left, else 0."""
        found = {config.alternative for config in self.configs}
        return found.pop() if len(found) == 1 else 0

    @cached_property
    def is_ambiguous(self) -> bool:
        """True if more tokens are unlikely to decide."""
        if all(config.state.kind is Kind.RULE_STOP for config in self.configs):
            return True
        if not any(len(one) > 1 for one in self.conflicts):
            return False
        by_state: dict[State, set[int]] = {}
        for config in self.configs:
            by_state.setdefault(config.state, set()).add(config.alternative)
        return all(len(one) > 1 for one in by_state.values())

    @cached_property
    def conflicts(self) -> list[set[int]]:
        """Alternatives that are in the same state with the same callers."""
        found: dict[tuple[State, Stack], set[int]] = {}
        for config in self.configs:
            found.setdefault((config.state, config.stack), set()).add(config.alternative)
        return list(found.values())

    @property
    def finished_alternative(self) -> int:
        """The first alternative that went through to the end of the rule, else 0."""
        finished = (
            config.alternative
            for config in self.configs
            if config.left_rule or (config.state.kind is Kind.RULE_STOP and config.stack is None)
        )
        return min(finished, default=0)


class Predictor:
    """Predicts the alternatives of one grammar; keeps what it has found out."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._starts: dict[tuple[State, int], Lookahead] = {}
        self._known: dict[frozenset[Config], Lookahead] = {}

    def predict(
        self, decision: State, precedence: int, kinds: Sequence[str], position: int, callers: Iterable[State]
    ) -> int:
        """Return the number of the alternative, from 1; `callers` are where the parser goes on, outermost first."""
        start = lookahead = self._start(decision, precedence)
        at = position
        while not lookahead.alternative:
            if lookahead is not start and lookahead.is_ambiguous:
                return self._predict_with_callers(decision, precedence, kinds, position, callers)
            token = kinds[at]
            if token not in lookahead.next:
                lookahead.next[token] = self._advance(lookahead, token)
            following = lookahead.next[token]
            if following is None:
                return _finished_or_none(lookahead, at)
            lookahead = following
            if token != END:
                at += 1
        return lookahead.alternative

    def _predict_with_callers(
        self, decision: State, precedence: int, kinds: Sequence[str], position: int, callers: Iterable[State]
    ) -> int:
        stack: Stack = None
        for follow in callers:
            stack = (follow, stack)
        alternatives = [Config(edge.target, number, stack) for number, edge in enumerate(decision.edges, 1)]
        configs = self._close(alternatives, decision, precedence=precedence, full=True)
        at = position
        while True:
            lookahead = Lookahead(configs)
            reached = self._reach(configs, kinds[at])
            if not reached:
                return _finished_or_none(lookahead, at)
            configs = self._close(reached, None, precedence=None, full=True)
            following = Lookahead(configs)
            if following.alternative:
                return following.alternative
            firsts = {min(one) for one in following.conflicts}
            if len(firsts) == 1:
                return firsts.pop()
            if kinds[at] != END:
                at += 1

    def _start(self, decision: State, precedence: int) -> Lookahead:
        key = (decision, precedence)
        known = self._starts.get(key)
        if known is None:
            alternatives = [Config(edge.target, number, None) for number, edge in enumerate(decision.edges, 1)]
            configs = self._close(alternatives, decision, precedence=precedence, full=False)
            if decision in self._grammar.operator_loops:
                configs = _without_later_duplicates(configs)
            known = self._starts[key] = self._intern(configs)
        return known

    def _advance(self, lookahead: Lookahead, token: str) -> Lookahead | None:
        reached = self._reach(lookahead.configs, token)
        if not reached:
            return None
        return self._intern(self._close(reached, None, precedence=None, full=False))

    def _intern(self, configs: Sequence[Config]) -> Lookahead:
        return self._known.setdefault(frozenset(configs), Lookahead(configs))

    def _reach(self, configs: Iterable[Config], token: str) -> list[Config]:
        return [
            config._replace(state=edge.target)
            for config in configs
            for edge in config.state.edges
            if token in edge.tokens
        ]

    def _close(
        self, configs: Iterable[Config], decision: State | None, *, precedence: int | None, full: bool
    ) -> Sequence[Config]:
        """Return the configs that are reached without a token, and wait for one."""
        found: dict[Config, None] = {}
        seen: set[Config] = set()
        todo = [(config, 0) for config in reversed(list(configs))]
        while todo:
            config, depth = todo.pop()
            if config in seen:
                continue
            seen.add(config)
            following = list(self._follow(config, depth, decision, precedence, full=full))
            if not following:
                found[config] = None
            todo += [one for one in reversed(following) if one is not None]
        return list(found)

    def _follow(
        self, config: Config, depth: int, decision: State | None, precedence: int | None, *, full: bool
    ) -> Iterable[tuple[Config, int] | None]:
        """Yield what is reached by one free edge, and None for an edge that a precedence closes."""
        state, stack = config.state, config.stack
        if state.kind is Kind.RULE_STOP:
            if stack is not None:
                yield config._replace(state=stack[0], stack=stack[1]), depth - 1
            elif not full:
                for caller in self._grammar.callers[state.rule]:
                    yield self._return_to(config, caller, decision), depth - 1
            return
        for edge in state.edges:
            if edge.follow is not None:
                yield config._replace(state=edge.target, stack=(edge.follow, stack)), depth + (depth >= 0)
            elif edge.checks_precedence and precedence is not None and depth == 0 and edge.precedence < precedence:
                yield None
            elif not edge.tokens:
                yield config._replace(state=edge.target), depth

    def _return_to(self, config: Config, caller: Edge, decision: State | None) -> Config:
        assert caller.follow is not None
        outermost = (
            decision in self._grammar.operator_loops and caller.precedence == 0 and config.state.rule == decision.rule
        )
        return Config(caller.follow, config.alternative, None, True, config.left_recursion or outermost)


def _finished_or_none(lookahead: Lookahead, at: int) -> int:
    finished = lookahead.finished_alternative
    if not finished:
        raise NoViableAlternative(at)
    return finished


def _without_later_duplicates(configs: Sequence[Config]) -> Sequence[Config]:
    """Leave out how the loop is left, where the loop itself goes on in the same state."""
    inside = {(config.state, config.stack) for config in configs if config.alternative == 1}
    return [
        config
        for config in configs
        if config.alternative == 1 or config.left_recursion or (config.state, config.stack) not in inside
    ]
