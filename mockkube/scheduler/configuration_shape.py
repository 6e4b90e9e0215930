"""Of which type each part of a KubeSchedulerConfiguration is: what is not so is told before anything is read from it.

upstream 1.36: staging/src/k8s.io/kube-scheduler/config/v1/types.go, types_pluginargs.go
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.api.fields import invalid, required
from mockkube.api.types import ReadOnlyObject

Shape = type | list[Any] | Mapping[str, Any]
"""A type of scalars, the shape of what a list holds, or that of each field; a name that ends in `!` must be there."""

_PLUGINS: Final = {"enabled": [{"name!": str, "weight": int}], "disabled": [{"name!": str}]}
_RESOURCES: Final = [{"name": str, "weight": int}]
_POINTS: Final = [{"utilization": int, "score": int}]
_TERM: Final = {"matchExpressions": [{"key": str, "operator": str, "values": [str]}]}
_NODE_TERM: Final = {**_TERM, "matchFields": _TERM["matchExpressions"]}
_AFFINITY: Final = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_NODE_TERM]},
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": int, "preference": _NODE_TERM}],
}
_ARGUMENTS: Final[Mapping[str, Shape]] = {
    "InterPodAffinity": {"hardPodAffinityWeight": int, "ignorePreferredTermsOfExistingPods": bool},
    "NodeAffinity": {"addedAffinity": _AFFINITY},
    "NodeResourcesBalancedAllocation": {"resources": _RESOURCES},
    "NodeResourcesFit": {
        "ignoredResources": [str],
        "ignoredResourceGroups": [str],
        "scoringStrategy": {
            "type": str,
            "resources": _RESOURCES,
            "requestedToCapacityRatio": {"shape": _POINTS},
        },
    },
    "PodTopologySpread": {
        "defaultConstraints": [{"maxSkew": int, "topologyKey": str, "whenUnsatisfiable": str}],
        "defaultingType": str,
    },
    "VolumeBinding": {"bindTimeoutSeconds": int, "shape": _POINTS},
}
_TEXTS: Final[Mapping[type, str]] = {int: "an integer", str: "a string", bool: "true or false"}


def check(given: ReadOnlyObject, points: Sequence[str]) -> Iterator[str]:
    """Yield what is of the wrong type; plugins are enabled and disabled at these points."""
    profile = {
        "schedulerName": str,
        "percentageOfNodesToScore": int,
        "plugins": dict.fromkeys(points, _PLUGINS),
        "pluginConfig": [{"name!": str, "args": {}}],
    }
    whole = {
        "percentageOfNodesToScore": int,
        "podInitialBackoffSeconds": int,
        "podMaxBackoffSeconds": int,
        "extenders": [{}],
        "profiles": [profile],
    }
    found = list(_wrong(given, whole, ""))
    yield from found
    if not found:
        yield from _wrong_arguments(given)


def _wrong_arguments(given: ReadOnlyObject) -> Iterator[str]:
    for index, profile in enumerate(given.get("profiles") or ()):
        for place, one in enumerate((profile or {}).get("pluginConfig") or ()):
            shape = _ARGUMENTS.get(one["name"], {})
            yield from _wrong(one.get("args"), shape, f"profiles[{index}].pluginConfig[{place}].args")


def _wrong(value: Any, shape: Shape, at: str) -> Iterator[str]:
    if value is None:  # as if nothing were said
        return
    if isinstance(shape, type):
        if not isinstance(value, shape) or (shape is int and isinstance(value, bool)):
            yield str(invalid(at, value, f"must be {_TEXTS[shape]}"))
    elif isinstance(shape, list):
        yield from _wrong_items(value, shape[0], at)
    elif isinstance(value, Mapping):
        yield from _wrong_fields(value, shape, at)
    else:
        yield str(invalid(at, value, "must be an object"))


def _wrong_items(value: Any, shape: Shape, at: str) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield str(invalid(at, value, "must be a list"))
        return
    for index, item in enumerate(value):
        if item is None:
            yield str(required(f"{at}[{index}]"))
        yield from _wrong(item, shape, f"{at}[{index}]")


def _wrong_fields(value: Mapping[str, Any], shape: Mapping[str, Any], at: str) -> Iterator[str]:
    for field, inner in shape.items():
        name = field.removesuffix("!")
        here = f"{at}.{name}" if at else name
        if name != field and not value.get(name):
            yield str(required(here))
        yield from _wrong(value.get(name), inner, here)
