"""Merge and compare sets of tolerations."""

from collections.abc import Sequence

from mockkube.api.json_objects import Object, ReadOnlyObject


def merge_tolerations(first: Sequence[Object], second: Sequence[Object]) -> list[Object]:
    """Return both sets without tolerations that another one covers; of equal ones the first stays."""
    # upstream 1.36: pkg/util/tolerations/tolerations.go
    every = [*first, *second]
    merged: list[Object] = []
    for index, one in enumerate(every):
        later = [other for other in every[index + 1 :] if other != one]
        if not any(covers(other, one) for other in [*merged, *later]):
            merged.append(one)
    return merged


def are_allowed(tolerations: Sequence[Object], allowed: Sequence[Object]) -> bool:
    """Return whether each toleration is covered by an allowed one; an empty list allows everything."""
    if not allowed:
        return True
    return all(any(covers(other, one) for other in allowed) for one in tolerations)


def covers(wide: ReadOnlyObject, narrow: ReadOnlyObject) -> bool:
    """Return whether `wide` tolerates everything that `narrow` does."""
    if wide == narrow:
        return True
    operator = wide.get("operator", "")
    same_key = wide.get("key", "") == narrow.get("key", "")
    if not same_key and (wide.get("key") or operator != "Exists"):
        return False
    effect = wide.get("effect", "")
    if effect and effect != narrow.get("effect", ""):
        return False
    if effect == "NoExecute" and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if operator in ("", "Equal"):
        return bool(narrow.get("operator") == "Equal" and narrow.get("value", "") == wide.get("value", ""))
    return bool(operator == "Exists")
