"""A judge for strategies: the gates that are on, the subresource written to, a fixed present."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest

from mockkube.api.strategy import StrategyContext
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def judge() -> Callable[..., StrategyContext]:
    def make(
        *gates: str, subresource: str = "", namespaces: Mapping[str, Mapping[str, str]] | None = None
    ) -> StrategyContext:
        return StrategyContext(Capabilities(DEFAULT, frozenset(gates)), NOW, subresource, (namespaces or {}).get)

    return make
