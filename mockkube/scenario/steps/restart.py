"""`restart`: a component that forgets."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from mockkube.scenario.step import Step
from mockkube.scenario.world import World


@dataclass(frozen=True)
class Restart(Step):
    """Lets a component lose all that it had in memory: queues, caches, timers."""

    verb: ClassVar[str] = "restart"

    component: Annotated[str, "which one"]

    @staticmethod
    def adapt(node: Any) -> Any:
        """Read a name alone."""
        return {"component": node} if isinstance(node, str) else node

    async def play(self, world: World) -> None:
        """Restart it."""
        await world.restart(self.component)
