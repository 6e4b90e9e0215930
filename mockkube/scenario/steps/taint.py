"""Step `taint`: add taints to nodes or remove them."""

from typing import Annotated, Any, ClassVar, Literal

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Client, Key, Selection
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.responses import format_error
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclass(frozen=True)
class TaintStep(ScenarioStep):
    """Add a taint to nodes, replacing one of the same key and effect, or remove it."""

    verb: ClassVar[str] = "taint"

    key: Annotated[str, "the key of the taint"]
    node: Annotated[str, "which node; empty: those the selector selects, or all"] = ""
    selector: Annotated[str, "labels of the nodes, like zone=a"] = ""
    value: Annotated[str, "the value of the taint"] = ""
    effect: Annotated[Effect | None, "its effect; when taking away, empty means any"] = None
    remove: Annotated[bool, "take it away"] = False

    @staticmethod
    def adapt(node: Any) -> Any:
        """Accept kubectl's notation: `node-1 key=value:Effect`, or `node-1 key:Effect-`."""
        if not isinstance(node, str):
            return node
        where, _, text = node.strip().partition(" ")
        removing = text.endswith("-")
        taint, _, effect = text.strip().removesuffix("-").partition(":")
        key, _, value = taint.partition("=")
        given: dict[str, Any] = {"node": where, "key": key, "value": value, "remove": removing}
        return {**given, **({"effect": effect} if effect else {})}

    def complaint(self) -> str:
        """Return an error if a taint to add has no effect."""
        return "" if self.remove or self.effect else "effect is missing: NoSchedule, PreferNoSchedule or NoExecute"

    async def play(self, world: World) -> None:
        """Change the taints of every selected node."""
        client = world.client()
        try:
            for node in await self._list_nodes(client):
                await self._change_taints(client, node)
        except ApiError as error:
            raise StepFailed(format_error(error)) from None

    async def _list_nodes(self, client: Client) -> list[ReadOnlyObject]:
        if self.node:
            return [await client.get("Node", Key("", self.node))]
        found = list((await client.list("Node", Selection(labels=self.selector))).items)
        if not found:
            raise StepFailed(f"no node has the labels {self.selector!r}")
        return found

    async def _change_taints(self, client: Client, node: ReadOnlyObject) -> None:
        taints = [dict(taint) for taint in node["spec"].get("taints") or ()]
        remaining = [taint for taint in taints if not self._is_same_taint(taint)]
        if self.remove and len(remaining) == len(taints):
            raise StepFailed(f"node {node['metadata']['name']} has no taint {self.key!r}")
        wanted: list[Object] = remaining if self.remove else [*remaining, self._make_taint()]
        # A merge patch replaces the whole list, so a taint added in between would be lost without the resourceVersion.
        patch = {"metadata": {"resourceVersion": node["metadata"]["resourceVersion"]}, "spec": {"taints": wanted}}
        await client.patch("Node", Key("", node["metadata"]["name"]), patch, patch_type=PatchType.MERGE)

    def _is_same_taint(self, taint: Object) -> bool:
        return taint["key"] == self.key and self.effect in (None, taint["effect"])

    def _make_taint(self) -> Object:
        return {"key": self.key, "effect": self.effect, **({"value": self.value} if self.value else {})}
