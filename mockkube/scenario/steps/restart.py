"""Step `restart`: restart a component, so that it loses its memory."""

from typing import Annotated, Any, ClassVar

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class RestartStep(ScenarioStep):
    """Restart a component: its queues, caches and timers are lost."""

    verb: ClassVar[str] = "restart"

    component: Annotated[str, "which one"]

    @staticmethod
    def adapt(node: Any) -> Any:
        """Accept a name alone."""
        return {"component": node} if isinstance(node, str) else node

    async def play(self, world: World) -> None:
        """Restart the component."""
        await world.restart_component(self.component)
