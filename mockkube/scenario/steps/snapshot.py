"""Steps `snapshot` and `restore`: save and restore the state of the whole cluster."""

from typing import Annotated, Any, ClassVar

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class SnapshotStep(ScenarioStep):
    """Save the state of the cluster under a name."""

    verb: ClassVar[str] = "snapshot"

    name: Annotated[str, "what to call it"]

    @staticmethod
    def adapt(node: Any) -> Any:
        """Accept a name alone."""
        return {"name": node} if isinstance(node, str) else node

    async def play(self, world: World) -> None:
        """Save the snapshot."""
        await world.save_snapshot(self.name)


@dataclass(frozen=True)
class RestoreStep(SnapshotStep):
    """Restore a snapshot; every component restarts, and time goes on."""

    verb: ClassVar[str] = "restore"

    async def play(self, world: World) -> None:
        """Restore the snapshot."""
        await world.restore_snapshot(self.name)
