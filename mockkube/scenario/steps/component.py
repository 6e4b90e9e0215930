"""Step `component`: change version or gates of a component, start, stop, add or remove it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar

from mockkube.api.errors import ApiError
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.responses import format_error
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class ComponentStep(ScenarioStep):
    """Change version, gates or other settings of a component, or remove it."""

    verb: ClassVar[str] = "component"

    name: Annotated[str, "kube-apiserver[.N], kube-scheduler, kube-controller-manager, kubelet or kubelet.NODE"]
    version: Annotated[str | None, "its Kubernetes version"] = None
    feature_gates: Annotated[Mapping[str, bool | None], "gates to turn on or off; null: as its version has it"] = field(
        default_factory=dict
    )
    running: Annotated[bool | None, "whether it runs"] = None
    server: Annotated[str | None, "the API server it talks to"] = None
    remove: Annotated[bool, "take it away: a replica, or the kubelet of one node"] = False
    refused: Annotated[str, "part of the message with which this is to be refused"] = ""
    warns: Annotated[str, "part of a warning that this is to give"] = ""

    async def play(self, world: World) -> None:
        """Change the component, and compare warnings or the rejection."""
        try:
            warnings = await self._change(world)
        except ApiError as error:
            if not self.refused or self.refused not in error.message:
                raise StepFailed(format_error(error)) from None
            return
        if self.refused:
            raise StepFailed(f"{self.name} was not refused; expected: {self.refused}")
        for warning in warnings:
            world.context.add_log(f"warning: {warning}")
        if self.warns and not any(self.warns in warning for warning in warnings):
            raise StepFailed(f"expected a warning with {self.warns!r}, found {list(warnings) or 'none'}")

    async def _change(self, world: World) -> list[str]:
        """Change or remove the component; return warnings."""
        if self.remove:
            await world.remove_component(self.name)
            return []
        settings = {
            "version": self.version,
            "gates": self.feature_gates,
            "running": self.running,
            "server": self.server,
        }
        return list(await world.change_component(self.name, **settings))
