"""Plugin arguments of a KubeSchedulerConfiguration: defaults and validation.

upstream 1.36: pkg/scheduler/apis/config/v1/defaults.go, pkg/scheduler/apis/config/validation/validation_pluginargs.go
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from mockkube_cel.golang.gotime import parse_duration

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.matching.node_selectors import compile_preferred, compile_terms
from mockkube.proposals.component_extensions import make_selector_operators

Defaulter = Callable[[Object, Capabilities], None]
Validator = Callable[[ReadOnlyObject, str, Capabilities], Sequence[FieldError | str]]
_STRATEGIES: Final = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_CAPACITY_SCORING: Final = "StorageCapacityScoring"
_FILTER_TIMEOUT: Final = "DRASchedulerFilterTimeout"
_BINDING_CONDITIONS: Final = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def set_defaults(name: str, args: ReadOnlyObject, caps: Capabilities) -> Object:
    """Return a plugin's arguments with defaults."""
    filled = dict(args)
    if name in _DEFAULTERS:
        _DEFAULTERS[name](filled, caps)
    return filled


def validate_arguments(name: str, args: ReadOnlyObject, at: str, caps: Capabilities) -> list[str]:
    """Return the errors of a plugin's arguments, which have defaults and the right types."""
    return [str(one) for one in _VALIDATORS[name](args, at, caps)] if name in _VALIDATORS else []


# Defaults


def _default_resources(given: Iterable[ReadOnlyObject] | None) -> list[Object]:
    named = [{**one, "weight": one.get("weight") or 1} for one in given or ()]
    return named or [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def _fill_preemption(args: Object, caps: Capabilities) -> None:
    args.setdefault("minCandidateNodesPercentage", 10)
    args.setdefault("minCandidateNodesAbsolute", 100)


def _fill_pod_affinity(args: Object, caps: Capabilities) -> None:
    args.setdefault("hardPodAffinityWeight", 1)


def _fill_balanced(args: Object, caps: Capabilities) -> None:
    args["resources"] = _default_resources(args.get("resources"))


def _fill_fit(args: Object, caps: Capabilities) -> None:
    strategy = dict(args.get("scoringStrategy") or {"type": "LeastAllocated"})
    strategy["resources"] = _default_resources(strategy.get("resources"))
    args["scoringStrategy"] = strategy


def _fill_spread(args: Object, caps: Capabilities) -> None:
    args.setdefault("defaultingType", "System")


def _fill_volumes(args: Object, caps: Capabilities) -> None:
    args.setdefault("bindTimeoutSeconds", 600)
    # The shape exists only with this gate; without it the field must be absent.
    if caps.enabled(_CAPACITY_SCORING) and not args.get("shape"):
        args["shape"] = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]


def _fill_devices(args: Object, caps: Capabilities) -> None:
    if caps.enabled(_FILTER_TIMEOUT):
        args.setdefault("filterTimeout", "10s")
    if all(caps.enabled(gate) for gate in _BINDING_CONDITIONS):
        args.setdefault("bindingTimeout", "10m0s")


_DEFAULTERS: Final[Mapping[str, Defaulter]] = {
    "DefaultPreemption": _fill_preemption,
    "DynamicResources": _fill_devices,
    "InterPodAffinity": _fill_pod_affinity,
    "NodeResourcesBalancedAllocation": _fill_balanced,
    "NodeResourcesFit": _fill_fit,
    "PodTopologySpread": _fill_spread,
    "VolumeBinding": _fill_volumes,
}


# Validation


def _check_preemption(args: ReadOnlyObject, at: str, caps: Capabilities) -> list[FieldError]:
    share, least = args["minCandidateNodesPercentage"], args["minCandidateNodesAbsolute"]
    in_share, in_least = f"{at}.minCandidateNodesPercentage", f"{at}.minCandidateNodesAbsolute"
    errors = []
    if not 0 <= share <= 100:
        errors.append(invalid(in_share, share, "not in valid range [0, 100]"))
    if least < 0:
        errors.append(invalid(in_least, least, "not in valid range [0, inf)"))
    if share == 0 and least == 0:
        errors.append(invalid(in_share, share, "cannot be zero at the same time as minCandidateNodesAbsolute"))
        errors.append(invalid(in_least, least, "cannot be zero at the same time as minCandidateNodesPercentage"))
    return errors


def _check_pod_affinity(args: ReadOnlyObject, at: str, caps: Capabilities) -> list[FieldError]:
    weight = args["hardPodAffinityWeight"]
    at = f"{at}.hardPodAffinityWeight"
    return [] if 0 <= weight <= 100 else [invalid(at, weight, "not in valid range [0, 100]")]


def _check_balanced(args: ReadOnlyObject, at: str, caps: Capabilities) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, one in enumerate(args["resources"]):
        here = f"{at}.resources[{index}]"
        if one.get("name", "") in seen:
            errors.append(duplicate(f"{here}.name", one.get("name", "")))
        seen.add(one.get("name", ""))
        if one["weight"] != 1:
            errors.append(invalid(f"{here}.weight", one["weight"], "must be 1"))
    return errors


def _check_fit(args: ReadOnlyObject, at: str, caps: Capabilities) -> list[FieldError]:
    errors = _check_label_names(args.get("ignoredResources") or (), f"{at}.ignoredResources")
    for index, group in enumerate(args.get("ignoredResourceGroups") or ()):
        here = f"{at}.ignoredResourceGroups[{index}]"
        if "/" in group:
            errors.append(invalid(here, group, "resource group name can't contain '/'"))
        errors += [invalid(here, group, text) for text in names.check_qualified_name(group)]
    return errors + _check_strategy(args["scoringStrategy"], f"{at}.scoringStrategy")


def _check_label_names(values: Sequence[str], at: str) -> list[FieldError]:
    return [
        invalid(f"{at}[{index}]", name, text)
        for index, name in enumerate(values)
        for text in names.check_qualified_name(name)
    ]


def _check_strategy(strategy: ReadOnlyObject, at: str) -> list[FieldError]:
    kind, ratio, in_ratio = (
        strategy.get("type", ""),
        strategy.get("requestedToCapacityRatio"),
        "requestedToCapacityRatio",
    )
    errors = [] if kind in _STRATEGIES else [not_supported(f"{at}.type", kind, _STRATEGIES)]
    for index, one in enumerate(strategy["resources"]):
        if not 0 < one["weight"] <= 100:
            text = f"resource weight of {one.get('name', '')} not in valid range (0, 100]"
            errors.append(invalid(f"{at}.resources[{index}].weight", one["weight"], text))
    if kind == "RequestedToCapacityRatio":
        if ratio is None:
            return [*errors, required(f"{at}.{in_ratio}", f"must be specified when type is {kind}")]
        return errors + _check_shape(ratio.get("shape") or (), f"{at}.{in_ratio}.shape")
    if ratio is not None:
        errors.append(forbidden(f"{at}.{in_ratio}", "must be nil when type is not RequestedToCapacityRatio"))
    return errors


def _check_shape(shape: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    if not shape:
        return [required(at, "at least one point must be specified")]
    errors = []
    points = [(one.get("utilization", 0), one.get("score", 0)) for one in shape]
    for index in range(1, len(points)):
        if points[index - 1][0] >= points[index][0]:
            text = "values must be sorted in increasing order"
            errors.append(invalid(f"{at}[{index}].utilization", points[index][0], text))
            break
    for index, (utilization, score) in enumerate(points):
        if not 0 <= utilization <= 100:
            errors.append(invalid(f"{at}[{index}].utilization", utilization, "not in valid range [0, 100]"))
        if not 0 <= score <= 10:
            errors.append(invalid(f"{at}[{index}].score", score, "not in valid range [0, 10]"))
    return errors


def _check_spread(args: ReadOnlyObject, at: str, caps: Capabilities) -> list[FieldError]:
    kind, constraints = args["defaultingType"], args.get("defaultConstraints") or ()
    errors = []
    if kind not in ("System", "List"):
        errors.append(not_supported(f"{at}.defaultingType", kind, ("System", "List")))
    elif kind == "System" and constraints:
        errors.append(invalid(f"{at}.defaultingType", kind, "when .defaultConstraints are not empty"))
    seen: set[tuple[Any, Any]] = set()
    for index, one in enumerate(constraints):
        here = f"{at}.defaultConstraints[{index}]"
        errors += _check_constraint(one, here)
        key = (one.get("topologyKey", ""), one.get("whenUnsatisfiable", ""))
        if key in seen:
            errors.append(duplicate(here, f"{{{key[0]}, {key[1]}}}"))
        seen.add(key)
    return errors


def _check_constraint(one: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = []
    if one.get("maxSkew", 0) <= 0:
        errors.append(invalid(f"{at}.maxSkew", one.get("maxSkew", 0), "not in valid range (0, inf)"))
    if not (key := one.get("topologyKey", "")):
        errors.append(required(f"{at}.topologyKey", "can not be empty"))
    else:
        errors += [invalid(f"{at}.topologyKey", key, text) for text in names.check_qualified_name(key)]
    action, actions = one.get("whenUnsatisfiable", ""), ("DoNotSchedule", "ScheduleAnyway")
    if not action:
        errors.append(required(f"{at}.whenUnsatisfiable", "can not be empty"))
    elif action not in actions:
        errors.append(not_supported(f"{at}.whenUnsatisfiable", action, actions))
    if "labelSelector" in one:
        text = "constraint must not define a selector, as they deduced for each pod"
        errors.append(forbidden(f"{at}.labelSelector", text))
    return errors


def _check_node_affinity(args: ReadOnlyObject, at: str, caps: Capabilities) -> list[str]:
    added, operators = args.get("addedAffinity") or {}, make_selector_operators(caps)
    at = f"{at}.addedAffinity"
    terms = (added.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    wrong = compile_terms(terms, operators, f"{at}.{_REQUIRED}.nodeSelectorTerms").errors
    return wrong + compile_preferred(added.get(_PREFERRED) or (), operators, f"{at}.{_PREFERRED}").errors


def _check_volumes(args: ReadOnlyObject, at: str, caps: Capabilities) -> list[FieldError]:
    seconds, errors = args["bindTimeoutSeconds"], []
    if seconds < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(f"{at}.bindTimeoutSeconds", seconds, text))
    if caps.enabled(_CAPACITY_SCORING):
        return errors + _check_shape(args["shape"], f"{at}.shape")
    if args.get("shape") is not None:
        text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        errors.append(invalid(f"{at}.shape", args["shape"], text))
    return errors


def _check_devices(args: ReadOnlyObject, at: str, caps: Capabilities) -> list[FieldError]:
    errors = []
    if caps.enabled(_FILTER_TIMEOUT):
        errors += _check_seconds(args, "filterTimeout", at, 0, "must be zero or positive")
    elif "filterTimeout" in args:
        errors.append(forbidden(f"{at}.filterTimeout", "DRASchedulingFilterTimeout feature gate is disabled"))
    if all(caps.enabled(gate) for gate in _BINDING_CONDITIONS):
        errors += _check_seconds(args, "bindingTimeout", at, 1, "must be at least 1 second")
    elif "bindingTimeout" in args:
        text = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
        errors.append(forbidden(f"{at}.bindingTimeout", text))
    return errors


def _check_seconds(args: ReadOnlyObject, name: str, at: str, least: int, text: str) -> list[FieldError]:
    given = args[name]
    span = parse_duration(given)
    if span is None:
        return [invalid(f"{at}.{name}", given, f'time: invalid duration "{given}"')]
    return [] if span.nanos >= least * 10**9 else [invalid(f"{at}.{name}", given, text)]


_VALIDATORS: Final[Mapping[str, Validator]] = {
    "DefaultPreemption": _check_preemption,
    "DynamicResources": _check_devices,
    "InterPodAffinity": _check_pod_affinity,
    "NodeAffinity": _check_node_affinity,
    "NodeResourcesBalancedAllocation": _check_balanced,
    "NodeResourcesFit": _check_fit,
    "PodTopologySpread": _check_spread,
    "VolumeBinding": _check_volumes,
}
