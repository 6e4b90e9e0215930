"""What every step and check is: a frozen dataclass whose fields are its arguments, with a verb and a way to play it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from mockkube.scenario.world import World


@dataclass(frozen=True)
class Step(ABC):
    """One thing that a scenario does or claims."""

    verb: ClassVar[str]
    """The key under which YAML gives its arguments."""

    @abstractmethod
    async def play(self, world: World) -> None:
        """Do it, through the API alone, as an operator would.

        Raises Failure when a claim does not hold or the API refuses, Impossible when this world has no way to do it.
        """

    def complaint(self) -> str:
        """Return what is wrong with arguments that do not go together; empty if nothing is."""
        return ""
