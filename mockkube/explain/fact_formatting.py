"""Format the facts of a decision: taints, tolerations, resource amounts, affinity terms."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject

_UNITS: Final = (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
_BYTES: Final = ("memory", "ephemeral-storage")


def format_facts(facts: Mapping[str, Any]) -> str:
    """Return the facts in one line; empty if there are none."""
    formatter = next((formatter for name, formatter in _FORMATTERS.items() if name in facts), None)
    if formatter is not None:
        return "; ".join(formatter(facts))
    # Facts of plugins that have no formatter, for example of proposals, are still shown by name.
    return ", ".join(f"{name}: {value}" for name, value in facts.items() if isinstance(value, str | int | list))


def format_taint(taint: ReadOnlyObject) -> str:
    """Return a taint in kubectl's notation: `key=value:Effect`."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _format_near_miss(near: ReadOnlyObject) -> str:
    """Return why a toleration that is close to a taint does not match it."""
    toleration = near["toleration"]
    shown = (
        toleration.get("expression") or f"{toleration.get('operator') or 'Equal'} {toleration.get('value', '')}".strip()
    )
    return f"toleration {shown}: {near['reason']}"


def format_amount(resource: str, amount: int) -> str:
    """Return a resource amount as a quantity."""
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource in _BYTES:
        for suffix, size in _UNITS:
            if amount and not amount % size:
                return f"{amount // size}{suffix}"
    return str(amount)


def _format_selector(selector: ReadOnlyObject) -> str:
    """Return a node selector (`nodeSelectorTerms`) in one line."""
    return " or ".join(_format_term(term) for term in selector.get("nodeSelectorTerms") or ())


def _format_term(term: ReadOnlyObject) -> str:
    requirements = (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ()))
    return " and ".join(_format_requirement(requirement) for requirement in requirements) or "nothing"


def _format_requirement(requirement: ReadOnlyObject) -> str:
    values = f" [{', '.join(requirement['values'])}]" if requirement.get("values") else ""
    return f"{requirement['key']} {requirement['operator']}{values}"


def _format_taint_facts(facts: Mapping[str, Any]) -> Iterator[str]:
    yield f"taint {format_taint(facts['taint'])}"
    yield from (_format_near_miss(one) for one in facts.get("tolerations", ()))


def _format_shortages(facts: Mapping[str, Any]) -> Iterator[str]:
    for one in facts["shortages"]:
        requested, used, capacity = (
            format_amount(one["resource"], one[name]) for name in ("requested", "used", "capacity")
        )
        yield f"{one['resource']}: {requested} requested, {used} of {capacity} allocated"


def _format_volume(facts: Mapping[str, Any]) -> Iterator[str]:
    """Describe a bound volume that cannot be used from the node."""
    claim = f" of claim {facts['claim']}" if "claim" in facts else ""
    yield f"volume {facts['volume']}{claim}{_format_volume_location(facts)}"


def _format_volume_location(facts: Mapping[str, Any]) -> str:
    if "used_by" in facts:
        return f" is used by {facts['used_by']}"
    if "key" in facts:
        return f" is in {facts['key']} {', '.join(facts['values'])}"
    required = (facts.get("node_affinity") or {}).get("required")
    return f" is to be used where {_format_selector(required)}" if required else ""


def _format_affinity(facts: Mapping[str, Any]) -> Iterator[str]:
    """Describe the required affinity, and the node's labels with the same keys."""
    selector, required = facts["node_selector"], facts["required"]
    if selector:
        yield f"nodeSelector {', '.join(f'{key}={value}' for key, value in selector.items())}"
    if required:
        yield f"nodeAffinity {_format_selector(required)}"
    # Nodes have dozens of labels; only those that the pod selects by explain the rejection.
    labels = facts["labels"]
    shown = ", ".join(_format_label(labels, key) for key in _required_label_keys(selector, required))
    yield f"node has {shown or 'another name'}"


def _required_label_keys(selector: ReadOnlyObject, required: ReadOnlyObject) -> Iterable[str]:
    terms = required.get("nodeSelectorTerms") or ()
    required_keys = (requirement["key"] for term in terms for requirement in term.get("matchExpressions") or ())
    return dict.fromkeys((*selector, *required_keys))


def _format_label(labels: ReadOnlyObject, key: str) -> str:
    return f"{key}={labels[key]}" if key in labels else f"no label {key}"


def _format_cordon(facts: Mapping[str, Any]) -> Iterator[str]:
    yield "the node is cordoned"


# Formatter by the fact that identifies the decision; the first key present in the facts wins.
_FORMATTERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]]] = {
    "taint": _format_taint_facts,
    "shortages": _format_shortages,
    "volume": _format_volume,
    "required": _format_affinity,
    "cordoned": _format_cordon,
}
