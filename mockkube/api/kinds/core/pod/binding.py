"""Binding a pod to a node: what a scheduler asks for, and what becomes of the pod."""

# upstream 1.36: pkg/registry/core/pod/storage/storage.go, BindingREST

from dataclasses import dataclass

from mockkube.api.fields import FieldError, not_supported, required
from mockkube.api.kinds.core.pod.options import is_on
from mockkube.api.strategy import Judge
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject


@dataclass(frozen=True, slots=True)
class BindingRefused:
    """Why a pod cannot be bound: the reason of a conflict."""

    text: str


def validate_binding(binding: ReadOnlyObject) -> list[FieldError]:
    """Validate what a pod is to be bound to."""
    target = binding.get("target", {})
    kind = target.get("kind", "")
    errors = [] if kind in ("", "Node") else [not_supported("target.kind", kind, ("Node", "<empty>"))]
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


def bind(pod: ReadOnlyObject, binding: ReadOnlyObject, judge: Judge) -> Object | BindingRefused:
    """Return the pod bound to the node the valid binding names, or why it cannot be."""
    meta, spec, name = pod["metadata"], pod["spec"], pod["metadata"]["name"]
    if "deletionTimestamp" in meta:
        return BindingRefused(f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        return BindingRefused(f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        return BindingRefused(f"pod {name} has non-empty .spec.schedulingGates")
    status = dict(pod.get("status", {}))
    if is_on(judge.caps, "ClearingNominatedNodeNameAfterBinding"):
        status.pop("nominatedNodeName", None)
    status["conditions"] = _scheduled(status.get("conditions", []), judge)
    added = binding.get("metadata", {})
    metadata = {**meta}
    if annotations := {**meta.get("annotations", {}), **added.get("annotations", {})}:
        metadata["annotations"] = annotations
    if "labels" in added and is_on(judge.caps, "PodTopologyLabelsAdmission"):
        metadata["labels"] = {**meta.get("labels", {}), **added["labels"]}
    return {**pod, "metadata": metadata, "spec": {**spec, "nodeName": binding["target"]["name"]}, "status": status}


def _scheduled(conditions: list[Object], judge: Judge) -> list[Object]:
    """Return the conditions with the pod scheduled, since now unless it was so before."""
    since = next((c for c in conditions if c.get("type") == "PodScheduled" and c.get("status") == "True"), None)
    moment = render_time(judge.now) if since is None else since.get("lastTransitionTime")
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": moment}
    if any(each.get("type") == "PodScheduled" for each in conditions):
        return [condition if each.get("type") == "PodScheduled" else each for each in conditions]
    return [*conditions, condition]
