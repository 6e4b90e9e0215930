"""Differences between two outcomes, in sentences."""

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final

import orjson

from mockkube.atlas.outcome import Outcome

# Sentences about one object; more would hide the others.
_LINES_OF_OBJECT_MAX: Final = 6
_GENERATION: Final = "eneration`"
_VALUE_MAX: Final = 140
_LIST_KEY: Final = re.compile(r"\[[^\]]*\]")
# Bookkeeping of the control plane that follows from the objects.
_DERIVED: Final = ("discovery.k8s.io/endpointslices", "core/endpoints", "apps/controllerrevisions")


def list_differences(found: Outcome, expected: Outcome) -> list[str]:
    """Return how an outcome differs from the expected one."""
    lines = [*_compare_requests(found, expected)]
    dropped = {f"{name}: {_without_keys(path)}" for name, paths in found.dropped.items() for path in paths}
    for key in sorted(found.objects.keys() | expected.objects.keys(), key=_sorting_key):
        group = _compare_groups(key.partition(" ")[2], found.objects.get(key, ()), expected.objects.get(key, ()))
        lines += [line for line in group if _name_field(line) not in dropped]
    if found.has_livelock and not expected.has_livelock:
        lines.append("components undo each other's writes without an end")
    return lines


def describe_another_way(found: Outcome, expected: Outcome) -> str:
    """Return the first write in which two runs differ that end alike; empty if there is none."""
    for one, other in zip_longest(found.writes, expected.writes, fillvalue="nothing more"):
        if one != other:
            return f"the same end, but another way: `{_cut(one)}` instead of `{_cut(other)}`"
    return ""


def _sorting_key(key: str) -> tuple[int, str]:
    """Return the place of an object among the differences: pods first, what follows from others last."""
    return (0 if key.startswith("core/pods ") else 2 if key.startswith(_DERIVED) else 1), key


def _name_field(line: str) -> str:
    """Return the object and the field of a sentence, without the keys of list items."""
    name, _, rest = line.partition("`")
    return f"{name}{_without_keys(rest.partition('`')[0])}"


def _without_keys(path: str) -> str:
    return _LIST_KEY.sub("[]", path)


def _compare_requests(found: Outcome, expected: Outcome) -> Iterator[str]:
    for name, reason in found.refused.items():
        if name not in expected.refused:
            yield f"{name}: refused: {reason}"
        elif expected.refused[name] != reason:
            yield f"{name}: refused: {reason}, instead of: {expected.refused[name]}"
    for name in expected.refused:
        if name not in found.refused:
            yield f"{name}: accepted"
    for name, texts in found.warnings.items():
        for text in texts:
            if text not in expected.warnings.get(name, ()):
                yield f"{name}: warning: {text}"
    for name, texts in expected.warnings.items():
        for text in texts:
            if text not in found.warnings.get(name, ()):
                yield f"{name}: no warning ({text})"
    for name, paths in found.dropped.items():
        new = [path for path in paths if path not in expected.dropped.get(name, ())]
        if new:
            yield f"{name}: accepted, but {', '.join(f'`{path}`' for path in new)} {_is(new)} dropped without an error"


def _is(items: list[str]) -> str:
    return "is" if len(items) == 1 else "are"


def _compare_groups(name: str, found: tuple[Any, ...], expected: tuple[Any, ...]) -> list[str]:
    kind = (found or expected)[0]["kind"]
    name = f"{kind} {name}"
    left = [one for one in found if one not in expected]
    right = [one for one in expected if one not in found]
    lines: list[str] = []
    for one, other in zip_longest(left, right):
        if one is None:
            lines.append(f"{name}: missing" if not found else f"{name}: {len(found)} instead of {len(expected)}")
        elif other is None:
            lines.append(f"{name}: exists" if not expected else f"{name}: {len(found)} instead of {len(expected)}")
        elif kind == "Pod" and (phase := _compare_phases(one, other)):
            lines.append(f"{name}: {phase}")
            lines += [
                f"{name}: {line}"
                for line in _compare_values(one.get("spec"), other.get("spec"), "spec")
                if not line.startswith("`spec.nodeName`")
            ]
        else:
            changes = [f"{name}: {line}" for line in _select_telling(list(_compare_values(one, other, "")))]
            lines += changes[:_LINES_OF_OBJECT_MAX]
            if len(changes) > _LINES_OF_OBJECT_MAX:
                lines.append(f"{name}: and {len(changes) - _LINES_OF_OBJECT_MAX} more fields")
    return list(dict.fromkeys(lines))


def _compare_phases(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Return how the phases of two pods differ, with the reason; the rest of the status follows from that."""
    phases = [(pod.get("status") or {}).get("phase", "Pending") for pod in (found, expected)]
    if phases[0] == phases[1]:
        return ""
    status = found.get("status") or {}
    scheduled = (one for one in status.get("conditions") or () if one.get("type") == "PodScheduled")
    reasons = [status.get("message"), status.get("reason"), *(one.get("message") for one in scheduled)]
    reason = next((one for one in reasons if one), "")
    return f"{phases[0]} instead of {phases[1]}{f' ({_cut(reason)})' if reason else ''}"


def _select_telling(lines: list[str]) -> list[str]:
    """Return the lines without generations, which follow from other changes, unless nothing else is left."""
    return [line for line in lines if _GENERATION not in line] or lines


def _compare_values(found: Any, expected: Any, at: str) -> Iterator[str]:
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        for key in [*expected, *(key for key in found if key not in expected)]:
            path = f"{at}.{key}" if at else str(key)
            if key not in found:
                yield f"`{path}` is missing ({_show(expected[key])})"
            elif key not in expected:
                yield f"`{path}` is {_show(found[key])}"
            elif found[key] != expected[key]:
                yield from _compare_values(found[key], expected[key], path)
    elif isinstance(found, list) and isinstance(expected, list):
        yield from _compare_lists(found, expected, at)
    else:
        yield f"`{at}` is {_show(found)} instead of {_show(expected)}"


def _compare_lists(found: list[Any], expected: list[Any], at: str) -> Iterator[str]:
    mine, others = _index(found), _index(expected)
    for key in [*others, *(key for key in mine if key not in others)]:
        path = f"{at}[{key}]"
        if key not in mine:
            yield f"`{path}` is missing ({_show(others[key])})"
        elif key not in others:
            yield f"`{path}` is {_show(mine[key])}"
        elif mine[key] != others[key]:
            yield from _compare_values(mine[key], others[key], path)


def _index(items: list[Any]) -> dict[str, Any]:
    """Return the items of a list by type or name where they have one, else by position."""
    if items and all(isinstance(item, str) for item in items):
        return {item: item for item in items}
    for key in ("type", "name"):
        if items and all(isinstance(item, Mapping) and isinstance(item.get(key), str) for item in items):
            return {item[key]: item for item in items}
    return {str(index): item for index, item in enumerate(items)}


def _show(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(one, Mapping) and "type" in one for one in value):
        return ", ".join(f"`{one['type']}={one.get('status', '')}`" for one in value)
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return f"`{text}`" if len(text) <= _VALUE_MAX else f"`{text[:_VALUE_MAX]}…`"


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE_MAX else f"{text[:_VALUE_MAX]}…"
