"""Single changes of objects to try: a toleration more, a taint less, more capacity, a constraint removed.

Whether a change helps is not decided here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockkube.api.kinds.core.pod.affinity import REQUIRED
from mockkube.api.resources import Resources
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.explain.facts import amount_text, taint_text
from mockkube.matching.taints import TaintRules, compile_tolerations, find_untolerated
from mockkube.scheduler.plugins.node_unschedulable import UNSCHEDULABLE_TAINT


@dataclass(frozen=True, slots=True)
class Edit:
    """One object with one change, and the change in words."""

    # `toleration`, `constraint`, `priority`, `profile` or `schedulingGate` of the pod; `taint`, `cordon`, `capacity` or
    # `label` of a node; `volume`.
    kind: str
    told: str
    obj: Object


def tolerating(pod: ReadOnlyObject, taint: ReadOnlyObject) -> Edit:
    """Return the pod with a toleration of exactly this taint, without a time limit."""
    toleration = {name: value for name, value in taint.items() if name in ("key", "value", "effect")}
    toleration["operator"] = "Equal" if taint.get("value") else "Exists"
    # A toleration with tolerationSeconds for the same taint would still end, so it is replaced.
    given = [one for one in pod["spec"].get("tolerations") or () if not _same(one, taint)]
    return Edit("toleration", f"the pod tolerates {taint_text(taint)}", _with(pod, tolerations=[toleration, *given]))


def _same(toleration: ReadOnlyObject, taint: ReadOnlyObject) -> bool:
    """Return whether a toleration matches this taint already, if only for some time."""
    compiled = compile_tolerations([toleration], TaintRules())
    # A toleration without a key matches every taint; dropping it would change more than one thing.
    return bool(toleration.get("key")) and find_untolerated([taint], compiled) is None


def without_taint(node: ReadOnlyObject, taint: ReadOnlyObject) -> Edit:
    """Return the node without a taint."""
    present = node["spec"].get("taints") or ()
    left = [one for one in present if any(one.get(name) != taint.get(name) for name in ("key", "effect"))]
    description = f"node {node['metadata']['name']} loses its taint {taint_text(taint)}"
    return Edit("taint", description, _with(node, taints=left))


def uncordoned(node: ReadOnlyObject) -> Edit:
    """Return the node schedulable, and without the taint that the controller manager then removes."""
    spec = {name: value for name, value in node["spec"].items() if name != "unschedulable"}
    taints = [one for one in spec.get("taints") or () if one.get("key") != UNSCHEDULABLE_TAINT["key"]]
    return Edit(
        "cordon", f"node {node['metadata']['name']} is uncordoned", {**node, "spec": {**spec, "taints": taints}}
    )


def roomier(node: ReadOnlyObject, missing: Mapping[str, int]) -> Edit:
    """Return the node with more allocatable resources."""
    status = node.get("status") or {}
    allocatable = status.get("allocatable") or {}
    present = Resources.from_resource_list(allocatable)
    amounts = {name: amount_text(name, present.get_amount(name) + more) for name, more in missing.items()}
    description = ", ".join(f"{amount_text(name, more)} more {name}" for name, more in missing.items())
    changed = {**node, "status": {**status, "allocatable": {**allocatable, **amounts}}}
    return Edit("capacity", f"node {node['metadata']['name']} has {description}", changed)


def labelled(node: ReadOnlyObject, labels: Mapping[str, str]) -> Edit:
    """Return the node with additional labels."""
    metadata = node["metadata"]
    description = ", ".join(f"{key}={value}" if value else key for key, value in labels.items())
    changed = {**node, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}}
    return Edit(
        "label", f"node {metadata['name']} has {'labels' if len(labels) > 1 else 'label'} {description}", changed
    )


def labels_for(selector: ReadOnlyObject, required: ReadOnlyObject) -> Iterator[dict[str, str]]:
    """Yield labels with which a node may match; the scheduler decides whether it does."""
    terms: Sequence[ReadOnlyObject] = required.get("nodeSelectorTerms") or ({},)
    for term in terms:
        labels = {key: str(value) for key, value in selector.items()}
        for requirement in term.get("matchExpressions") or ():
            # NotIn, DoesNotExist, Gt and Lt cannot be met by adding a label with a known value.
            if requirement["operator"] in ("In", "Exists"):
                labels.setdefault(requirement["key"], (requirement.get("values") or ("",))[0])
        if labels:
            yield labels


def free(volume: ReadOnlyObject) -> Edit:
    """Return the volume without node affinity."""
    name = volume["metadata"]["name"]
    spec = {field: value for field, value in volume["spec"].items() if field != "nodeAffinity"}
    return Edit("volume", f"volume {name} may be used from any node", {**volume, "spec": spec})


def relaxed(pod: ReadOnlyObject) -> Iterator[Edit]:
    """Yield the pod without each of its required scheduling constraints."""
    spec = pod["spec"]
    if "nodeSelector" in spec:
        yield Edit("constraint", "the pod has no nodeSelector", _with(pod, nodeSelector=None))
    for name, name_in_words in _AFFINITIES.items():
        affinity = spec.get("affinity") or {}
        if REQUIRED in (affinity.get(name) or {}):
            own = {field: value for field, value in affinity[name].items() if field != REQUIRED}
            yield Edit(
                "constraint", f"the pod has no required {name_in_words}", _with(pod, affinity={**affinity, name: own})
            )
    for index, one in enumerate(spec.get("topologySpreadConstraints") or ()):
        left = [other for other in spec["topologySpreadConstraints"] if other is not one]
        name_in_words = f"the pod has no topologySpreadConstraints[{index}] ({one.get('topologyKey', '')})"
        yield Edit("constraint", name_in_words, _with(pod, topologySpreadConstraints=left))
    if any(port.get("hostPort") for container in spec["containers"] for port in container.get("ports") or ()):
        containers = [_without(container, "ports") for container in spec["containers"]]
        yield Edit("constraint", "the pod has no hostPort", _with(pod, containers=containers))


_AFFINITIES: Final = {
    "nodeAffinity": "node affinity",
    "podAffinity": "pod affinity",
    "podAntiAffinity": "pod anti-affinity",
}


def ungated(pod: ReadOnlyObject) -> Edit:
    """Return the pod without scheduling gates."""
    names = ", ".join(gate["name"] for gate in pod["spec"]["schedulingGates"])
    return Edit("schedulingGate", f"the pod loses its scheduling gates: {names}", _with(pod, schedulingGates=None))


def of_profile(pod: ReadOnlyObject, name: str) -> Edit:
    """Return the pod with another schedulerName."""
    return Edit("profile", f"the pod's schedulerName is {name}", _with(pod, schedulerName=name))


def _with(obj: ReadOnlyObject, **changed: Any) -> Object:
    """Return an object with changed spec fields; None removes a field."""
    spec = {**obj["spec"], **changed}
    return {**obj, "spec": {name: value for name, value in spec.items() if value is not None}}


def _without(obj: ReadOnlyObject, name: str) -> Object:
    return {field: value for field, value in obj.items() if field != name}
