"""Validate annotations of pods: mirror pods, tolerations, deletion cost, profiles."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidatePodSpecificAnnotations

import json
from collections.abc import Mapping
from typing import Final

from mockkube.api.decoding.go_json_errors import find_syntax_error
from mockkube.api.fields import FieldError, forbidden, invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.profiles import APP_ARMOR_ANNOTATION_PREFIX, validate_profile_annotations
from mockkube.api.kinds.core.pod.options import DELETION_COST_ANNOTATION, PodValidationOptions, deletion_cost_is_integer
from mockkube.api.kinds.core.pod.spec import MIRROR_ANNOTATION

_AT: Final = "metadata.annotations"
TOLERATIONS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/tolerations"


def validate_pod_annotations(
    annotations: Mapping[str, str], spec: ReadOnlyObject, at: str, options: PodValidationOptions
) -> list[FieldError]:
    """Validate the annotations of a pod or template that have a meaning."""
    if not annotations:
        return []
    errors: list[FieldError] = []
    mirror = annotations.get(MIRROR_ANNOTATION)
    if mirror is not None and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{at}[{MIRROR_ANNOTATION}]", mirror, text))
    if annotations.get(TOLERATIONS_ANNOTATION):
        errors += _validate_annotated_tolerations(annotations[TOLERATIONS_ANNOTATION], at, options)
    if not options.allow_any_deletion_cost and not deletion_cost_is_integer(annotations):
        errors.append(
            invalid(
                f"{at}[{DELETION_COST_ANNOTATION}]", annotations[DELETION_COST_ANNOTATION], "must be a 32bit integer"
            )
        )
    return errors + validate_profile_annotations(annotations, spec, at)


def _validate_annotated_tolerations(text: str, at: str, options: PodValidationOptions) -> list[FieldError]:
    try:
        tolerations = json.loads(text)
    except ValueError:
        return [invalid(at, TOLERATIONS_ANNOTATION, find_syntax_error(text.encode()))]
    if not isinstance(tolerations, list) or not all(isinstance(item, dict) for item in tolerations):
        kind = "object" if isinstance(tolerations, dict) else "value"
        text = f"json: cannot unmarshal {kind} into Go value of type []v1.Toleration"
        # JSON null decodes into a nil slice in Go, which is no error.
        return [] if tolerations is None else [invalid(at, TOLERATIONS_ANNOTATION, text)]
    here = f"{at}.{TOLERATIONS_ANNOTATION}"
    return options.validate_tolerations(tolerations, here)


def validate_pod_annotations_update(
    new: ReadOnlyObject, old: ReadOnlyObject, options: PodValidationOptions
) -> list[FieldError]:
    """Validate a change of annotations, and the annotations."""
    after = new["metadata"].get("annotations", {})
    errors = validate_immutable_annotations(new, old)
    return errors + validate_pod_annotations(after, new.get("spec", {}), _AT, options)


def validate_immutable_annotations(new: ReadOnlyObject, old: ReadOnlyObject) -> list[FieldError]:
    """Validate a change of annotations; AppArmor and mirror annotations are immutable."""
    after, before = new["metadata"].get("annotations", {}), old["metadata"].get("annotations", {})
    errors: list[FieldError] = []
    if after == before:
        return errors
    for key, value in before.items():
        if after.get(key) != value:
            errors += _validate_immutable_annotation(key, "remove or update")
    for key in after:
        if key not in before:
            errors += _validate_immutable_annotation(key, "add")
    return errors


def _validate_immutable_annotation(key: str, verb: str) -> list[FieldError]:
    if key.startswith(APP_ARMOR_ANNOTATION_PREFIX):
        return [forbidden(f"{_AT}[{key}]", f"may not {verb} AppArmor annotations")]
    if key == MIRROR_ANNOTATION:
        return [forbidden(f"{_AT}[{key}]", f"may not {verb} mirror pod annotation")]
    return []
