"""`advance` and `sleep`: time that passes."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from mockkube.scenario.fields import Seconds
from mockkube.scenario.step import Step
from mockkube.scenario.world import World


@dataclass(frozen=True)
class Advance(Step):
    """Lets time pass; everything happens at its moment."""

    verb: ClassVar[str] = "advance"

    duration: Annotated[Seconds, "how long, like 90s or 1h30m"]

    @staticmethod
    def adapt(node: Any) -> Any:
        """Read a duration alone."""
        return node if isinstance(node, dict) or node is None else {"duration": node}

    async def play(self, world: World) -> None:
        """Let it pass."""
        await world.advance(self.duration)


@dataclass(frozen=True)
class Sleep(Advance):
    """The same, as chainsaw calls it."""

    verb: ClassVar[str] = "sleep"
