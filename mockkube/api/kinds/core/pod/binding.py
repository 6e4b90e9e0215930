"""Validate bindings and bind pods to nodes."""

# upstream 1.36: pkg/registry/core/pod/storage/storage.go, BindingREST

from mockkube.api.fields import FieldError, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.options import is_feature_enabled
from mockkube.api.strategy import StrategyContext
from mockkube.api.times import render_time
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BindingConflict:
    """Reason why a pod cannot be bound, for the message of a conflict."""

    message: str


def validate_binding(binding: ReadOnlyObject) -> list[FieldError]:
    """Validate the target of a binding."""
    target = binding.get("target", {})
    kind = target.get("kind", "")
    errors = [] if kind in ("", "Node") else [not_supported("target.kind", kind, ("Node", "<empty>"))]
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


def assign_pod(pod: ReadOnlyObject, binding: ReadOnlyObject, context: StrategyContext) -> Object | BindingConflict:
    """Return the pod bound to the node of a valid binding, or why it cannot be."""
    meta, spec, name = pod["metadata"], pod["spec"], pod["metadata"]["name"]
    if "deletionTimestamp" in meta:
        return BindingConflict(f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        return BindingConflict(f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        return BindingConflict(f"pod {name} has non-empty .spec.schedulingGates")
    status = dict(pod.get("status", {}))
    if is_feature_enabled(context.caps, "ClearingNominatedNodeNameAfterBinding"):
        status.pop("nominatedNodeName", None)
    status["conditions"] = _set_scheduled_condition(status.get("conditions", []), context)
    binding_metadata = binding.get("metadata", {})
    metadata = {**meta}
    # A scheduler may pass annotations to the pod; labels only for PodTopologyLabelsAdmission, which puts the node's
    # topology into the binding.
    if annotations := {**meta.get("annotations", {}), **binding_metadata.get("annotations", {})}:
        metadata["annotations"] = annotations
    if "labels" in binding_metadata and is_feature_enabled(context.caps, "PodTopologyLabelsAdmission"):
        metadata["labels"] = {**meta.get("labels", {}), **binding_metadata["labels"]}
    return {**pod, "metadata": metadata, "spec": {**spec, "nodeName": binding["target"]["name"]}, "status": status}


def _set_scheduled_condition(conditions: list[Object], context: StrategyContext) -> list[Object]:
    """Return the conditions with PodScheduled true, keeping its transition time if it was true."""
    since = next((c for c in conditions if c.get("type") == "PodScheduled" and c.get("status") == "True"), None)
    moment = render_time(context.now) if since is None else since.get("lastTransitionTime")
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": moment}
    if any(each.get("type") == "PodScheduled" for each in conditions):
        return [condition if each.get("type") == "PodScheduled" else each for each in conditions]
    return [*conditions, condition]
