"""`snapshot` and `restore`: the state of the whole cluster, kept and brought back."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from mockkube.scenario.step import Step
from mockkube.scenario.world import World


@dataclass(frozen=True)
class Snapshot(Step):
    """Keeps the state of the cluster under a name."""

    verb: ClassVar[str] = "snapshot"

    name: Annotated[str, "what to call it"]

    @staticmethod
    def adapt(node: Any) -> Any:
        """Read a name alone."""
        return {"name": node} if isinstance(node, str) else node

    async def play(self, world: World) -> None:
        """Keep it."""
        await world.snapshot(self.name)


@dataclass(frozen=True)
class Restore(Snapshot):
    """Brings the cluster back to a snapshot; every component starts anew, and time goes on."""

    verb: ClassVar[str] = "restore"

    async def play(self, world: World) -> None:
        """Bring it back."""
        await world.restore(self.name)
