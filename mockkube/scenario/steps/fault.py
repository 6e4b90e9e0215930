"""Step `fault`: inject faults into requests."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar

from mockkube.api.errors import ApiError
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.responses import format_error
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class FaultStep(ScenarioStep):
    """Inject faults into requests, as a Fault of the control API does, or end them."""

    verb: ClassVar[str] = "fault"

    name: Annotated[str, "what to call it"] = "fault"
    match: Annotated[Mapping[str, Any], "which requests: component, server, verbs, resources, namespace, name"] = field(
        default_factory=dict
    )
    inject: Annotated[
        Mapping[str, Any], "what happens: status, delaySeconds, dropWatch, staleReads, holdEvents ..."
    ] = field(default_factory=dict)
    skip: Annotated[int | None, "how many matching requests pass first"] = None
    count: Annotated[int | None, "maximum number"] = None
    share: Annotated[float | None, "which share of the requests, like 0.1"] = None
    seed: Annotated[int | None, "makes the draws repeat themselves"] = None
    end: Annotated[bool, "let requests go well again"] = False

    def complaint(self) -> str:
        """Return an error unless `inject` or `end` is given."""
        return "" if self.end or self.inject else "give `inject`, or `end: true`"

    async def play(self, world: World) -> None:
        """Create or delete the fault."""
        try:
            await world.set_fault(self.name, None if self.end else self._spec())
        except ApiError as error:
            raise StepFailed(format_error(error)) from None

    def _spec(self) -> dict[str, Any]:
        given = {"match": dict(self.match), "inject": dict(self.inject)}
        several = {"skip": self.skip, "count": self.count, "share": self.share, "seed": self.seed}
        return {**given, **{name: value for name, value in several.items() if value is not None}}
