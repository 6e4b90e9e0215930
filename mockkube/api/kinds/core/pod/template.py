"""Validate pod templates inside other kinds, drop their disabled fields, return warnings.

A kind calls `validate_pod_template` on creation and `validate_pod_template_update` on a change, drops fields of
disabled gates with `drop_disabled_template_fields`, and warns with `pod_template_warnings`.
"""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidatePodTemplateSpec; pkg/api/pod/util.go

from mockkube.api.fields import FieldError, forbidden
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.annotations import validate_pod_annotations
from mockkube.api.kinds.core.pod.containers.profiles import validate_profiles_match
from mockkube.api.kinds.core.pod.disabled_fields import drop_disabled_pod_fields
from mockkube.api.kinds.core.pod.options import PodValidationOptions, pod_validation_options, validate_with_ratcheting
from mockkube.api.kinds.core.pod.spec import validate_pod_spec
from mockkube.api.kinds.core.pod.warnings import pod_warnings
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.api.validation.labels import validate_labels
from mockkube.api.validation.metadata import validate_annotations
from mockkube.features.capabilities import Capabilities


def validate_pod_template(
    template: ReadOnlyObject, at: str, context: StrategyContext, *, extensions: ValidationExtensions = NO_EXTENSIONS
) -> list[FieldError]:
    """Validate a new template; `at` is its field path (`spec.template`)."""
    return _validate_template(template, at, pod_validation_options(context.caps, extensions, is_pod=False))


def validate_pod_template_update(
    new: ReadOnlyObject,
    old: ReadOnlyObject | None,
    at: str,
    context: StrategyContext,
    *,
    extensions: ValidationExtensions = NO_EXTENSIONS,
) -> list[FieldError]:
    """Validate a changed template; what the old one used stays allowed."""
    options = pod_validation_options(context.caps, extensions, is_pod=False)
    if old is None:
        return _validate_template(new, at, options)
    return validate_with_ratcheting(
        lambda options: _validate_template(new, at, options), new, old, options, context.caps
    )


def _validate_template(template: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    meta, spec = template.get("metadata", {}), template.get("spec", {})
    annotations = meta.get("annotations", {})
    errors: list[FieldError] = []
    if "labels" in meta:
        errors += validate_labels(meta["labels"], f"{at}.labels")
    if annotations:
        errors += validate_annotations(annotations, f"{at}.annotations")
        errors += validate_pod_annotations(annotations, spec, f"{at}.annotations", options)
    errors += validate_pod_spec(spec, None, f"{at}.spec", options)
    if annotations:
        errors += validate_profiles_match(annotations, spec, f"{at}.spec")
    if "ephemeralContainers" in spec:
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{at}.spec.ephemeralContainers", text))
    return errors


def drop_disabled_template_fields(new: Object, old: ReadOnlyObject | None, caps: Capabilities) -> None:
    """Drop fields of disabled gates from a template, unless the old one uses them."""
    if "spec" in new:
        drop_disabled_pod_fields(new["spec"], old.get("spec") if old else None, caps)


def pod_template_warnings(template: ReadOnlyObject, at: str, context: StrategyContext) -> list[str]:
    """Return the warnings about a template; `at` is its field path."""
    return pod_warnings(template.get("metadata", {}), template.get("spec", {}), context, at)
