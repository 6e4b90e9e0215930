"""Cells of labels and label selectors."""

from collections.abc import Mapping

from mockkube.api import names
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import elements, section, sections, string
from mockkube.api.printers.table import NONE

_WORDS = {"In": "in", "NotIn": "notin"}


def format_labels(labels: Mapping[str, object]) -> str:
    """Return `key=value` pairs, sorted."""
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items())) or NONE


def format_selector_or_none(selector: ReadOnlyObject) -> str | None:
    """Return the selector in command-line syntax, sorted by key; None if it is invalid."""
    # upstream 1.36: apimachinery/pkg/apis/meta/v1/helpers.go, pkg/labels/selector.go
    pairs = section(selector, "matchLabels")
    terms: list[tuple[str, str | None]] = [(key, _format_equality(key, str(value))) for key, value in pairs.items()]
    terms += [(string(item, "key"), _format_requirement(item)) for item in sections(selector, "matchExpressions")]
    terms.sort(key=lambda term: term[0])
    texts = [text for _, text in terms if text is not None]
    return ",".join(texts) if len(texts) == len(terms) else None


def format_selector(selector: ReadOnlyObject) -> str:
    """Return the selector in command-line syntax, or `<none>` for an empty one."""
    text = format_selector_or_none(selector)
    return "<error>" if text is None else text or NONE


def _format_equality(key: str, value: str) -> str | None:
    return f"{key}={value}" if _is_label(key, value) else None


def _format_requirement(item: ReadOnlyObject) -> str | None:
    key, operator = string(item, "key"), string(item, "operator")
    values = [str(value) for value in elements(item, "values")]
    if not _is_label(key, *values):
        return None
    match operator:
        case "In" | "NotIn" if values:
            return f"{key} {_WORDS[operator]} ({','.join(sorted(values))})"
        case "Exists" if not values:
            return key
        case "DoesNotExist" if not values:
            return f"!{key}"
    return None


def _is_label(key: str, *values: str) -> bool:
    return not names.check_qualified_name(key) and not any(names.check_label_value(value) for value in values)
