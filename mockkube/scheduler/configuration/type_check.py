"""Type-check a KubeSchedulerConfiguration before it is parsed.

upstream 1.36: staging/src/k8s.io/kube-scheduler/config/v1/types.go, types_pluginargs.go
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.api.fields import invalid, required
from mockkube.api.json_objects import ReadOnlyObject

Shape = type | list[Any] | Mapping[str, Any]
"""Type of a scalar, shape of the items of a list, or shapes of the fields of an object.

A field name that ends in `!` is required. Other fields than those named are unknown; an empty object accepts any.
"""

_PLUGINS: Final = {"enabled": [{"name!": str, "weight": int}], "disabled": [{"name!": str}]}
_RESOURCES: Final = [{"name": str, "weight": int}]
_POINTS: Final = [{"utilization": int, "score": int}]
_TERM: Final = {"matchExpressions": [{"key": str, "operator": str, "values": [str]}]}
_NODE_TERM: Final = {**_TERM, "matchFields": _TERM["matchExpressions"]}
_AFFINITY: Final = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_NODE_TERM]},
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": int, "preference": _NODE_TERM}],
}
_CONSTRAINT: Final = {
    "maxSkew": int,
    "topologyKey": str,
    "whenUnsatisfiable": str,
    "labelSelector": {},
    "minDomains": int,
    "nodeAffinityPolicy": str,
    "nodeTaintsPolicy": str,
    "matchLabelKeys": [str],
}
_CONNECTION: Final = {
    "kubeconfig": str,
    "acceptContentTypes": str,
    "contentType": str,
    "qps": float,
    "burst": int,
}
_ELECTION: Final = {
    "leaderElect": bool,
    "leaseDuration": str,
    "renewDeadline": str,
    "retryPeriod": str,
    "resourceLock": str,
    "resourceName": str,
    "resourceNamespace": str,
}
_CONFIGURATION: Final[Mapping[str, Shape]] = {
    "apiVersion": str,
    "kind": str,
    "clientConnection": _CONNECTION,
    "delayCacheUntilActive": bool,
    "enableContentionProfiling": bool,
    "enableProfiling": bool,
    "extenders": [{}],
    "leaderElection": _ELECTION,
    "parallelism": int,
    "percentageOfNodesToScore": int,
    "podInitialBackoffSeconds": int,
    "podMaxBackoffSeconds": int,
}
_TYPE_META: Final[Mapping[str, Shape]] = {"apiVersion": str, "kind": str}
_ARGUMENTS: Final[Mapping[str, Mapping[str, Shape]]] = {
    "DefaultPreemption": {"minCandidateNodesPercentage": int, "minCandidateNodesAbsolute": int},
    "DynamicResources": {"filterTimeout": str, "bindingTimeout": str},
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
        "defaultConstraints": [_CONSTRAINT],
        "defaultingType": str,
    },
    "VolumeBinding": {"bindTimeoutSeconds": int, "shape": _POINTS},
}
_TYPE_NAMES: Final[Mapping[type, str]] = {
    int: "an integer",
    float: "a number",
    str: "a string",
    bool: "true or false",
}
_INT32_MAX: Final = 2**31 - 1


def check_types(document: ReadOnlyObject, points: Sequence[str]) -> Iterator[str]:
    """Yield the type errors, or else the unknown fields; `points` are the keys of `plugins`."""
    profile: Mapping[str, Shape] = {
        "schedulerName": str,
        "percentageOfNodesToScore": int,
        "plugins": dict.fromkeys(points, _PLUGINS),
        "pluginConfig": [{"name!": str, "args": {}}],
    }
    shape = {**_CONFIGURATION, "profiles": [profile]}
    type_errors = list(_type_errors(document, shape, "")) or list(_argument_type_errors(document))
    yield from type_errors or (
        *_unknown_field_errors(_unknown_fields(document, shape, "")),
        *_unknown_argument_fields(document),
    )


def _plugin_arguments(document: ReadOnlyObject) -> Iterator[tuple[str, str, Any]]:
    """Yield the path of each entry of pluginConfig, its plugin and its arguments."""
    for index, profile in enumerate(document.get("profiles") or ()):
        for place, one in enumerate(profile.get("pluginConfig") or ()):
            yield f"profiles[{index}].pluginConfig[{place}]", one["name"], one.get("args")


def _argument_type_errors(document: ReadOnlyObject) -> Iterator[str]:
    for at, name, args in _plugin_arguments(document):
        shape = _ARGUMENTS.get(name)
        if shape is None:
            continue
        wrong = list(_type_errors(args, {**_TYPE_META, **shape}, f"{at}.args"))
        yield from wrong or _declared_type_errors(args or {}, name, at)


def _declared_type_errors(args: ReadOnlyObject, name: str, at: str) -> Iterator[str]:
    """Yield an error if arguments declare another apiVersion or kind than their plugin's."""
    expected = ("kubescheduler.config.k8s.io/v1", f"{name}Args")
    for value, wanted in zip((args.get("apiVersion"), args.get("kind")), expected, strict=True):
        if value and value != wanted:
            yield f"decoding .{at}: args for plugin {name} were not of type {' '.join(expected)}, got {value}"


def _unknown_argument_fields(document: ReadOnlyObject) -> Iterator[str]:
    for at, name, args in _plugin_arguments(document):
        if shape := _ARGUMENTS.get(name):
            prefix = f"decoding .{at}: strict decoding error: decoding args for plugin {name}: "
            for one in _unknown_field_errors(_unknown_fields(args, {**_TYPE_META, **shape}, "")):
                # upstream decodes arguments inside the configuration, so that its text has the prefix twice.
                yield f"strict decoding error: {prefix}{one}"


def _unknown_field_errors(places: Iterator[str]) -> Iterator[str]:
    return (f'strict decoding error: unknown field "{place}"' for place in places)


def _unknown_fields(value: Any, shape: Shape, at: str) -> Iterator[str]:
    """Yield the paths of unknown fields; all values have the right types."""
    if isinstance(shape, list):
        for index, item in enumerate(value or ()):
            yield from _unknown_fields(item, shape[0], f"{at}[{index}]")
    elif isinstance(shape, Mapping) and shape:
        known = {field.removesuffix("!"): inner for field, inner in shape.items()}
        for name, inner in (value or {}).items():
            here = f"{at}.{name}" if at else name
            if name not in known:
                yield here
            elif known[name]:
                yield from _unknown_fields(inner, known[name], here)


def _has_type(value: Any, shape: type) -> bool:
    """Return whether a scalar has a type; in Python, unlike JSON, booleans are integers."""
    if isinstance(value, bool) or shape is bool:
        return shape is bool and isinstance(value, bool)
    if shape is int:
        # All integers of the configuration are int32 upstream.
        return isinstance(value, int) and -_INT32_MAX - 1 <= value <= _INT32_MAX
    return isinstance(value, int | float if shape is float else shape)


def _type_errors(value: Any, shape: Shape, at: str) -> Iterator[str]:
    if value is None:  # null counts as absent
        return
    if isinstance(shape, type):
        if not _has_type(value, shape):
            yield str(invalid(at, value, f"must be {_TYPE_NAMES[shape]}"))
    elif isinstance(shape, list):
        yield from _item_type_errors(value, shape[0], at)
    elif isinstance(value, Mapping):
        yield from _field_type_errors(value, shape, at)
    else:
        yield str(invalid(at, value, "must be an object"))


def _item_type_errors(value: Any, shape: Shape, at: str) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield str(invalid(at, value, "must be a list"))
        return
    for index, item in enumerate(value):
        # Go decodes a null item as an empty object, whose required fields are then missing.
        if item is None:
            yield str(required(f"{at}[{index}]"))
        yield from _type_errors(item, shape, f"{at}[{index}]")


def _field_type_errors(value: Mapping[str, Any], shape: Mapping[str, Any], at: str) -> Iterator[str]:
    for field, inner in shape.items():
        name = field.removesuffix("!")
        here = f"{at}.{name}" if at else name
        if name != field and not value.get(name):
            yield str(required(here))
        yield from _type_errors(value.get(name), inner, here)
