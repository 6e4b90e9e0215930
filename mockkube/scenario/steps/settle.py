"""Step `settle`: run the cluster to rest at the present time."""

from typing import ClassVar

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class SettleStep(ScenarioStep):
    """Let every component work until none has a step left; time stands still."""

    verb: ClassVar[str] = "settle"

    async def play(self, world: World) -> None:
        """Settle the cluster."""
        await world.settle()
