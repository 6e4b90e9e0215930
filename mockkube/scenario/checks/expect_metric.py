"""Check `expectMetric`: the value of a component's metric."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar

from prometheus_client.parser import text_string_to_metric_families

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World

_SHOWN_MAX = 8


@dataclass(frozen=True)
class ExpectMetricCheck(ScenarioStep):
    """Check the value of a metric: the sum of all series with these labels."""

    verb: ClassVar[str] = "expectMetric"

    component: Annotated[str, "the component whose metrics are read"]
    name: Annotated[str, "the name of the series, like scheduler_plugin_evaluation_total"]
    labels: Annotated[Mapping[str, str], "labels it has, beside others"] = field(default_factory=dict)
    value: Annotated[float | None, "what it is"] = None
    min: Annotated[float | None, "what it is at least"] = None
    max: Annotated[float | None, "what it is at most"] = None
    absent: Annotated[bool, "claim that there is no such series"] = False

    async def play(self, world: World) -> None:
        """Settle, add up the series and compare."""
        await world.settle()
        text = await world.read_metrics(self.component)
        samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
        named = [one for one in samples if one.name == self.name]
        found = [one for one in named if all(one.labels.get(key) == value for key, value in self.labels.items())]
        value = sum(one.value for one in found)
        if not self._holds(value, there=bool(found)):
            others = "; ".join(f"{dict(one.labels)} {one.value:g}" for one in named[:_SHOWN_MAX])
            raise StepFailed(f"{self.name} is {value:g} ({len(found)} series); of that name: {others or 'none'}")

    def _holds(self, value: float, *, there: bool) -> bool:
        if self.absent:
            return not there
        low = self.min is None or value >= self.min
        return low and (self.max is None or value <= self.max) and self.value in (None, value)
