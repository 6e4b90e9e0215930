"""ValidatingWebhookConfiguration and MutatingWebhookConfiguration.

upstream 1.36: pkg/apis/admissionregistration/validation/validation.go
"""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.admissionregistration.admission_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    PolicyExpressionCheck,
    accept_expression,
    validate_match_conditions,
    validate_rule,
)
from mockkube.api.kinds.admissionregistration.columns import WEBHOOK_CONFIGURATION
from mockkube.api.kinds.admissionregistration.defaults import default_mutating_webhooks, default_validating_webhooks
from mockkube.api.kinds.admissionregistration.static_names import StaticNameStrategy, static_name_errors
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.labels import is_invalid_selector, validate_label_selector
from mockkube.api.validation.webhooks import has_recognized_version, validate_client_config, validate_review_versions
from mockkube.lazy_dataclasses import dataclass

_SELECTORS: Final = ("namespaceSelector", "objectSelector")
_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")


@dataclass(frozen=True, slots=True)
class _WebhookValidationOptions:
    """Checks skipped on update because the stored configuration already violates them."""

    conditions: bool = False
    side_effects: bool = False
    versions: bool = False
    names: bool = False
    labels: bool = False


class ValidatingWebhookConfigurationStrategy(StaticNameStrategy):
    """Strategy of ValidatingWebhookConfiguration."""

    allow_unconditional_update = False
    allows_reinvocation = False

    def __init__(self, check_expression: PolicyExpressionCheck = accept_expression) -> None:
        self.check_expression = check_expression

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Set the first generation."""
        # The generation counts changes of `webhooks`: these kinds have no spec, which is what the generic strategy
        # compares.
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Raise the generation when the webhooks change."""
        if new.get("webhooks") != old.get("webhooks"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every webhook."""
        return self._validate(obj, _WebhookValidationOptions()) + static_name_errors(obj, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every webhook; tolerate what the stored configuration already violates."""
        return self._validate(new, _update_options(new, old))

    def _validate(self, obj: ReadOnlyObject, options: _WebhookValidationOptions) -> list[FieldError]:
        errors: list[FieldError] = []
        seen: set[str] = set()
        for index, hook in enumerate(obj.get("webhooks") or []):
            at, name = f"webhooks[{index}]", hook.get("name", "")
            errors += self._validate_hook(obj, hook, at, options)
            errors += validate_review_versions(
                hook.get("admissionReviewVersions") or [],
                f"{at}.admissionReviewVersions",
                missing="must specify one of v1, v1beta1",
                recognized=not options.versions,
            )
            if name in seen and name and not options.names:
                errors.append(duplicate(f"{at}.name", name))
            seen.add(name)
        return errors

    def _validate_hook(
        self, obj: ReadOnlyObject, hook: ReadOnlyObject, at: str, options: _WebhookValidationOptions
    ) -> list[FieldError]:
        errors = _validate_name(hook.get("name", ""), f"{at}.name")
        for index, rule in enumerate(hook.get("rules") or []):
            errors += validate_rule(rule, f"{at}.rules[{index}]")
        for name, supported in (("failurePolicy", FAILURE_POLICIES), ("matchPolicy", MATCH_POLICIES)):
            if hook.get(name) is not None and hook[name] not in supported:
                errors.append(not_supported(f"{at}.{name}", hook[name], supported))
        errors += _validate_side_effects(hook, at, _SIDE_EFFECTS if options.side_effects else _NO_SIDE_EFFECTS)
        for name in _SELECTORS:
            selector, here = hook.get(name), f"{at}.{name}"
            errors += validate_label_selector(selector, here, allow_invalid_values=options.labels)
        policy = hook.get("reinvocationPolicy")
        if self.allows_reinvocation and policy is not None and policy not in REINVOCATION_POLICIES:
            errors.append(not_supported(f"{at}.reinvocationPolicy", policy, REINVOCATION_POLICIES))
        errors += validate_client_config(hook.get("clientConfig") or {}, f"{at}.clientConfig")
        if options.conditions:
            return errors
        conditions = hook.get("matchConditions")
        return errors + validate_match_conditions(conditions, f"{at}.matchConditions", obj, self.check_expression)


class MutatingWebhookConfigurationStrategy(ValidatingWebhookConfigurationStrategy):
    """Strategy of MutatingWebhookConfiguration."""

    allows_reinvocation = True


def _validate_name(name: str, at: str) -> list[FieldError]:
    if not name:
        return [required(at)]
    messages = names.check_dns_subdomain(name)
    if messages:
        return [invalid(at, name, ",".join(messages))]
    detail = "should be a domain with at least three segments separated by dots"
    return [] if name.count(".") >= 2 else [invalid(at, name, detail)]


def _validate_side_effects(hook: ReadOnlyObject, at: str, allowed: tuple[str, ...]) -> list[FieldError]:
    effects, seconds = hook.get("sideEffects"), hook.get("timeoutSeconds")
    errors = []
    if effects is None:
        errors.append(required(f"{at}.sideEffects", f"must specify one of {', '.join(allowed)}"))
    elif effects not in allowed:
        errors.append(not_supported(f"{at}.sideEffects", effects, allowed))
    if seconds is not None and not 1 <= seconds <= 30:
        errors.append(invalid(f"{at}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds"))
    return errors


def _update_options(new: ReadOnlyObject, old: ReadOnlyObject) -> _WebhookValidationOptions:
    hooks, old_hooks = new.get("webhooks") or [], old.get("webhooks") or []
    conditions = [hook.get("matchConditions") for hook in hooks]
    old_names = [hook.get("name", "") for hook in old_hooks]
    versions = [hook.get("admissionReviewVersions") or [] for hook in old_hooks]
    # One stored webhook that violates a rule relaxes this rule for all webhooks of the configuration, as upstream does.
    return _WebhookValidationOptions(
        conditions=conditions == [hook.get("matchConditions") for hook in old_hooks],
        side_effects=any(hook.get("sideEffects") not in _NO_SIDE_EFFECTS for hook in old_hooks),
        versions=any(each and not has_recognized_version(each) for each in versions),
        names=len(set(old_names)) < len(old_names),
        labels=any(is_invalid_selector(hook.get(name)) for hook in old_hooks for name in _SELECTORS),
    )


MUTATING_WEBHOOK_CONFIGURATION_KIND: Final = Kind(
    "admissionregistration.k8s.io",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
    categories=("api-extensions",),
    strategy=lambda dependencies: MutatingWebhookConfigurationStrategy(dependencies.policy_expression),
    defaults={"v1": default_mutating_webhooks},
    printer=WEBHOOK_CONFIGURATION,
)
VALIDATING_WEBHOOK_CONFIGURATION_KIND: Final = Kind(
    "admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
    categories=("api-extensions",),
    strategy=lambda dependencies: ValidatingWebhookConfigurationStrategy(dependencies.policy_expression),
    defaults={"v1": default_validating_webhooks},
    printer=WEBHOOK_CONFIGURATION,
)
