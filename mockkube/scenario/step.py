"""Interface of steps and checks: a frozen dataclass whose fields are the arguments of its verb."""

from abc import ABC, abstractmethod
from typing import ClassVar

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.world import World


@dataclass(frozen=True)
class ScenarioStep(ABC):
    """One step or check of a scenario."""

    # Key of the step in YAML.
    verb: ClassVar[str]

    @abstractmethod
    async def play(self, world: World) -> None:
        """Carry out the step through the API alone, as an operator would.

        Raises StepFailed when a check does not hold or the API rejects, StepNotSupported when this world cannot do it.
        """

    def complaint(self) -> str:
        """Return an error of arguments that exclude each other; empty if there is none."""
        return ""
