"""Defaults of webhook configurations, admission policies and their bindings."""

from mockkube.api.json_objects import Object
from mockkube.features.capabilities import Capabilities


# upstream 1.36: pkg/apis/admissionregistration/v1/defaults.go
def default_validating_webhooks(configuration: Object, caps: Capabilities) -> None:
    """Default the webhooks of a ValidatingWebhookConfiguration."""
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)


def default_mutating_webhooks(configuration: Object, caps: Capabilities) -> None:
    """Default the webhooks of a MutatingWebhookConfiguration; `reinvocationPolicy` is Never."""
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def _default_webhook(webhook: Object) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    webhook.setdefault("timeoutSeconds", 10)
    _default_matching(webhook)
    _default_rules(webhook.get("rules"))
    service = webhook.get("clientConfig", {}).get("service")
    if service:
        service.setdefault("port", 443)


def default_policy(policy: Object, caps: Capabilities) -> None:
    """Default failure policy and match constraints of a policy."""
    spec = policy.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    # matchConstraints is required, so a missing one is left to validation instead of being created here.
    if "matchConstraints" in spec:
        _default_match_resources(spec["matchConstraints"])


def default_policy_binding(binding: Object, caps: Capabilities) -> None:
    """Default the match resources of a policy binding."""
    spec = binding.setdefault("spec", {})
    if "matchResources" in spec:
        _default_match_resources(spec["matchResources"])


def default_policy_binding_v1alpha1(binding: Object, caps: Capabilities) -> None:
    """Default a v1alpha1 binding: a missing parameter denies; later versions require the field."""
    default_policy_binding(binding, caps)
    if "paramRef" in binding["spec"]:
        binding["spec"]["paramRef"].setdefault("parameterNotFoundAction", "Deny")


def _default_match_resources(match: Object) -> None:
    _default_matching(match)
    _default_rules(match.get("resourceRules"))
    _default_rules(match.get("excludeResourceRules"))


def _default_matching(match: Object) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})


def _default_rules(rules: list[Object] | None) -> None:
    for rule in rules or ():
        rule.setdefault("scope", "*")
