"""Metrics of caches of expressions: hits, misses and what evaluations cost, for each cache by itself."""

from prometheus_client import CollectorRegistry

from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.proposals.expression_metrics import make_measured_cache

_TAINT = {"key": "a", "value": "1.2.3", "effect": "NoSchedule"}


def test_each_cache_has_series_of_its_own() -> None:
    registry = CollectorRegistry()
    first = make_measured_cache(registry, "cel_cache", controller="one")
    make_measured_cache(registry, "cel_cache", controller="two")
    for _ in range(3):
        assert first.compile_expression("taint.key == 'a'")(_TAINT) is True

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("cel_cache", controller="one", result="hit") == 2
    assert value("cel_cache", controller="one", result="miss") == 1
    assert value("cel_cache", controller="two", result="miss") == 0
    cost = value("cel_cache_cost", controller="one")
    assert cost is not None
    assert cost > 0
    assert value("cel_cache_cost", controller="two") == 0


def test_a_cache_that_evaluates_asks_for_no_estimate() -> None:
    assert ExpressionCache().get("taint.key == 'a'").estimate is None
