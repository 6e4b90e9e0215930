"""Validate the resize subresource of pods."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidatePodResize

from collections.abc import Mapping
from typing import Any, Final

from mockkube.api.fields import FieldError, forbidden, invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.containers import is_sidecar
from mockkube.api.kinds.core.pod.options import PodValidationOptions, is_feature_enabled
from mockkube.api.kinds.core.pod.qos import compute_pod_qos
from mockkube.api.kinds.core.pod.spec import MIRROR_ANNOTATION
from mockkube.api.kinds.core.pod.validation import validate_pod_with_metadata
from mockkube.features.capabilities import Capabilities

_RESIZABLE_RESOURCES: Final = ("cpu", "memory")
_ONLY_DETAIL: Final = "only cpu and memory resources"


def validate_pod_resize(
    new: ReadOnlyObject,
    old: ReadOnlyObject,
    options: PodValidationOptions,
    caps: Capabilities,
    *,
    metadata_is_valid: bool = False,
) -> list[FieldError]:
    """Validate a change of CPU and memory through the resize subresource."""
    spec, before = new.get("spec", {}), old.get("spec", {})
    if MIRROR_ANNOTATION in old["metadata"].get("annotations", ()):
        return [forbidden("", "static pods cannot be resized")]
    if before.get("os", {}).get("name") == "windows":
        return [forbidden("", "windows pods cannot be resized")]
    errors = validate_pod_with_metadata(new, options, metadata_is_valid=metadata_is_valid)
    errors += _validate_resizable(new, old, caps)
    after = dict(spec)
    if _has_pod_level_resources(spec) or _has_pod_level_resources(before):
        if not options.pod_level_resources_resize:
            gate = "InPlacePodLevelResourcesVerticalScalingEnabled"
            text = f"resize of pods with pod-level resources is forbidden when {gate} feature gate is disabled"
            return [*errors, forbidden("", text)]
        errors += _validate_pod_level_resources(after, before)
    if "nodeAllocatableResourceClaimStatuses" in old.get("status", {}):
        errors.append(forbidden("spec", "pods with node allocatable resource claims cannot be resized"))
    if order := _validate_container_order(spec, before):
        return errors + order
    errors += _validate_containers(after, before, caps)
    # All mutable fields have been made equal in `after`, so that any difference left is a forbidden change.
    if not errors and after != before:
        errors.append(forbidden("spec", f"{_ONLY_DETAIL} are mutable"))
    return errors


def _validate_resizable(new: ReadOnlyObject, old: ReadOnlyObject, caps: Capabilities) -> list[FieldError]:
    errors = []
    quality = old.get("status", {}).get("qosClass") or compute_pod_qos(old.get("spec", {}), caps)
    if quality != compute_pod_qos(new.get("spec", {}), caps):
        shown = new.get("status", {}).get("qosClass", "")
        errors.append(invalid("spec", shown, "Pod QOS Class may not change as a result of resizing"))
    statuses = old.get("status", {}).get("containerStatuses", ())
    # A kubelet that supports resize reports the resources of running containers; upstream looks at the first one only.
    running = next((status for status in statuses if "running" in status.get("state", {})), None)
    if running is not None and "resources" not in running:
        errors.append(forbidden("spec", "Pod running on node without support for resize"))
    return errors


def _has_pod_level_resources(spec: ReadOnlyObject) -> bool:
    resources = spec.get("resources", {})
    return bool(resources.get("requests") or resources.get("limits"))


def _validate_pod_level_resources(after: dict[str, Any], before: ReadOnlyObject) -> list[FieldError]:
    """Validate pod-level resources, and restore the stored CPU and memory in `after`."""
    resources, stored = after.get("resources"), before.get("resources")
    if resources is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")]
    errors: list[FieldError] = []
    if stored is not None:
        errors += _validate_removal(resources, stored, "spec.resources", "pod-level resource")
    munged = _restore_resizable(resources, stored or {})
    if munged or stored is not None:
        after["resources"] = munged
    else:
        del after["resources"]
    if after.get("resources") != stored:
        errors.append(forbidden("spec", f"{_ONLY_DETAIL} are mutable at pod-level"))
    return errors


def _validate_removal(new: ReadOnlyObject, old: ReadOnlyObject, at: str, what: str) -> list[FieldError]:
    return [
        # The kubelet does not support removing a request or limit from a running container.
        forbidden(f"{at}.{kind}", f"{what} {kind} cannot be removed")
        for kind in ("requests", "limits")
        if any(name not in new.get(kind, ()) for name in old.get(kind, ()))
    ]


def _restore_resizable(resources: ReadOnlyObject, stored: ReadOnlyObject) -> dict[str, Any]:
    """Return the resources with the stored CPU and memory."""
    munged = dict(resources)
    for kind in ("limits", "requests"):
        amounts: Mapping[str, str] = resources.get(kind, {})
        restored = {name: amount for name, amount in amounts.items() if name not in _RESIZABLE_RESOURCES}
        restored |= {name: amount for name, amount in stored.get(kind, {}).items() if name in _RESIZABLE_RESOURCES}
        munged.pop(kind, None)
        if restored:
            munged[kind] = restored
    return munged


def _validate_container_order(spec: ReadOnlyObject, before: ReadOnlyObject) -> list[FieldError]:
    errors = []
    for kind in ("containers", "initContainers"):
        after, stored = spec.get(kind) or (), before.get(kind) or ()
        if len(after) != len(stored):
            errors.append(forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize"))
            continue
        text = f"{kind} may not be renamed or reordered on resize"
        pairs = enumerate(zip(after, stored, strict=True))
        errors += [forbidden(f"spec.{kind}[{i}].name", text) for i, (a, b) in pairs if a.get("name") != b.get("name")]
    return errors


def _validate_containers(after: dict[str, Any], before: ReadOnlyObject, caps: Capabilities) -> list[FieldError]:
    """Validate the containers, and restore the stored CPU and memory in `after`."""
    init_too = is_feature_enabled(caps, "InPlacePodVerticalScalingInitContainers")
    errors: list[FieldError] = []
    for kind in ("initContainers", "containers"):
        for i, (container, stored) in enumerate(zip(after.get(kind) or (), before.get(kind) or (), strict=True)):
            if kind == "containers" or init_too or is_sidecar(stored):
                new, old = container.get("resources", {}), stored.get("resources", {})
                errors += _validate_removal(new, old, f"spec.{kind}[{i}].resources", "resource")
    stored = before.get("containers") or ()
    munged = [_restore_container(*pair) for pair in zip(after.get("containers") or (), stored, strict=True)]
    changed = [new for new, old in zip(munged, stored, strict=True) if new != old]
    errors += [forbidden("spec", f"{_ONLY_DETAIL} are mutable") for _ in changed]
    after["containers"] = munged
    if "initContainers" in after:
        errors += _validate_init_containers(after, before, init_too)
    return errors


def _restore_container(container: ReadOnlyObject, stored: ReadOnlyObject) -> dict[str, Any]:
    resources = {kind: amounts for kind, amounts in container.get("resources", {}).items() if kind != "claims"}
    return {**container, "resources": _restore_resizable(resources, stored.get("resources", {}))}


def _validate_init_containers(after: dict[str, Any], before: ReadOnlyObject, init_too: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    munged: list[ReadOnlyObject] = []
    for i, (container, stored) in enumerate(zip(after["initContainers"], before["initContainers"], strict=True)):
        here, modified = f"spec.initContainers[{i}]", container != stored
        if not init_too and not is_sidecar(container):
            munged.append(container)
            if modified:
                errors.append(forbidden("spec", "resources for non-sidecar init containers are immutable"))
            continue
        munged.append(_restore_container(container, stored))
        if munged[-1] != stored:
            errors.append(forbidden(here, f"{_ONLY_DETAIL} for init or sidecar containers are mutable"))
        if modified and not is_sidecar(container):
            text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            policies = container.get("resizePolicy", ())
            errors += [forbidden(here, text) for p in policies if p.get("restartPolicy") == "RestartContainer"]
    after["initContainers"] = munged
    return errors
