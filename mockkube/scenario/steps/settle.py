"""`settle`: everything that can happen at this moment."""

from dataclasses import dataclass
from typing import ClassVar

from mockkube.scenario.step import Step
from mockkube.scenario.world import World


@dataclass(frozen=True)
class Settle(Step):
    """Lets every component work until nobody has anything left to do; time stands still."""

    verb: ClassVar[str] = "settle"

    async def play(self, world: World) -> None:
        """Bring all to rest."""
        await world.settle()
