"""Strategy and validation shared by kinds with a pod template: template, selector, counts."""

from typing import Any, Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.template import (
    drop_disabled_template_fields,
    pod_template_warnings,
    validate_pod_template,
    validate_pod_template_update,
)
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.labels import from_label_selector
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.api.validation.formats import sort_labels
from mockkube.api.validation.internal_form import order_metadata, order_selector, to_internal_form
from mockkube.api.validation.labels import validate_label_selector
from mockkube.lazy_dataclasses import dataclass

# upstream 1.36: pkg/apis/apps/v1/defaults.go
REVISION_HISTORY_LIMIT_DEFAULT = 10

SELECTOR_MISMATCH: Final = "`selector` does not match template `labels`"


def drop_disabled_fields(new: Object, old: ReadOnlyObject | None, context: StrategyContext) -> None:
    """Drop fields of disabled gates from the pod template, unless the stored template uses them."""
    template = new["spec"].get("template")
    if template is not None:
        drop_disabled_template_fields(template, old["spec"].get("template") if old else None, context.caps)


@dataclass(frozen=True, slots=True)
class TemplateValidator:
    """Validates pod templates with one request's context and the validation extensions."""

    context: StrategyContext
    extensions: ValidationExtensions = NO_EXTENSIONS

    def validate(self, template: ReadOnlyObject, old: ReadOnlyObject | None, at: str) -> list[FieldError]:
        """Validate a template; `old` is the stored one it replaces."""
        if old is None:
            return validate_pod_template(template, at, self.context, extensions=self.extensions)
        return validate_pod_template_update(template, old, at, self.context, extensions=self.extensions)


class PodTemplateOwnerStrategy(StatusStrategy):
    """Strategy of kinds that create pods from a template."""

    def __init__(self, extensions: ValidationExtensions = NO_EXTENSIONS) -> None:
        self.extensions = extensions

    def template_validator(self, context: StrategyContext) -> TemplateValidator:
        """Return the validator of pod templates for this request."""
        return TemplateValidator(context, self.extensions)

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status and drop fields of disabled gates."""
        super().prepare_for_create(obj, context)
        drop_disabled_fields(obj, None, context)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status and drop fields of disabled gates."""
        # Fields are dropped before the generation is computed: a field that is not stored must not raise it.
        if context.subresource != "status":
            drop_disabled_fields(new, old, context)
        super().prepare_for_update(new, old, context)


def validate_required_selector(selector: ReadOnlyObject | None, at: str, owner: str) -> list[FieldError]:
    """Require a selector with at least one requirement."""
    if selector is None:
        return [required(at)]
    errors = validate_label_selector(selector, at)
    return errors if _has_requirements(selector) else [*errors, empty_selector_error(selector, at, owner)]


def empty_selector_error(selector: ReadOnlyObject, at: str, owner: str) -> FieldError:
    """Return the error for a selector that matches every pod."""
    return invalid(at, order_selector(selector), f"empty selector is invalid for {owner}")


def _has_requirements(selector: ReadOnlyObject) -> bool:
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))


def is_empty_selector(selector: ReadOnlyObject | None) -> bool:
    """Return whether the selector is present and matches everything."""
    return selector is not None and not _has_requirements(selector)


def selector_matches_template(selector: ReadOnlyObject | None, template: ReadOnlyObject) -> bool | None:
    """Return whether the selector matches the template's labels; None if it is invalid."""
    try:
        compiled = from_label_selector(selector)
    except BadSelector:
        return None
    return compiled.matches(template_labels(template) or {})


def template_labels(template: ReadOnlyObject) -> dict[str, str] | None:
    """Return the template's labels in the order error messages print them."""
    return sort_labels((template.get("metadata") or {}).get("labels"))


def validate_restart_policy_always(template: ReadOnlyObject, at: str, owner: str) -> list[FieldError]:
    """Reject templates whose pods end: only restartPolicy Always, no activeDeadlineSeconds."""
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy", "")
    errors = [] if policy == "Always" else [not_supported(f"{at}.spec.restartPolicy", policy, ("Always",))]
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {owner} is not Supported"
        errors.append(forbidden(f"{at}.spec.activeDeadlineSeconds", detail))
    return errors


def validate_replica_set_template(
    spec: ReadOnlyObject, before: ReadOnlyObject | None, validator: TemplateValidator
) -> list[FieldError]:
    """Validate the pod template of a Deployment or ReplicaSet."""
    # upstream 1.36: pkg/apis/apps/validation/validation.go, ValidatePodTemplateSpecForReplicaSet
    selector, template = spec.get("selector"), spec.get("template") or {}
    fit = selector_matches_template(selector, template)
    # The template of an invalid selector is not validated any further.
    if fit is None:
        return [invalid("spec.selector", order_selector(selector), "invalid label selector")]
    at = "spec.template"
    errors = [] if fit else [invalid(f"{at}.metadata.labels", template_labels(template), SELECTOR_MISMATCH)]
    errors += validator.validate(template, before and before.get("template"), at)
    # The message names ReplicaSet for Deployments, too: upstream shares this function.
    return errors + validate_restart_policy_always(template, at, "ReplicaSet")


def validate_at_most(status: ReadOnlyObject, pairs: tuple[tuple[str, str, str], ...]) -> list[FieldError]:
    """Report each count that exceeds another; a pair ends with the message."""
    return [
        invalid(f"status.{count}", status.get(count, 0), detail)
        for count, bound, detail in pairs
        if (status.get(count) or 0) > (status.get(bound) or 0)
    ]


def validate_collision_count(new: ReadOnlyObject, old: ReadOnlyObject) -> list[FieldError]:
    """Reject a collisionCount below the stored one."""
    # upstream 1.36: pkg/apis/core/validation/validation.go, IsDecremented
    count, before = ((obj.get("status") or {}).get("collisionCount") for obj in (new, old))
    if before is None or (count is not None and count >= before):
        return []
    return [invalid("status.collisionCount", count or 0, "cannot be decremented")]


def name_warnings(obj: ReadOnlyObject) -> list[str]:
    """Warn about a name that is no DNS label, as the names of pods derive from it."""
    messages = names.check_dns_label(obj["metadata"].get("name", ""))
    if not messages:
        return []
    text = (
        "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended"
    )
    return [f"metadata.name: {text}: [{' '.join(messages)}]"]


def changed_template_warnings(new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
    """Warn about the pod template if the generation changed."""
    # Warnings are repeated only when the spec changes, not whenever a controller updates metadata.
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return template_warnings(new, context)


def template_warnings(obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
    """Warn about the pod template."""
    return pod_template_warnings(obj["spec"].get("template") or {}, "spec.template", context)


def to_internal_template(template: ReadOnlyObject) -> dict[str, Any]:
    """Return a template as error messages print it."""
    return order_metadata(template.get("metadata") or {}) | {
        "Spec": to_internal_form("PodSpec", template.get("spec") or {})
    }
