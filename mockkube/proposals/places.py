"""Where an object keeps the pods it is or makes, and in a pod what decides about nodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mockkube.api.catalogue import POD_SPECS
from mockkube.api.kinds.core.pod.affinity import PREFERRED, REQUIRED
from mockkube.api.types import ReadOnlyObject


@dataclass(frozen=True, slots=True)
class Part:
    """Something in an object, and its path there."""

    at: str
    value: Any


def pod_spec(obj: ReadOnlyObject) -> Part | None:
    """Return the spec of the pod that the object is or makes."""
    way = POD_SPECS.get(obj.get("kind", ""))
    if way is None:
        return None
    found: Any = obj
    for step in way:
        found = found.get(step) or {}
    return Part(".".join(way), found)


def tolerations(spec: Part) -> Iterator[Part]:
    """Yield the tolerations of a pod."""
    for i, toleration in enumerate(spec.value.get("tolerations") or ()):
        yield Part(f"{spec.at}.tolerations[{i}]", toleration)


def node_affinity(spec: Part) -> Part:
    """Return a pod's node affinity, empty if it has none."""
    affinity = (spec.value.get("affinity") or {}).get("nodeAffinity") or {}
    return Part(f"{spec.at}.affinity.nodeAffinity", affinity)


def volume_selector(obj: ReadOnlyObject) -> Part:
    """Return the node selector of a persistent volume, empty if it has none."""
    affinity = (obj.get("spec") or {}).get("nodeAffinity") or {}
    return Part("spec.nodeAffinity.required", affinity.get("required") or {})


def required_terms(affinity: Part) -> Iterator[Part]:
    """Yield the terms one of which a node must satisfy."""
    yield from selector_terms(Part(f"{affinity.at}.{REQUIRED}", affinity.value.get(REQUIRED) or {}))


def preferred_terms(affinity: Part) -> Iterator[Part]:
    """Yield the terms that make a node better liked."""
    for i, term in enumerate(affinity.value.get(PREFERRED) or ()):
        yield Part(f"{affinity.at}.{PREFERRED}[{i}].preference", term.get("preference") or {})


def selector_terms(selector: Part) -> Iterator[Part]:
    """Yield the terms of a node selector."""
    for i, term in enumerate(selector.value.get("nodeSelectorTerms") or ()):
        yield Part(f"{selector.at}.nodeSelectorTerms[{i}]", term)


def requirements(term: Part) -> Iterator[Part]:
    """Yield what a term asks of labels."""
    for i, requirement in enumerate(term.value.get("matchExpressions") or ()):
        yield Part(f"{term.at}.matchExpressions[{i}]", requirement)


def device_tolerations(obj: ReadOnlyObject) -> Iterator[Part]:
    """Yield what a claim of devices, or the claims of a template, tolerate of devices."""
    way = {"ResourceClaim": "spec", "ResourceClaimTemplate": "spec.spec"}.get(obj.get("kind", ""))
    if way is None:
        return
    found: Any = obj
    for step in way.split("."):
        found = found.get(step) or {}
    for i, request in enumerate((found.get("devices") or {}).get("requests") or ()):
        at = f"{way}.devices.requests[{i}]"
        wishes = [Part(f"{at}.exactly", request.get("exactly") or {})]
        wishes += [Part(f"{at}.firstAvailable[{j}]", one) for j, one in enumerate(request.get("firstAvailable") or ())]
        for wish in wishes:
            for j, toleration in enumerate(wish.value.get("tolerations") or ()):
                yield Part(f"{wish.at}.tolerations[{j}]", toleration)
