"""Strategies of all kinds for one API server, created on first use."""

from mockkube.api.catalogue import KindInfo, load_kind
from mockkube.api.object_rules import add_rules
from mockkube.api.strategy import Strategy
from mockkube.api.strategy_dependencies import StrategyDependencies


class Strategies:
    """Strategies of the built-in kinds, with the rules that proposals add."""

    def __init__(self, dependencies: StrategyDependencies | None = None) -> None:
        self._dependencies = dependencies or StrategyDependencies()
        self._created: dict[tuple[str, str], Strategy] = {}

    def for_kind(self, kind: KindInfo) -> Strategy:
        """Return the strategy of a kind."""
        key = (kind.group, kind.kind)
        if key not in self._created:
            self._created[key] = self._create(key)
        return self._created[key]

    def _create(self, key: tuple[str, str]) -> Strategy:
        strategy = load_kind(*key).strategy(self._dependencies)
        rules = self._dependencies.objects.find_kind_rules(key)
        return strategy if rules is None else add_rules(strategy, rules)
