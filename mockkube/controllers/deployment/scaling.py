"""Sizes of a deployment's replica sets during rollouts and scaling.

upstream 1.36: pkg/controller/deployment/util/deployment_util.go, sync.go, rolling.go
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject

DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAX: Final = "deployment.kubernetes.io/max-replicas"
_INT32_MAX: Final = 2**31 - 1


def desired_replicas(obj: ReadOnlyObject) -> int:
    """Return `spec.replicas` of a deployment or set."""
    replicas: int = obj["spec"].get("replicas", 1)
    return replicas


def status_number(obj: ReadOnlyObject, name: str) -> int:
    """Return a number of an object's status; zero if it is absent."""
    number: int = (obj.get("status") or {}).get(name, 0)
    return number


def total_replicas(sets: Iterable[ReadOnlyObject]) -> int:
    """Return the sum of `spec.replicas` of sets."""
    return sum(desired_replicas(one) for one in sets)


def total_status_number(sets: Iterable[ReadOnlyObject], name: str) -> int:
    """Return the sum of a status number of sets."""
    return sum(status_number(one, name) for one in sets)


def filter_active(sets: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Return the sets with `spec.replicas` above zero."""
    return [one for one in sets if desired_replicas(one) > 0]


def is_rolling(deployment: ReadOnlyObject) -> bool:
    """Return whether a deployment has strategy RollingUpdate."""
    strategy = deployment["spec"].get("strategy") or {}
    return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")


def resolve_int_or_percent(value: Any, whole: int, rounding: Callable[[float], int]) -> int:
    """Return an int-or-percent value as a number."""
    if isinstance(value, str):
        return rounding(int(value.removesuffix("%")) * whole / 100) if value.endswith("%") else int(value)
    return int(value)


def _resolve_fenceposts(deployment: ReadOnlyObject) -> tuple[int, int]:
    """Return maxSurge and maxUnavailable as numbers, at least one of them positive."""
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = resolve_int_or_percent(rolling.get("maxSurge", 0), desired_replicas(deployment), math.ceil)
    unavailable = resolve_int_or_percent(rolling.get("maxUnavailable", 0), desired_replicas(deployment), math.floor)
    # Both can round to zero although neither was given as zero; a rollout could then never proceed.
    return (surge, 1) if surge == 0 and unavailable == 0 else (surge, unavailable)


def max_surge(deployment: ReadOnlyObject) -> int:
    """Return how many pods may exist beyond the desired number."""
    return _resolve_fenceposts(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: ReadOnlyObject) -> int:
    """Return how many of the desired pods may be unavailable."""
    if not is_rolling(deployment) or desired_replicas(deployment) == 0:
        return 0
    return min(_resolve_fenceposts(deployment)[1], desired_replicas(deployment))


def new_set_replicas(deployment: ReadOnlyObject, all_sets: Sequence[ReadOnlyObject], new_replicas: int) -> int:
    """Return the size the new set may have now; `all_sets` includes it with `new_replicas`."""
    if not is_rolling(deployment):
        return desired_replicas(deployment)
    room = desired_replicas(deployment) + max_surge(deployment) - total_replicas(all_sets)
    if room <= 0:
        return new_replicas
    return new_replicas + min(room, desired_replicas(deployment) - new_replicas)


def is_saturated(deployment: ReadOnlyObject, new: ReadOnlyObject | None) -> bool:
    """Return whether the new set has all pods of the deployment, and all are available."""
    if new is None:
        return False
    size = desired_replicas(deployment)
    return (
        desired_replicas(new) == size
        and annotation_number(new, DESIRED) == size
        and status_number(new, "availableReplicas") == size
    )


def annotation_number(obj: ReadOnlyObject, name: str) -> int | None:
    """Return the number in an annotation; None if it holds no 32-bit number."""
    text = (obj["metadata"].get("annotations") or {}).get(name, "")
    return int(text) if text.isdecimal() and int(text) <= _INT32_MAX else None


def proportional_sizes(
    deployment: ReadOnlyObject, new: ReadOnlyObject | None, old: Sequence[ReadOnlyObject]
) -> list[tuple[ReadOnlyObject, int]]:
    """Return the sizes of all active sets when a deployment is scaled during a rollout."""
    sets = filter_active([*old, *([new] if new else [])])
    size = desired_replicas(deployment)
    allowed = size + max_surge(deployment) if size > 0 else 0
    to_add = allowed - total_replicas(sets)
    # Larger sets first; among equals newer ones grow first, and older ones shrink first.
    if to_add > 0:
        sets.sort(key=_age_key, reverse=True)
    else:
        sets.sort(key=_age_key)
    sets.sort(key=desired_replicas, reverse=True)
    added = 0
    sizes = []
    for one in sets:
        share = _proportion(one, deployment, to_add, added)
        added += share
        sizes.append(desired_replicas(one) + share)
    if sizes and to_add:
        # What rounding leaves over goes to the largest set.
        sizes[0] = max(sizes[0] + to_add - added, 0)
    return list(zip(sets, sizes, strict=True))


def _age_key(obj: ReadOnlyObject) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("creationTimestamp", ""), metadata["name"]


def _proportion(one: ReadOnlyObject, deployment: ReadOnlyObject, to_add: int, added: int) -> int:
    if desired_replicas(one) == 0 or to_add in (0, added):
        return 0
    fraction, left = _set_fraction(one, deployment), to_add - added
    return min(fraction, left) if to_add > 0 else max(fraction, left)


def _set_fraction(one: ReadOnlyObject, deployment: ReadOnlyObject) -> int:
    size = desired_replicas(deployment)
    if size == 0:
        return -desired_replicas(one)
    before = annotation_number(one, MAX) or status_number(deployment, "replicas")
    if before == 0:
        return 0
    return _round_half_away(desired_replicas(one) * (size + max_surge(deployment)) / before) - desired_replicas(one)


def _round_half_away(number: float) -> int:
    """Round half away from zero, as Go's math.Round; Python's `round` goes to the even number."""
    return math.floor(number + 0.5) if number >= 0 else math.ceil(number - 0.5)


def scale_down_unhealthy(deployment: ReadOnlyObject, old: Sequence[ReadOnlyObject], cut_max: int) -> dict[str, int]:
    """Return the sizes, by uid, that remove up to `cut_max` unavailable pods from old sets."""
    # Unhealthy pods go first: they block a rollout without serving anybody.
    sizes: dict[str, int] = {}
    cut = 0
    for one in sorted(old, key=_age_key):
        missing = desired_replicas(one) - status_number(one, "availableReplicas")
        if cut < cut_max and desired_replicas(one) > 0 and missing > 0:
            share = min(cut_max - cut, missing)
            sizes[one["metadata"]["uid"]] = desired_replicas(one) - share
            cut += share
    return sizes


def scale_down_available(
    deployment: ReadOnlyObject, old: Sequence[ReadOnlyObject], all_sets: Sequence[ReadOnlyObject]
) -> dict[str, int]:
    """Return the sizes, by uid, that remove available pods from old sets within maxUnavailable."""
    spare = total_status_number(all_sets, "availableReplicas") - (
        desired_replicas(deployment) - max_unavailable(deployment)
    )
    sizes: dict[str, int] = {}
    for one in sorted(old, key=_age_key):
        if spare > 0 and desired_replicas(one) > 0:
            share = min(desired_replicas(one), spare)
            sizes[one["metadata"]["uid"]] = desired_replicas(one) - share
            spare -= share
    return sizes
