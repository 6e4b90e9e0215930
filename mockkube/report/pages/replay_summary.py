"""Replays of paths that break invariants: what happens in each step, and why."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.cluster.execution.step_trace import OPERATOR
from mockkube.explore.harm_judge import NEVER_TRIED
from mockkube.explore.observation.observations import ObservationKind
from mockkube.explore.path_runner import MoveRecord
from mockkube.explore.plans.orders import ChangeMove
from mockkube.explore.plans.plan import ComponentSetting, Direction
from mockkube.explore.reasons import compute_settings
from mockkube.explore.replay import Replay, ReplayedMove
from mockkube.lazy_dataclasses import dataclass
from mockkube.report.drawing.timeline import Boundary, build_timelines
from mockkube.report.drawing.timeline_drawing import TimelineDrawing
from mockkube.report.sentences.answer import Answer
from mockkube.report.sentences.break_descriptions import describe_breaks
from mockkube.report.wording import Wording, format_order, join_words

_GENERATED_SUFFIX: Final = re.compile(r"-[a-z0-9]{5}\b")


def number_invariants(replays: Sequence[Replay]) -> Mapping[str, int]:
    """Return the number of the first replay that shows each invariant."""
    found: dict[str, int] = {}
    for number, replay in enumerate(replays, 1):
        for one in replay.examples:
            found.setdefault(one.invariant, number)
    return found


def find_other_breaks(replay: Replay) -> Iterator[tuple[str, int, str]]:
    """Yield the invariants that break besides the examples of a replay: name, step and text."""
    known = {one.invariant for one in replay.examples}
    for number, replayed in enumerate(replay.replayed_moves, 1):
        for one in replayed.record.result.breaks:
            if one.invariant not in known:
                known.add(one.invariant)
                yield one.invariant, number, one.text


def format_orders(words: Wording, replay: Replay) -> str:
    """Return the orders of a replay in a line."""
    moves = [move for move in replay.moves if isinstance(move, ChangeMove)]
    orders = {direction: [move.component for move in moves if move.direction is direction] for direction in Direction}
    parts = [f"{words.verb(direction)} {format_order(tuple(names))}" for direction, names in orders.items() if names]
    return f"{', then '.join(parts)}{', without disturbances' if replay.undisturbed else ''}"


def list_causes(replay: Replay, index: int) -> list[str]:
    """Return the reasons for the harm of a step."""
    replayed = replay.replayed_moves[index]
    # The causes of a step are about tolerations; an API that is not served stops the scheduler for every pod.
    if not replayed.unserved or not replayed.record.stuck or replayed.record.result.harm.loops:
        return list(replayed.causes)
    settings = compute_settings(replay.plan, replay.moves[: index + 1])
    scheduler, server = (
        (setting.version if (setting := settings.get(name)) else None) or str(replay.plan.version)
        for name in ("kube-scheduler", "kube-apiserver")
    )
    return [
        *replayed.causes,
        f"kube-scheduler {scheduler} lists and watches {join_words(replayed.unserved)} before it decides anything. "
        f"kube-apiserver {server} does not serve that, so its informers never fill: from its start on it schedules no "
        "pod at all, of any kind. The specs of the pods do not matter.",
    ]


def summarize_replay(answer: Answer, replay: Replay, places: Mapping[str, int]) -> str:
    """Return a replay in a sentence, for formats without pictures."""
    broken = [
        f"`{one.invariant}` in move {len(one.moves)} ({answer.words.reword(one.text.rstrip('.'))})"
        for one in replay.examples
    ]
    besides = [f"`{name}` in move {number}, as in Path {places[name]}" for name, number, _ in find_other_breaks(replay)]
    meant = join_words(
        describe_breaks(each for replayed in replay.replayed_moves for each in replayed.record.result.breaks)
    )
    return f"{format_orders(answer.words, replay)}: {meant}. Broken: {'; '.join([*broken, *besides])}."


@dataclass(frozen=True, slots=True)
class StepSummary:
    """One step of a replay as a page shows it."""

    record: MoveRecord
    causes: Sequence[str]
    pods_created: int
    deleted: Mapping[str, int]
    """Pods that the user deleted, by name without its random part."""
    facts: Mapping[str, int]
    waiting: Mapping[tuple[str, str], int]
    """Pods still Pending at the end, by name and message."""
    refused: Sequence[str]
    """Refusals by the API server with a text that no earlier step had."""
    still_refused: Sequence[str]
    explains: bool
    """Whether the explanations of single pods apply: without a served API they would name the wrong cause."""


def summarize_step(words: Wording, replay: Replay, index: int) -> StepSummary:
    """Return what happened in a step, with random parts of names left out."""
    replayed, record = replay.replayed_moves[index], replay.replayed_moves[index].record
    # A refusal is repeated in every step until it is over; its text is worth showing once.
    before = {text for earlier in replay.replayed_moves[:index] for text in earlier.record.refused}
    refused = list(dict.fromkeys(record.refused))
    return StepSummary(
        record,
        [words.reword(text) for text in list_causes(replay, index)],
        sum(observation.kind is ObservationKind.CREATED for observation in record.observations),
        _deleted(replay, index),
        Counter(
            _GENERATED_SUFFIX.sub("-*", observation.describe())
            for observation in record.observations
            if observation.kind is not ObservationKind.CREATED
        ),
        _waiting(replayed),
        [text for text in refused if text not in before],
        [text.partition(":")[0] for text in refused if text in before],
        bool(record.explanations) and not replayed.unserved,
    )


def _deleted(replay: Replay, index: int) -> Mapping[str, int]:
    return Counter(
        _GENERATED_SUFFIX.sub("-*", one.name.removeprefix("default/"))
        for moment in replay.moments_of(index)
        if moment.worker == OPERATOR
        for one in moment.writes
        if one.resource == "core/pods" and one.verb == "delete"
    )


def _waiting(step: ReplayedMove) -> Mapping[tuple[str, str], int]:
    # Which pods wait where a loop was cut off is chance.
    if step.record.result.harm.loops:
        return {}
    grouped: Counter[tuple[str, str]] = Counter()
    for text in step.record.stuck:
        name, _, message = text.partition(": ")
        shown = f"{NEVER_TRIED}: no event, no condition" if message == NEVER_TRIED else message
        grouped[_GENERATED_SUFFIX.sub("-*", name.removeprefix("default/")), shown] += 1
    return grouped


@dataclass(frozen=True, slots=True)
class _PlanDescriber:
    """Descriptions of components in the words of a plan."""

    words: Wording
    phase: Direction = Direction.DOWN

    def describe_start(self, component: str) -> str:
        change = next((one for one in self.words.plan.changes if one.component == component), None)
        return self.words.describe_state(change, self.phase) if change is not None else ""

    def describe_settings(self, component: str, version: str, gates: Mapping[str, bool | None]) -> str:
        return self.words.describe_setting(component, ComponentSetting(version or None, gates))


def draw_timelines(words: Wording, replay: Replay, number: int) -> list[TimelineDrawing]:
    """Return the timelines of a replay."""
    boundaries = [
        Boundary(replayed.moment, str(index), f"{index} {words.describe_move(replayed.record.move)}")
        for index, replayed in enumerate(replay.replayed_moves, 1)
    ]
    trials = build_timelines(replay.moments, boundaries, _PlanDescriber(words), replay.replayed_moves[-1].record.ended)
    return [TimelineDrawing(timeline, f"Timeline of path {number}") for timeline in trials]
