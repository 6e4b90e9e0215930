"""Single changes of objects to try: a toleration more, a taint less, more capacity, a constraint removed.

Whether a change helps is not decided here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import REQUIRED
from mockkube.api.quantities.resources import Resources
from mockkube.explain.fact_formatting import format_amount, format_taint
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.taints import TaintRules, compile_tolerations, find_untolerated
from mockkube.scheduler.plugins.node_unschedulable import UNSCHEDULABLE_TAINT


@dataclass(frozen=True, slots=True)
class ObjectEdit:
    """One object with one change, and the change in words."""

    # `toleration`, `constraint`, `priority`, `profile` or `schedulingGate` of the pod; `taint`, `cordon`, `capacity` or
    # `label` of a node; `volume`.
    kind: str
    description: str
    obj: Object


def add_toleration(pod: ReadOnlyObject, taint: ReadOnlyObject) -> ObjectEdit:
    """Return the pod with a toleration of exactly this taint, without a time limit."""
    toleration = {name: value for name, value in taint.items() if name in ("key", "value", "effect")}
    toleration["operator"] = "Equal" if taint.get("value") else "Exists"
    # A toleration with tolerationSeconds for the same taint would still end, so it is replaced.
    given = [one for one in pod["spec"].get("tolerations") or () if not _is_for_taint(one, taint)]
    return ObjectEdit(
        "toleration",
        f"the pod tolerates {format_taint(taint)}",
        _replace_spec_fields(pod, tolerations=[toleration, *given]),
    )


def _is_for_taint(toleration: ReadOnlyObject, taint: ReadOnlyObject) -> bool:
    """Return whether a toleration matches this taint already, if only for some time."""
    compiled = compile_tolerations([toleration], TaintRules())
    # A toleration without a key matches every taint; dropping it would change more than one thing.
    return bool(toleration.get("key")) and find_untolerated([taint], compiled) is None


def remove_taint(node: ReadOnlyObject, taint: ReadOnlyObject) -> ObjectEdit:
    """Return the node without a taint."""
    present = node["spec"].get("taints") or ()
    left = [one for one in present if any(one.get(name) != taint.get(name) for name in ("key", "effect"))]
    description = f"node {node['metadata']['name']} loses its taint {format_taint(taint)}"
    return ObjectEdit("taint", description, _replace_spec_fields(node, taints=left))


def uncordon(node: ReadOnlyObject) -> ObjectEdit:
    """Return the node schedulable, and without the taint that the controller manager then removes."""
    spec = {name: value for name, value in node["spec"].items() if name != "unschedulable"}
    taints = [one for one in spec.get("taints") or () if one.get("key") != UNSCHEDULABLE_TAINT["key"]]
    return ObjectEdit(
        "cordon", f"node {node['metadata']['name']} is uncordoned", {**node, "spec": {**spec, "taints": taints}}
    )


def add_capacity(node: ReadOnlyObject, missing: Mapping[str, int]) -> ObjectEdit:
    """Return the node with more allocatable resources."""
    status = node.get("status") or {}
    allocatable = status.get("allocatable") or {}
    present = Resources.from_resource_list(allocatable)
    amounts = {name: format_amount(name, present.get_amount(name) + more) for name, more in missing.items()}
    description = ", ".join(f"{format_amount(name, more)} more {name}" for name, more in missing.items())
    changed = {**node, "status": {**status, "allocatable": {**allocatable, **amounts}}}
    return ObjectEdit("capacity", f"node {node['metadata']['name']} has {description}", changed)


def add_labels(node: ReadOnlyObject, labels: Mapping[str, str]) -> ObjectEdit:
    """Return the node with additional labels."""
    metadata = node["metadata"]
    description = ", ".join(f"{key}={value}" if value else key for key, value in labels.items())
    changed = {**node, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}}
    return ObjectEdit(
        "label", f"node {metadata['name']} has {'labels' if len(labels) > 1 else 'label'} {description}", changed
    )


def find_matching_labels(selector: ReadOnlyObject, required: ReadOnlyObject) -> Iterator[dict[str, str]]:
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


def remove_volume_affinity(volume: ReadOnlyObject) -> ObjectEdit:
    """Return the volume without node affinity."""
    name = volume["metadata"]["name"]
    spec = {field: value for field, value in volume["spec"].items() if field != "nodeAffinity"}
    return ObjectEdit("volume", f"volume {name} may be used from any node", {**volume, "spec": spec})


def remove_constraints(pod: ReadOnlyObject) -> Iterator[ObjectEdit]:
    """Yield the pod without each of its required scheduling constraints."""
    spec = pod["spec"]
    if "nodeSelector" in spec:
        yield ObjectEdit("constraint", "the pod has no nodeSelector", _replace_spec_fields(pod, nodeSelector=None))
    for name, name_in_words in _AFFINITIES.items():
        affinity = spec.get("affinity") or {}
        if REQUIRED in (affinity.get(name) or {}):
            own = {field: value for field, value in affinity[name].items() if field != REQUIRED}
            yield ObjectEdit(
                "constraint",
                f"the pod has no required {name_in_words}",
                _replace_spec_fields(pod, affinity={**affinity, name: own}),
            )
    for index, one in enumerate(spec.get("topologySpreadConstraints") or ()):
        left = [other for other in spec["topologySpreadConstraints"] if other is not one]
        name_in_words = f"the pod has no topologySpreadConstraints[{index}] ({one.get('topologyKey', '')})"
        yield ObjectEdit("constraint", name_in_words, _replace_spec_fields(pod, topologySpreadConstraints=left))
    if any(port.get("hostPort") for container in spec["containers"] for port in container.get("ports") or ()):
        containers = [_remove_field(container, "ports") for container in spec["containers"]]
        yield ObjectEdit("constraint", "the pod has no hostPort", _replace_spec_fields(pod, containers=containers))


_AFFINITIES: Final = {
    "nodeAffinity": "node affinity",
    "podAffinity": "pod affinity",
    "podAntiAffinity": "pod anti-affinity",
}


def remove_scheduling_gates(pod: ReadOnlyObject) -> ObjectEdit:
    """Return the pod without scheduling gates."""
    names = ", ".join(gate["name"] for gate in pod["spec"]["schedulingGates"])
    return ObjectEdit(
        "schedulingGate",
        f"the pod loses its scheduling gates: {names}",
        _replace_spec_fields(pod, schedulingGates=None),
    )


def set_profile(pod: ReadOnlyObject, name: str) -> ObjectEdit:
    """Return the pod with another schedulerName."""
    return ObjectEdit("profile", f"the pod's schedulerName is {name}", _replace_spec_fields(pod, schedulerName=name))


def _replace_spec_fields(obj: ReadOnlyObject, **changed: Any) -> Object:
    """Return an object with changed spec fields; None removes a field."""
    spec = {**obj["spec"], **changed}
    return {**obj, "spec": {name: value for name, value in spec.items() if value is not None}}


def _remove_field(obj: ReadOnlyObject, name: str) -> Object:
    return {field: value for field, value in obj.items() if field != name}
