"""Steps `advance` and `sleep`: let time pass."""

from typing import Annotated, Any, ClassVar

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.fields import Seconds
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class AdvanceStep(ScenarioStep):
    """Let time pass."""

    verb: ClassVar[str] = "advance"

    duration: Annotated[Seconds, "how long, like 90s or 1h30m"]

    @staticmethod
    def adapt(node: Any) -> Any:
        """Accept a duration alone."""
        return node if isinstance(node, dict) or node is None else {"duration": node}

    async def play(self, world: World) -> None:
        """Advance the cluster's time."""
        await world.advance(self.duration)


@dataclass(frozen=True)
class SleepStep(AdvanceStep):
    """Let time pass, under chainsaw's name."""

    verb: ClassVar[str] = "sleep"
