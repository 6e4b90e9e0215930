"""Warnings about deprecated node labels in label selectors that select nodes."""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.node_selector import DEPRECATED_LABELS


def get_label_deprecation(label: str) -> str | None:
    """Return the deprecation message of a label; None if it is not deprecated."""
    return DEPRECATED_LABELS.get(label)


def get_node_label_warnings(selector: ReadOnlyObject | None, at: str) -> list[str]:
    """Return warnings about deprecated labels in a label selector that selects nodes."""
    if not selector:
        return []
    expressions = enumerate(selector.get("matchExpressions") or [])
    warnings = [
        f"{at}.matchExpressions[{index}].key: {each.get('key')} is {message}"
        for index, each in expressions
        if (message := get_label_deprecation(each.get("key", "")))
    ]
    found = ((label, get_label_deprecation(label)) for label in selector.get("matchLabels") or {})
    return warnings + [f"{at}.matchLabels.{label}: {message}" for label, message in found if message]
