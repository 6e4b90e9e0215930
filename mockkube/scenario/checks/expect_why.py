"""Check `expectWhy`: what stops a pod, node by node and component by component, and changes that would help."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.explain.rendering import render_explanation
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.responses import format_error
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class ExpectedRemedy:
    """A change that the explanation must have, or must not have."""

    kind: Annotated[str, "gate, version, toleration, taint, cordon or capacity; empty: any"] = ""
    component: Annotated[str, "the component whose gate or version changes; empty: any"] = ""
    change: Annotated[str, "a part of what is changed"] = ""


@dataclass(frozen=True)
class ExpectWhyCheck(ScenarioStep):
    """Check what `mockkube why` says about a pod."""

    verb: ClassVar[str] = "expectWhy"

    pod: Annotated[str, "its name"]
    namespace: Annotated[str, "its namespace; empty: that of the scenario"] = ""
    state: Annotated[str, "a part of what has become of it"] = ""
    decision: Annotated[str, "a part of what the scheduler decides now"] = ""
    node: Annotated[str | None, "where it would go; empty: nowhere"] = None
    refused_by: Annotated[str, "the plugin that refuses a node"] = ""
    reason: Annotated[str, "a part of the reason why a node is refused, or of what was compared"] = ""
    on: Annotated[str, "the node that is refused; empty: any"] = ""
    stopped_by: Annotated[str | None, "the component that stops it now; empty: none"] = None
    obstacle: Annotated[str, "a part of what stops it, or of what was compared"] = ""
    deed: Annotated[str, "a part of what a component has done to it: a rejection, an eviction"] = ""
    contains: Annotated[tuple[str, ...], "texts that stand somewhere in the answer"] = ()
    what_if: Annotated[tuple[ExpectedRemedy, ...], "changes that would help, each by itself"] = ()
    not_if: Annotated[tuple[ExpectedRemedy, ...], "changes that would not"] = ()

    async def play(self, world: World) -> None:
        """Settle, repeat the decisions of all components and compare."""
        await world.settle()
        try:
            explanation = await world.explain_pod(Key(self.namespace or world.context.namespace, self.pod))
        except ApiError as error:
            raise StepFailed(format_error(error)) from None
        if wrong := list(self._find_differences(explanation)):
            raise StepFailed("\n".join([*wrong, "it says:", *render_explanation(explanation)]))

    def _find_differences(self, explanation: ReadOnlyObject) -> Iterator[str]:
        for name, wanted in (("state", self.state), ("decision", self.decision)):
            if wanted not in explanation[name]:
                yield f"{name}: {explanation[name]!r} lacks {wanted!r}"
        if self.node is not None and explanation["node"] != self.node:
            yield f"node: {explanation['node'] or 'none'} instead of {self.node or 'none'}"
        if (self.refused_by or self.reason or self.on) and not self._has_rejection(explanation):
            yield f"no node is refused by {self.refused_by or 'any plugin'} for {self.reason!r}"
        yield from self._compare_obstacle(explanation["obstacle"] or {})
        if self.deed and not any(self.deed in one for one in explanation["deeds"]):
            yield f"no component has done {self.deed!r}"
        text = "\n".join(render_explanation(explanation))
        yield from (f"nothing is said of {one!r}" for one in self.contains if one not in text)
        yield from (f"it would not help: {one}" for one in self.what_if if not _is_remedy(one, explanation))
        yield from (f"it would help: {one}" for one in self.not_if if _is_remedy(one, explanation))

    def _compare_obstacle(self, obstacle: ReadOnlyObject) -> Iterator[str]:
        component = obstacle.get("component", "")
        # A kubelet with settings of its own has the name of its node, too: `kubelet.node-1`.
        if self.stopped_by is not None and self.stopped_by not in (component, component.partition(".")[0]):
            yield f"stopped by {component or 'nothing'} instead of {self.stopped_by or 'nothing'}"
        text = f"{obstacle.get('reason', '')}\n{obstacle.get('detail', '')}"
        if self.obstacle not in text:
            yield f"obstacle: {text.strip() or 'none'!r} lacks {self.obstacle!r}"

    def _has_rejection(self, explanation: ReadOnlyObject) -> bool:
        return any(
            self.refused_by in ("", one["plugin"])
            and self.on in ("", one["node"])
            and self.reason in f"{', '.join(one['reasons'])}\n{one['detail']}"
            for one in explanation["nodes"]
        )


def _is_remedy(remedy: ExpectedRemedy, explanation: ReadOnlyObject) -> bool:
    return any(
        remedy.kind in ("", one["kind"])
        and remedy.component in ("", one["component"])
        and remedy.change in one["change"]
        for one in explanation["whatIf"]
    )
