"""Format texts about Pod Security violations: quoted names and plurals."""

from collections.abc import Sequence


def join_quoted(items: Sequence[str]) -> str:
    """Return the items, each in quotes."""
    return ", ".join(f'"{item}"' for item in items)


def pluralize(noun: str, items: Sequence[str]) -> str:
    """Return the noun, in the plural unless there is exactly one item."""
    return noun if len(items) == 1 else f"{noun}s"


def format_named(noun: str, items: Sequence[str]) -> str:
    """Return noun and items: `container "a"`, `containers "a", "b"`."""
    return f"{pluralize(noun, items)} {join_quoted(items)}"


def format_setters(whole: bool, containers: Sequence[str]) -> list[str]:
    """Return phrases for what sets a field: the pod, and containers."""
    return ["pod"] * whole + ([format_named("container", containers)] if containers else [])
