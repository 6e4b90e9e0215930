"""Metrics of the caches of compiled expressions; each component and controller has its own cache."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.tolerations import ExpressionCache

COST_HELP = "What the evaluations of these expressions have cost, in units of CEL."
CACHE_HELP = "Expressions of tolerations that were compiled already, and that had to be."


@dataclass(frozen=True, slots=True)
class ExpressionMetrics:
    """Collector that reads a cache when metrics are scraped."""

    name: str
    labels: tuple[tuple[str, str], ...]
    cache: ExpressionCache

    def describe(self) -> Iterable[Metric]:
        """Return nothing, since several controllers have a series of the same name."""
        # The registry rejects a second collector that describes a name it knows; it does not check an empty
        # description.
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the present numbers of hits and misses, and the cost."""
        family = GaugeMetricFamily(self.name, CACHE_HELP, labels=[*dict(self.labels), "result"])
        values = [value for _, value in self.labels]
        statistics = self.cache.statistics
        family.add_metric([*values, "hit"], statistics.hits)
        family.add_metric([*values, "miss"], statistics.misses)
        yield family
        cost = GaugeMetricFamily(f"{self.name}_cost", COST_HELP, labels=[*dict(self.labels)])
        cost.add_metric(values, statistics.cost)
        yield cost


def make_measured_cache(registry: CollectorRegistry, name: str, **labels: str) -> ExpressionCache:
    """Return a new cache of expressions and register its metrics under a name."""
    cache = ExpressionCache()
    registry.register(ExpressionMetrics(name, tuple(labels.items()), cache))
    return cache
