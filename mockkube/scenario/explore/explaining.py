"""Explain why pods came to harm in a move, as `mockkube why` would after the move.

A pod whose state has changed since is not explained: the explanation would be about the later state.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.api.errors import NotFound
from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.cluster.explained_components import team_of
from mockkube.cluster.laboratory import Laboratory
from mockkube.explain.components import Team
from mockkube.explain.explanation import Account, Stage
from mockkube.explain.pod_explainer import Question
from mockkube.explain.pod_fate import Fate
from mockkube.explain.text import lines
from mockkube.features.components import SCHEDULER
from mockkube.scenario.explore.intent import Intent
from mockkube.scenario.explore.mirror import PODS, Mirror
from mockkube.scenario.explore.observing import Fact
from mockkube.scheduler.scheduler import Scheduler

STUCK: Final = "stuck"
# State of a pod that is still as the harm left it. A removed pod leaves nothing that could be explained.
_FATES: Final = {"evicted": Fate.EVICTED, "rejected": Fate.REFUSED, STUCK: Fate.UNBOUND}
# Pods to try until one is still as the harm left it: a hot loop makes many.
_TRIED_MAX: Final = 5
# Progress at which the harm stops a pod; an obstacle at an earlier point is a different one.
_STAGES: Final = {"evicted": Stage.KEPT, "rejected": Stage.ADMITTED, STUCK: Stage.SCHEDULED}
_REMEDIES_MAX: Final = 3
# Name of the obstacle's stage in the JSON of a pod that waits for a node.
_SCHEDULED: Final = Stage.SCHEDULED.name.capitalize()


@dataclass(frozen=True, slots=True)
class Why:
    """Explanation of one harmed pod, standing for all pods of its workload with the same harm."""

    pod: str
    workload: str
    # `evicted`, `rejected`, `removed`, or `stuck`: it waits for a node.
    harm: str
    # Output of `mockkube why -o json`.
    account: ReadOnlyObject

    def told(self) -> str:
        """Return it in one line: the component that stops the pod, the compared facts, a change that would help."""
        return "; ".join([*self.account["deeds"], *self._stopped(), *self._helped()])

    def _stopped(self) -> Iterator[str]:
        obstacle = self.account["obstacle"]
        if obstacle is None:
            return
        nodes = [f"{one['node']}: {_refusal(one)}" for one in self.account["nodes"]]
        if obstacle["stage"] == _SCHEDULED and nodes and not self.account["decision"]:
            yield f"{obstacle['component']} refuses {'; '.join(nodes)}"
        else:
            detail = f" ({obstacle['detail']})" if obstacle["detail"] else ""
            yield f"{obstacle['component']} {obstacle['reason']}{detail}"

    def _helped(self) -> Iterator[str]:
        """Yield changes of components; changes of objects only if no component can help."""
        remedies = self.account["whatIf"]
        several = [one for one in remedies if one["component"]] or remedies
        if several:
            told = (f"{one['component'] or one['kind']} {one['change']}" for one in several[:_REMEDIES_MAX])
            yield f"it would help: {', or '.join(told)}"

    def text(self) -> Sequence[str]:
        """Return it as `mockkube why` prints it."""
        return list(lines(self.account))


def _refusal(one: ReadOnlyObject) -> str:
    detail = f" ({one['detail']})" if one["detail"] else ""
    return f"{', '.join(one['reasons'])}{detail}"


async def explained(laboratory: Laboratory, intent: Intent, mirror: Mirror, seen: Iterable[Fact]) -> tuple[Why, ...]:
    """Return the explanations of harmed pods, one for each workload and harm."""
    question = Question(laboratory.client(), _team(laboratory), laboratory.clock)
    found: dict[tuple[str, str], Why] = {}
    tried: Counter[tuple[str, str]] = Counter()
    for pod, workload, harm in (*_harmed(seen), *_waiting(intent, mirror)):
        if (workload, harm) in found or tried[workload, harm] >= _TRIED_MAX:
            continue
        tried[workload, harm] += 1
        try:
            account = await question.account(Key(*pod.split("/", 1)))
        except NotFound:
            continue
        if _explains(account, harm):
            found[workload, harm] = Why(pod, workload, harm, account.as_json())
    return tuple(found.values())


def _explains(account: Account, harm: str) -> bool:
    """Return whether an explanation is about this harm."""
    stopped = account.obstacle is None or account.obstacle.stage is _STAGES[harm]
    return stopped and account.fate == _FATES[harm]


def _harmed(seen: Iterable[Fact]) -> Iterator[tuple[str, str, str]]:
    for fact in seen:
        if fact.harm in _FATES:
            yield fact.object, fact.of or fact.object, fact.harm


def _waiting(intent: Intent, mirror: Mirror) -> Iterator[tuple[str, str, str]]:
    for name, pod in mirror.all(PODS).items():
        status = pod.get("status") or {}
        if status.get("phase") == "Pending" and not pod["spec"].get("nodeName"):
            own = intent.workload_of(pod)
            yield name, own.name if own is not None else name, STUCK


def _team(laboratory: Laboratory) -> Team:
    """Return the present components, and why some of them are idle."""
    components = laboratory.components()
    idle = {name: "it does not run" for name, asked in components.items() if not asked.running}
    scheduler = laboratory.part(SCHEDULER)
    if isinstance(scheduler, Scheduler):
        unheard = sorted(cache.kind for cache in scheduler.informers.workers if not cache.has_synced)
        if unheard:
            idle[SCHEDULER] = f"it waits until its API server has listed {', '.join(unheard)}"
    return team_of(components, idle)
