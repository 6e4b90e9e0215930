"""Validate pods on creation and update."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidatePodUpdate, ValidatePodEphemeralContainersUpdate

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, quote, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import required_node_selector_terms
from mockkube.api.kinds.core.pod.annotations import (
    validate_immutable_annotations,
    validate_pod_annotations,
    validate_pod_annotations_update,
)
from mockkube.api.kinds.core.pod.containers.containers import validate_trimmed_image
from mockkube.api.kinds.core.pod.containers.profiles import validate_profiles_match
from mockkube.api.kinds.core.pod.options import PodValidationOptions
from mockkube.api.kinds.core.pod.spec import ACTIVE_DEADLINE_SECONDS_MAX, MIRROR_ANNOTATION, validate_pod_spec
from mockkube.api.kinds.core.pod.tolerations import validate_only_added_tolerations
from mockkube.api.kinds.core.pod.volumes.projected import validate_token_service_account
from mockkube.api.validation.internal_form import diff_internal_forms, to_internal_form
from mockkube.api.validation.metadata import validate_metadata_again

_IMMUTABLE_DETAIL: Final = "pod updates may not change fields other than " + ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_NODE_SELECTOR_TERMS_PATH: Final = (
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
)


def validate_pod(pod: ReadOnlyObject, options: PodValidationOptions) -> list[FieldError]:
    """Validate a pod except its metadata: annotations that have a meaning, and the spec."""
    meta, spec = pod["metadata"], pod.get("spec", {})
    errors: list[FieldError] = []
    if "annotations" in meta:
        errors += validate_pod_annotations(meta["annotations"], spec, "metadata.annotations", options)
    errors += validate_pod_spec(spec, meta, "spec", options)
    errors += validate_token_service_account(spec, "spec")
    for kind in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(kind) or ()):
            errors += validate_trimmed_image(container, f"spec.{kind}[{i}]")
    return errors


def validate_pod_create(pod: ReadOnlyObject, options: PodValidationOptions) -> list[FieldError]:
    """Validate a pod to be created, except its metadata."""
    spec = pod.get("spec", {})
    errors = validate_pod(pod, options)
    if "ephemeralContainers" in spec:
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and "schedulingGates" in spec:
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    if annotations := pod["metadata"].get("annotations"):
        errors += validate_profiles_match(annotations, spec, "spec")
    return errors


def validate_pod_with_metadata(
    new: ReadOnlyObject, options: PodValidationOptions, *, metadata_is_valid: bool = False
) -> list[FieldError]:
    """Validate the metadata and the spec of an updated pod."""
    # The generic update has validated the metadata already; upstream does so again, and reports its errors twice.
    errors = validate_metadata_again(new, names.check_dns_subdomain, True, is_valid=metadata_is_valid)
    return errors + validate_pod(new, options)


def validate_pod_update(
    new: ReadOnlyObject, old: ReadOnlyObject, options: PodValidationOptions, *, metadata_is_valid: bool = False
) -> list[FieldError]:
    """Validate a change of a pod through the main resource."""
    errors = validate_pod_with_metadata(new, options, metadata_is_valid=metadata_is_valid)
    spec, before = new.get("spec", {}), old.get("spec", {})
    # What follows validates the spec once more, which finds nothing new if the pod as a whole is valid.
    if not errors and spec == before:
        return validate_immutable_annotations(new, old)
    errors += validate_pod_annotations_update(new, old, options)
    for kind in ("containers", "initContainers"):
        after, stored = spec.get(kind) or (), before.get(kind) or ()
        if len(after) != len(stored):
            return [*errors, forbidden(f"spec.{kind}", "pod updates may not add or remove containers")]
        errors += _validate_images(after, f"spec.{kind}")
    deadline_errors = _validate_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    errors += deadline_errors
    # Upstream returns early for a bad new deadline, but goes on if the deadline was removed.
    if deadline_errors and "activeDeadlineSeconds" in spec:
        return errors
    errors += _validate_tolerations_update(spec, before, options)
    errors += _validate_scheduling_gates_update(spec.get("schedulingGates", ()), before.get("schedulingGates", ()))
    if spec == before:
        return errors
    return errors + _validate_immutable_fields(spec, before)


def _validate_images(containers: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, container in enumerate(containers):
        if not container.get("image"):
            errors.append(required(f"{at}[{i}].image"))
        errors += validate_trimmed_image(container, f"{at}[{i}]")
    return errors


def _validate_deadline(new: int | None, old: int | None) -> list[FieldError]:
    at = "spec.activeDeadlineSeconds"
    if new is None:
        text = "must not update from a positive integer to nil value"
        return [] if old is None else [invalid(at, None, text)]
    if texts := names.check_in_range(new, 0, ACTIVE_DEADLINE_SECONDS_MAX):
        return [invalid(at, new, text) for text in texts]
    if old is not None and old < new:
        return [invalid(at, new, "must be less than or equal to previous value")]
    return []


def _validate_tolerations_update(
    spec: ReadOnlyObject, before: ReadOnlyObject, options: PodValidationOptions
) -> list[FieldError]:
    at, tolerations = "spec.tolerations", spec.get("tolerations", ())
    if errors := validate_only_added_tolerations(tolerations, before.get("tolerations", ()), at):
        return errors
    return options.validate_tolerations(tolerations, at)


def _validate_scheduling_gates_update(new: Sequence[ReadOnlyObject], old: Sequence[ReadOnlyObject]) -> list[FieldError]:
    stored = {gate.get("name", "") for gate in old}
    added = {gate.get("name", ""): i for i, gate in enumerate(new)}
    return [
        forbidden(
            f"spec.schedulingGates[{i}].name", f"only deletion is allowed, but found new scheduling gate '{name}'"
        )
        for name, i in added.items()
        if name not in stored
    ]


def _validate_immutable_fields(spec: ReadOnlyObject, before: ReadOnlyObject) -> list[FieldError]:
    """Reject changes of fields that are not mutable, after restoring the mutable ones."""
    after = dict(spec)
    for kind in ("containers", "initContainers"):
        if after.get(kind):
            after[kind] = [_restore_image(*pair) for pair in zip(after[kind], before[kind], strict=True)]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _restore_field(after, before, name)
    # Negative values of old pods are repaired to 1 by defaulting, whoever updates the pod.
    if before.get("terminationGracePeriodSeconds", 0) < 0 and after.get("terminationGracePeriodSeconds") == 1:
        _restore_field(after, before, "terminationGracePeriodSeconds")
    errors: list[FieldError] = []
    # The scheduler has not looked at a gated pod yet, so its node selection may still become stricter.
    if "schedulingGates" in before:
        errors += _validate_node_selection_update(after, before)
        _restore_field(after, before, "nodeSelector")
        _restore_node_affinity(after, before)
    if after != before:
        errors.append(forbidden("spec", f"{_IMMUTABLE_DETAIL}\n{diff_internal_forms('PodSpec', before, after)}"))
    return errors


def _restore_image(container: ReadOnlyObject, stored: ReadOnlyObject) -> ReadOnlyObject:
    return {**container, "image": stored.get("image", "")}


def _restore_field(after: dict[str, Any], before: ReadOnlyObject, name: str) -> None:
    after.pop(name, None)
    if name in before:
        after[name] = before[name]


def _restore_node_affinity(after: dict[str, Any], before: ReadOnlyObject) -> None:
    affinity, stored = dict(after.get("affinity", {})), before.get("affinity", {})
    _restore_field(affinity, stored, "nodeAffinity")
    after.pop("affinity", None)
    if affinity or "affinity" in before:
        after["affinity"] = affinity


def _validate_node_selection_update(after: ReadOnlyObject, before: ReadOnlyObject) -> list[FieldError]:
    """Validate the node selector and affinity of a gated pod: terms may only be added."""
    errors: list[FieldError] = []
    node_selector: Mapping[str, str] = after.get("nodeSelector", {})
    if any(node_selector.get(key) != value for key, value in before.get("nodeSelector", {}).items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.append(invalid("spec.nodeSelector", to_internal_form("map", node_selector), text))
    old_terms, new_terms = required_node_selector_terms(before), required_node_selector_terms(after)
    if old_terms and len(old_terms) != len(new_terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [*errors, invalid(_NODE_SELECTOR_TERMS_PATH, to_internal_form("[]NodeSelectorTerm", new_terms), text)]
    for i, (new, old) in enumerate(zip(new_terms, old_terms, strict=False)):
        if not _only_adds(new, old):
            text = "only additions are allowed (no mutations or deletions)"
            errors.append(invalid(f"{_NODE_SELECTOR_TERMS_PATH}[{i}]", to_internal_form("NodeSelectorTerm", new), text))
    return errors


def _only_adds(new: ReadOnlyObject, old: ReadOnlyObject) -> bool:
    parts = [(new.get(name, []), old.get(name, [])) for name in ("matchExpressions", "matchFields")]
    # An empty term matches no node; with an addition it would match some, which is not stricter.
    if not any(stored for _, stored in parts):
        return not any(wanted for wanted, _ in parts)
    return all(wanted[: len(stored)] == stored for wanted, stored in parts)


def validate_ephemeral_containers_update(
    new: ReadOnlyObject, old: ReadOnlyObject, options: PodValidationOptions, *, metadata_is_valid: bool = False
) -> list[FieldError]:
    """Validate a change of the ephemeral containers: they can only be added."""
    if MIRROR_ANNOTATION in old["metadata"].get("annotations", ()):
        return [forbidden("", "static pods do not support ephemeral containers")]
    errors = validate_pod_with_metadata(new, options, metadata_is_valid=metadata_is_valid)
    errors += validate_pod_annotations_update(new, old, options)
    at = "spec.ephemeralContainers"
    new_containers = {
        container.get("name", ""): container for container in new.get("spec", {}).get("ephemeralContainers", ())
    }
    for container in old.get("spec", {}).get("ephemeralContainers", ()):
        name = container.get("name", "")
        existing = f"existing ephemeral containers {quote(name)} may not be"
        if name not in new_containers:
            errors.append(forbidden(at, f"{existing} removed\n"))
        elif new_containers[name] != container:
            difference = diff_internal_forms("EphemeralContainer", container, new_containers[name])
            errors.append(forbidden(at, f"{existing} changed\n{difference}"))
    return errors
