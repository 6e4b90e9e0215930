"""Taints of a node."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateNodeTaints

from collections.abc import Sequence

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, invalid, required
from mockkube.api.kinds.core.pod.tolerations import validate_taint_effect
from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.internal_form import internal_form
from mockkube.api.validation.labels import validate_label_name


def validate_taints(taints: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    """Judge taints: in form, and one for each key and effect."""
    found: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        here, key, value, effect = f"{at}[{i}]", *(taint.get(name, "") for name in ("key", "value", "effect"))
        found += validate_label_name(key, f"{here}.key")
        if texts := names.label_value(value):
            found.append(invalid(f"{here}.value", value, ";".join(texts)))
        found += validate_taint_effect(effect, f"{here}.effect") if effect else [required(f"{here}.effect")]
        if (effect, key) in seen:
            text = "taints must be unique by key and effect pair"
            found.append(duplicate(here, internal_form("Taint", taint), text))
        seen.add((effect, key))
    return found
