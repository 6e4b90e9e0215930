"""Pod: strategy of the kind and its subresources."""

# upstream 1.36: pkg/registry/core/pod/strategy.go

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS, Subresource
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.pod.affinity import pod_affinity_terms
from mockkube.api.kinds.core.pod.containers.container_lists import all_containers
from mockkube.api.kinds.core.pod.containers.profiles import (
    APP_ARMOR_ANNOTATION_PREFIX,
    to_app_armor_field,
    validate_app_armor_profile,
)
from mockkube.api.kinds.core.pod.defaults import default_pod, default_pod_level_resources_after_admission
from mockkube.api.kinds.core.pod.disabled_fields import drop_disabled_pod_fields
from mockkube.api.kinds.core.pod.disabled_status_fields import drop_disabled_pod_status
from mockkube.api.kinds.core.pod.options import (
    PodValidationOptions,
    is_feature_enabled,
    pod_validation_options,
    validate_with_ratcheting,
)
from mockkube.api.kinds.core.pod.printer import POD
from mockkube.api.kinds.core.pod.qos import compute_pod_qos
from mockkube.api.kinds.core.pod.resize import validate_pod_resize
from mockkube.api.kinds.core.pod.status import validate_pod_status
from mockkube.api.kinds.core.pod.validation import (
    validate_ephemeral_containers_update,
    validate_pod_create,
    validate_pod_update,
)
from mockkube.api.kinds.core.pod.warnings import format_app_armor_warning, pod_warnings
from mockkube.api.strategy import Strategy, StrategyContext, keep_generation
from mockkube.api.times import render_time
from mockkube.api.validation.addresses import get_ip_warnings
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.api.validation.status_metadata import reset_metadata_for_status, restore_fields
from mockkube.features.versions import Version

_FIX_DEFAULTING: Final = "PodLevelResourcesFixDefaulting"
_QOS_CLASS_LAST_SINCE: Final = Version(1, 37)
# Fields of the status that clients leave out if they do not know them.
_CLAIM_STATUSES: Final = (
    "resourceClaimStatuses",
    "extendedResourceClaimStatus",
    "nodeAllocatableResourceClaimStatuses",
)
_CLAIM_STATUSES_KEPT_SINCE: Final = Version(1, 37)
_HOSTNAME_WARNING = "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior"


class PodStrategy(Strategy):
    """Strategy of Pod."""

    tracks_generation = True
    selectable_field_names = (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    )

    def __init__(self, extensions: ValidationExtensions = NO_EXTENSIONS) -> None:
        self.extensions = extensions

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Set phase, QoS class and conditions; drop fields of disabled gates; merge label keys."""
        spec = obj["spec"]
        obj["metadata"]["generation"] = 1
        # The class is fixed at creation: the kubelet sets up cgroups by it. 1.37 computes it from what is stored.
        is_computed_last = context.caps.version >= _QOS_CLASS_LAST_SINCE
        given = obj.get("status", {}).get("qosClass")
        quality = "" if is_computed_last else given or compute_pod_qos(spec, context.caps)
        drop_disabled_pod_fields(spec, None, context.caps)
        _merge_label_keys(spec, obj["metadata"].get("labels", {}), context)
        _copy_app_armor_annotations(obj)
        if context.caps.enabled(_FIX_DEFAULTING):
            default_pod_level_resources_after_admission(spec)
        if is_computed_last:
            quality = compute_pod_qos(spec, context.caps)
        obj["status"] = {"phase": "Pending", "qosClass": quality}
        if "schedulingGates" in spec:
            obj["status"]["conditions"] = [_scheduling_gated_condition(context)]

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Restore everything that the written subresource must not change."""
        match context.subresource:
            case "status":
                _prepare_status_update(new, old, context)
                return
            case "binding":
                return
            case "ephemeralcontainers":
                _prepare_ephemeral_containers_update(new, old)
            case "resize":
                _prepare_resize(new, old, context)
        if context.caps.enabled(_FIX_DEFAULTING):
            # Clients that do not know pod-level resources leave them out.
            if "resources" in old["spec"]:
                new["spec"].setdefault("resources", old["spec"]["resources"])
            if context.subresource == "resize":
                _default_resized_resources(new["spec"])
        if "status" in old:
            new["status"] = old["status"]
        drop_disabled_pod_fields(new["spec"], old["spec"], context.caps)
        keep_generation(new, old)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec and the annotations that have a meaning."""
        return validate_pod_create(obj, pod_validation_options(context.caps, self.extensions))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate a change through the written subresource."""
        is_valid = context.metadata_is_valid

        def check(options: PodValidationOptions) -> list[FieldError]:
            match context.subresource:
                case "status":
                    return validate_pod_status(new, old, options, context.caps)
                case "binding":
                    return []
                case "ephemeralcontainers":
                    return validate_ephemeral_containers_update(new, old, options, metadata_is_valid=is_valid)
                case "resize":
                    return validate_pod_resize(new, old, options, context.caps, metadata_is_valid=is_valid)
                case _:
                    return validate_pod_update(new, old, options, metadata_is_valid=is_valid)

        options = pod_validation_options(context.caps, self.extensions)
        return validate_with_ratcheting(check, new, old, options, context.caps)

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about deprecated, ambiguous and surprising fields."""
        warnings = [*_app_armor_warnings(obj)]
        texts = names.check_dns_label(obj["metadata"]["name"])
        if texts:
            warnings.append(f"{_HOSTNAME_WARNING}; a DNS label is recommended: [{' '.join(texts)}]")
        return warnings + pod_warnings(obj["metadata"], obj["spec"], context)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about ambiguous addresses in a status."""
        warnings: list[str] = []
        if context.subresource == "status":
            for kind in ("podIPs", "hostIPs"):
                for i, item in enumerate(new.get("status", {}).get(kind, ())):
                    warnings += get_ip_warnings(item.get("ip", ""), f"status.{kind}[{i}].ip")
        return warnings

    def selectable_fields(self, obj: ReadOnlyObject) -> Mapping[str, str]:
        """Return node, phase and the other fields that pods are selected by."""
        spec, status = obj["spec"], obj.get("status", {})
        addresses = status.get("podIPs")
        return {
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.restartPolicy": spec.get("restartPolicy", ""),
            "spec.schedulerName": spec.get("schedulerName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase", ""),
            "status.podIP": addresses[0].get("ip", "") if addresses else "",
            "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        }

    def grace_seconds(self, obj: ReadOnlyObject, requested: int | None) -> int | None:
        """Return the requested grace period or the pod's own; 0 if it has no node or has ended."""
        seconds: int = obj["spec"].get("terminationGracePeriodSeconds", 0) if requested is None else requested
        ended = obj.get("status", {}).get("phase") in ("Failed", "Succeeded")
        # No kubelet would confirm the deletion of such a pod, so it is removed immediately.
        if ended or not obj["spec"].get("nodeName"):
            return 0
        return 1 if seconds < 0 else seconds


def _scheduling_gated_condition(context: StrategyContext) -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": render_time(context.now),
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _merge_label_keys(spec: Object, labels: Mapping[str, str], context: StrategyContext) -> None:
    """Merge the pod's label values for matchLabelKeys into the selectors."""
    # Merged here, at creation, so that schedulers need not know the feature: they see an ordinary selector.
    if "affinity" in spec and is_feature_enabled(context.caps, "MatchLabelKeysInPodAffinity"):
        for term in pod_affinity_terms(spec):
            _extend_selector(term, "matchLabelKeys", "In", labels)
            _extend_selector(term, "mismatchLabelKeys", "NotIn", labels)
    gates = ("MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodTopologySpreadSelectorMerge")
    if "topologySpreadConstraints" in spec and all(is_feature_enabled(context.caps, gate) for gate in gates):
        for constraint in spec["topologySpreadConstraints"]:
            _extend_selector(constraint, "matchLabelKeys", "In", labels)


def _extend_selector(term: Any, field: str, operator: str, labels: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]} for key in term.get(field, ()) if key in labels
    ]
    if added:
        selector["matchExpressions"] = [*selector.get("matchExpressions", ()), *added]


def _find_annotated_containers(obj: ReadOnlyObject) -> Iterator[tuple[dict[str, Any], str, dict[str, str] | None]]:
    """Yield containers with an AppArmor annotation, its key, and the equivalent field."""
    annotations = obj["metadata"].get("annotations")
    if not annotations or not any(map(_is_app_armor_annotation, annotations)):
        return
    if obj["spec"].get("os", {}).get("name") == "windows":
        return
    for container in all_containers(obj["spec"]):
        key = f"{APP_ARMOR_ANNOTATION_PREFIX}{container.get('name', '')}"
        if key in annotations:
            field = to_app_armor_field(annotations[key])
            yield container, key, None if field is None or validate_app_armor_profile(field, "") else field


def _is_app_armor_annotation(key: str) -> bool:
    return key.startswith(APP_ARMOR_ANNOTATION_PREFIX)


def _copy_app_armor_annotations(obj: Object) -> None:
    """Set the AppArmor field of containers from annotations that differ from the pod's profile."""
    common = obj["spec"].get("securityContext", {}).get("appArmorProfile")
    for container, _, field in _find_annotated_containers(obj):
        context = container.get("securityContext", {})
        if field is not None and field != common and "appArmorProfile" not in context:
            container["securityContext"] = {**context, "appArmorProfile": field}


def _app_armor_warnings(obj: ReadOnlyObject) -> Iterator[str]:
    for container, key, field in _find_annotated_containers(obj):
        profile = container.get("securityContext", {}).get("appArmorProfile")
        if profile == field:
            yield format_app_armor_warning(key)


def _prepare_status_update(new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
    new["spec"] = old["spec"]
    # Status updates must not set it; the registry restores the stored one.
    new["metadata"].pop("deletionTimestamp", None)
    restore_fields(new["metadata"], old["metadata"], "ownerReferences")
    status, before = new.setdefault("status", {}), old.get("status", {})
    if context.caps.version >= _CLAIM_STATUSES_KEPT_SINCE:
        for name in _CLAIM_STATUSES:
            if name in before:
                status.setdefault(name, before[name])
    if not status.get("qosClass") and "qosClass" in before:
        status["qosClass"] = before["qosClass"]
    _keep_observed_generations(status, before)
    drop_disabled_pod_status(new, old, context.caps)


def _keep_observed_generations(status: Object, before: ReadOnlyObject) -> None:
    """Restore observedGeneration where an update does not mention it."""
    # Kubelets and controllers before 1.33 do not know the field and would erase it.
    if "observedGeneration" in before:
        status.setdefault("observedGeneration", before["observedGeneration"])
    stored: dict[str, list[int]] = {}
    for condition in before.get("conditions", ()):
        stored.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions", ()):
        # Conditions of the same type are paired in order.
        earlier = stored.get(condition.get("type", ""))
        generation = earlier.pop(0) if earlier else 0
        if generation:
            condition.setdefault("observedGeneration", generation)


def _prepare_ephemeral_containers_update(new: Object, old: ReadOnlyObject) -> None:
    ephemeral = new.get("spec", {}).get("ephemeralContainers")
    new["spec"] = {name: value for name, value in old["spec"].items() if name != "ephemeralContainers"}
    if ephemeral:
        new["spec"]["ephemeralContainers"] = ephemeral
    reset_metadata_for_status(new, old)


def _prepare_resize(new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
    spec, before = new["spec"], old["spec"]
    kinds = ("containers", "initContainers")
    # Left as submitted, so that validation rejects it with a message.
    if any(len(spec.get(kind) or ()) != len(before.get(kind) or ()) for kind in kinds):
        return
    merged = dict(before)
    for kind in kinds:
        if spec.get(kind):
            merged[kind] = _merge_resources(spec[kind], before[kind])
    if is_feature_enabled(context.caps, "InPlacePodLevelResourcesVerticalScaling"):
        restore_fields(merged, spec, "resources")
    new["spec"] = merged
    reset_metadata_for_status(new, old)


def _default_resized_resources(spec: Object) -> None:
    if "resources" in spec:
        # The stored pod may share them.
        spec["resources"] = {kind: dict(amounts) for kind, amounts in spec["resources"].items()}
        default_pod_level_resources_after_admission(spec)


def _merge_resources(new: list[Any], old: list[Any]) -> list[Any]:
    if [container.get("name") for container in new] != [container.get("name") for container in old]:
        return new
    merged = [dict(container) for container in old]
    for container, submitted in zip(merged, new, strict=True):
        restore_fields(container, submitted, "resources", "resizePolicy")
    return merged


KIND: Final = Kind(
    "",
    "Pod",
    "pods",
    short_names=("po",),
    categories=("all",),
    subresources=(
        Subresource("attach", "PodAttachOptions", ("create", "get")),
        Subresource("binding", "Binding", ("create",)),
        Subresource("ephemeralcontainers", "Pod", ("get", "patch", "update")),
        Subresource("eviction", "Eviction", ("create",), "policy/v1"),
        Subresource("exec", "PodExecOptions", ("create", "get")),
        Subresource("log", "Pod", ("get",)),
        Subresource("portforward", "PodPortForwardOptions", ("create", "get")),
        Subresource("proxy", "PodProxyOptions", ("create", "delete", "get", "patch", "update")),
        Subresource("resize", "Pod", ("get", "patch", "update"), gate="InPlacePodVerticalScaling"),
        STATUS,
    ),
    pod_spec=("spec",),
    strategy=lambda dependencies: PodStrategy(dependencies.extensions),
    defaults={"v1": default_pod},
    printer=POD,
)
