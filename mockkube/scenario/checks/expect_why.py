"""Check `expectWhy`: the scheduler's decision about a pod, node by node, and changes that would help."""

from typing import Annotated, ClassVar

from mockkube.api.errors import ApiError
from mockkube.client.protocol import Key
from mockkube.explain.scheduling import SchedulingExplanation, explain, record_case
from mockkube.explain.scheduling_remedies import add_remedies
from mockkube.features.components import SCHEDULER
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
    contains: Annotated[tuple[str, ...], "texts that stand somewhere in the answer"] = ()
    what_if: Annotated[tuple[ExpectedRemedy, ...], "changes that would help, each by itself"] = ()
    not_if: Annotated[tuple[ExpectedRemedy, ...], "changes that would not"] = ()

    async def play(self, world: World) -> None:
        """Settle, repeat the scheduler's decision and compare."""
        await world.settle()
        try:
            explanation = await self._explain(world)
        except ApiError as error:
            raise StepFailed(format_error(error)) from None
        if wrong := self._find_differences(explanation):
            raise StepFailed("\n".join([*wrong, "it says:", *_format_lines(explanation)]))

    async def _explain(self, world: World) -> SchedulingExplanation:
        settings = world.settings(SCHEDULER)
        key = Key(self.namespace or world.context.namespace, self.pod)
        case = await record_case(world.client(), key, settings.capabilities(), world.clock)
        return await add_remedies(case, await explain(case), dict(settings.feature_gates))

    def _find_differences(self, explanation: SchedulingExplanation) -> list[str]:
        wrong = []
        if self.state not in explanation.state:
            wrong.append(f"state: {explanation.state!r} lacks {self.state!r}")
        if self.decision not in explanation.decision:
            wrong.append(f"decision: {explanation.decision!r} lacks {self.decision!r}")
        if self.node is not None and explanation.node != self.node:
            wrong.append(f"node: {explanation.node or 'none'} instead of {self.node or 'none'}")
        if (self.refused_by or self.reason or self.on) and not self._has_rejection(explanation):
            wrong.append(f"no node is refused by {self.refused_by or 'any plugin'} for {self.reason!r}")
        said = "\n".join(_format_lines(explanation))
        wrong += [f"nothing is said of {text!r}" for text in self.contains if text not in said]
        wrong += [f"it would not help: {one}" for one in self.what_if if not _is_remedy(one, explanation)]
        wrong += [f"it would help: {one}" for one in self.not_if if _is_remedy(one, explanation)]
        return wrong

    def _has_rejection(self, explanation: SchedulingExplanation) -> bool:
        return any(
            self.refused_by in ("", answer.status.plugin)
            and self.on in ("", answer.node)
            and self.reason in f"{answer.status.message}\n{answer.detail}"
            for answer in explanation.refused
        )


def _is_remedy(remedy: ExpectedRemedy, explanation: SchedulingExplanation) -> bool:
    return any(
        remedy.kind in ("", one.kind) and remedy.component in ("", one.component) and remedy.change in one.change
        for one in explanation.what_if
    )


def _format_lines(explanation: SchedulingExplanation) -> list[str]:
    """Return the explanation as lines."""
    refusals = [f"{one.node}: {one.status.plugin}: {one.status.message} {one.detail}" for one in explanation.refused]
    remedies = [f"it would help: {one.kind} {one.component} {one.change}" for one in explanation.what_if]
    return [explanation.state, explanation.decision, *(line.rstrip() for line in refusals), *remedies]
