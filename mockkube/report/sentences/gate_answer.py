"""Sentences of the atlas about a gate: in which order it can be turned on and off, and what a rollback loses."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.atlas.gate_entry import FlipVerdict, GateEntry, GateOrderResult, GateStatus
from mockkube.report.sentences.order_rules import find_rule
from mockkube.report.wording import count_noun, join_words

_PATHS_SHOWN_MAX: Final = 3
# Requests that are steps of the workload, instead of objects.
_STEP: Final = "step "
_INDEX: Final = re.compile(r"\[[^]]*\]")


def describe_verdict(entry: GateEntry) -> str:
    """Return the verdict in a few words, for a table."""
    match entry.status:
        case GateStatus.LOCKED:
            return "locked"
        case GateStatus.UNOBSERVABLE:
            return "not tried"
        case GateStatus.NOT_SIMULATED:
            return "not simulated"
    if not entry.is_tried:
        return "not tried"
    up, down = _summarize_orders(entry.up), "none" if entry.blocks_updates else _summarize_orders(entry.down)
    if up == down == "all":
        safe = "safe" if len(entry.exercised) == 1 else "safe in any order"
        return f"{safe}, as far as tried" if entry.not_tried else safe
    if len(entry.exercised) == 1:
        return "harm on the way down" if up == "all" else "harm"
    if up == "none" or down == "none":
        directions = [name for name, found in (("up", up), ("down", down)) if found == "none"]
        return f"no harmless order {' or '.join(directions)}"
    return "the order matters"


def find_tone(entry: GateEntry) -> str:
    """Return the tone of the verdict: good, wait, bad, or none."""
    verdict = describe_verdict(entry)
    if verdict.startswith("safe"):
        return "good" if not entry.not_tried else "wait"
    if verdict in ("locked", "not tried", "not simulated"):
        return ""
    return "bad" if verdict.startswith(("no harmless", "harm")) else "wait"


def _summarize_orders(orders: Sequence[GateOrderResult]) -> str:
    safe = sum(one.verdict is FlipVerdict.SAFE for one in orders)
    return "all" if safe == len(orders) else "some" if safe else "none"


def describe_answer(entry: GateEntry) -> str:
    """Return the answer in one or two sentences."""
    if entry.status is not GateStatus.PLAYED:
        return f"{_capitalize(entry.reason.rstrip('.'))}."
    if not entry.is_tried:
        return "Nothing in this workload differed, so the gate was not tried."
    if len(entry.exercised) == 1:
        sentences = [_describe_single(entry)]
    else:
        sentences = [_describe_orders("Turn it on", entry.up), _describe_orders("Turn it off", entry.down)]
    if entry.blocks_updates:
        sentences.append("Once it is off, objects that use it can no longer be updated.")
    if entry.not_tried:
        sentences.append(
            f"Not tried: {join_words(f'`{name}`' for name in entry.not_tried)}, so this is no verdict on "
            f"{'it' if len(entry.not_tried) == 1 else 'them'}."
        )
    return " ".join(sentences)


def _describe_single(entry: GateEntry) -> str:
    component = f"`{entry.exercised[0]}`"
    broken = [one for one in (*entry.up, *entry.down) if one.verdict is FlipVerdict.UNSAFE]
    if broken:
        return f"Only {component} shows its effect. {_capitalize(broken[0].breaks[0])}."
    return f"Only {component} shows its effect, and turning it on and off breaks nothing that runs."


def _describe_orders(action: str, orders: Sequence[GateOrderResult]) -> str:
    every = [one.order for one in orders]
    safe = [one.order for one in orders if one.verdict is FlipVerdict.SAFE]
    if len(safe) == len(every):
        return f"{action} in any order."
    if safe:
        rule = find_rule(safe, every)
        return f"{action} with {rule.text}." if _is_position(rule.text) else f"{action}: {rule.text}."
    broken = [one.order for one in orders if one.verdict is FlipVerdict.UNSAFE]
    harm = "breaks something" if len(broken) == len(every) else "leaves a difference"
    return f"{action} in whatever order: each {harm}."


def _is_position(rule: str) -> bool:
    return rule.startswith("`") and rule.endswith((" last", " first"))


def describe_rollback(entry: GateEntry) -> str:
    """Return what happens to objects after the gate is turned off, for a table."""
    if entry.rollback is None:
        return ""
    parts = [f"new objects lose {join_words(list(_format_dropped(entry.dropped)))}"] if entry.dropped else []
    if any(not name.startswith(_STEP) for name in entry.refused):
        parts.append("new objects are refused")
    if any(name.startswith(_STEP) for name in entry.refused):
        parts.append("the changes that it allows are refused")
    if entry.blocks_updates:
        parts.append("existing objects cannot be updated")
    if entry.rollback.existing:
        parts.append("existing objects change")
    if not parts:
        parts.append("new objects are treated as without the gate" if entry.rollback.new else "nothing changes")
    return "; ".join(parts)


def _format_dropped(dropped: Sequence[str]) -> Iterator[str]:
    seen: list[str] = []
    for one in dropped:
        field = _INDEX.sub("[*]", one.partition(" ")[2])
        if field not in seen:
            seen.append(field)
    yield from (f"`{field}`" for field in seen[:_PATHS_SHOWN_MAX])
    if len(seen) > _PATHS_SHOWN_MAX:
        yield count_noun(len(seen) - _PATHS_SHOWN_MAX, "more field")


def describe_claim(entry: GateEntry) -> str:
    """Return what the proposal says, and where this differs; empty without a proposal."""
    kep = entry.kep
    if kep is None:
        return ""
    named = join_words(f"`{name}`" for name in kep.components) or "no component"
    text = f"KEP-{kep.number}, *{kep.title}*, names {named}"
    match kep.can_disable:
        case True:
            text += ", and says that the feature can be disabled again"
        case False:
            text += ", and says that the feature cannot be disabled again"
    here = {reader.component for reader in entry.readers}
    more = sorted(here.difference(kep.components)) if kep.components else []
    if more:
        text += f". Here {join_words(f'`{name}`' for name in more)} {'reads' if len(more) == 1 else 'read'} it, too"
    return f"{text}."


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
