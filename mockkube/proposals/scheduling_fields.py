"""Fields of objects that decide about nodes: pod specs, tolerations, node affinity, device tolerations."""

from collections.abc import Iterator
from typing import Any

from mockkube.api.catalogue import POD_SPEC_PATHS
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import PREFERRED, REQUIRED
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LocatedValue:
    """A value in an object, and its field path."""

    at: str
    value: Any


def pod_spec(obj: ReadOnlyObject) -> LocatedValue | None:
    """Return the pod spec of a pod, or of the pod template of a workload; None for other kinds."""
    path = POD_SPEC_PATHS.get(obj.get("kind", ""))
    if path is None:
        return None
    value: Any = obj
    for step in path:
        value = value.get(step) or {}
    return LocatedValue(".".join(path), value)


def tolerations(spec: LocatedValue) -> Iterator[LocatedValue]:
    """Yield the tolerations of a pod."""
    for i, toleration in enumerate(spec.value.get("tolerations") or ()):
        yield LocatedValue(f"{spec.at}.tolerations[{i}]", toleration)


def node_affinity(spec: LocatedValue) -> LocatedValue:
    """Return a pod's node affinity, empty if it has none."""
    affinity = (spec.value.get("affinity") or {}).get("nodeAffinity") or {}
    return LocatedValue(f"{spec.at}.affinity.nodeAffinity", affinity)


def volume_selector(obj: ReadOnlyObject) -> LocatedValue:
    """Return the node selector of a persistent volume, empty if it has none."""
    affinity = (obj.get("spec") or {}).get("nodeAffinity") or {}
    return LocatedValue("spec.nodeAffinity.required", affinity.get("required") or {})


def required_terms(affinity: LocatedValue) -> Iterator[LocatedValue]:
    """Yield the required terms of a node affinity."""
    yield from selector_terms(LocatedValue(f"{affinity.at}.{REQUIRED}", affinity.value.get(REQUIRED) or {}))


def preferred_terms(affinity: LocatedValue) -> Iterator[LocatedValue]:
    """Yield the preferred terms of a node affinity."""
    for i, term in enumerate(affinity.value.get(PREFERRED) or ()):
        yield LocatedValue(f"{affinity.at}.{PREFERRED}[{i}].preference", term.get("preference") or {})


def selector_terms(selector: LocatedValue) -> Iterator[LocatedValue]:
    """Yield the terms of a node selector."""
    for i, term in enumerate(selector.value.get("nodeSelectorTerms") or ()):
        yield LocatedValue(f"{selector.at}.nodeSelectorTerms[{i}]", term)


def requirements(term: LocatedValue) -> Iterator[LocatedValue]:
    """Yield the label requirements of a term."""
    for i, requirement in enumerate(term.value.get("matchExpressions") or ()):
        yield LocatedValue(f"{term.at}.matchExpressions[{i}]", requirement)


def device_tolerations(obj: ReadOnlyObject) -> Iterator[LocatedValue]:
    """Yield the device tolerations of a resource claim or of a claim template."""
    path = {"ResourceClaim": "spec", "ResourceClaimTemplate": "spec.spec"}.get(obj.get("kind", ""))
    if path is None:
        return
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) or {}
    for i, request in enumerate((value.get("devices") or {}).get("requests") or ()):
        at = f"{path}.devices.requests[{i}]"
        requests = [LocatedValue(f"{at}.exactly", request.get("exactly") or {})]
        requests += [
            LocatedValue(f"{at}.firstAvailable[{j}]", one) for j, one in enumerate(request.get("firstAvailable") or ())
        ]
        for device_request in requests:
            for j, toleration in enumerate(device_request.value.get("tolerations") or ()):
                yield LocatedValue(f"{device_request.at}.tolerations[{j}]", toleration)
