"""Check `expectRate`: how often per minute controllers are in hot loops, or a component writes."""

from typing import Annotated, ClassVar, Literal

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.fields import Seconds
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World

MINUTE = Seconds(60.0)


@dataclass(frozen=True)
class ExpectRateCheck(ScenarioStep):
    """Check how often per minute a controller fails or replaces what it made, or a worker writes."""

    verb: ClassVar[str] = "expectRate"

    controller: Annotated[str, "the controller of a loop, like replicaset"] = ""
    object: Annotated[str, "a part of the key of its object"] = ""
    cause: Annotated[Literal["failing", "churning"] | None, "whether it fails, or makes again what is lost"] = None
    writes: Annotated[str, "instead: the resource that is written, like core/pods"] = ""
    write_verb: Annotated[Literal["create", "update", "delete"] | None, "which writes count"] = None
    worker: Annotated[str, "how the name of the writer begins, like kube-controller-manager"] = ""
    window: Annotated[Seconds, "over how long writes are counted"] = MINUTE
    min: Annotated[float, "how often at least"] = 0.0
    max: Annotated[float | None, "maximum number"] = None

    async def play(self, world: World) -> None:
        """Settle and compare the present rate."""
        # Steps may be left at this time, and with them hot loops that are not counted yet.
        await world.settle()
        rate, description = self._write_rate(world) if self.writes else self._hot_loop_rate(world)
        if rate < self.min or (self.max is not None and rate > self.max):
            most = "" if self.max is None else f", at most {self.max:g}"
            raise StepFailed(f"{rate:g} a minute instead of at least {self.min:g}{most}{description}")
        world.context.add_log(f"{rate:g} a minute{description}")

    def _hot_loop_rate(self, world: World) -> tuple[float, str]:
        loops = [
            one
            for one in world.hot_loops()
            if self.controller in one["controller"]
            and self.object in one["object"]
            and self.cause in (None, one["cause"])
        ]
        description = ", ".join(
            f"{one['controller']} {one['object']} {one['cause']} {one['per_minute']}/min" for one in loops
        )
        return sum(one["per_minute"] for one in loops), f" ({description})" if description else " (no loops)"

    def _write_rate(self, world: World) -> tuple[float, str]:
        counted = [
            resource
            for worker, verb, resource in world.list_writes(world.now - self.window)
            if resource == self.writes and self.write_verb in (None, verb) and worker.startswith(self.worker)
        ]
        return len(counted) * 60.0 / self.window, f" ({len(counted)} writes in {self.window:g} s)"
