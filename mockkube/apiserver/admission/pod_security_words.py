"""How findings about pods are worded: names in quotes, and plurals."""

from collections.abc import Sequence


def joined(items: Sequence[str]) -> str:
    """The items, each in quotes."""
    return ", ".join(f'"{item}"' for item in items)


def counted(noun: str, items: Sequence[str]) -> str:
    """The noun, in the plural unless there is exactly one item."""
    return noun if len(items) == 1 else f"{noun}s"


def named(noun: str, items: Sequence[str]) -> str:
    """The noun and the items: `container "a"`, `containers "a", "b"`."""
    return f"{counted(noun, items)} {joined(items)}"


def setters(whole: bool, containers: Sequence[str]) -> list[str]:
    """Who sets something: the pod as a whole, and containers."""
    return ["pod"] * whole + ([named("container", containers)] if containers else [])
