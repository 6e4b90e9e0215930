"""Plugins of policies and webhooks, imported once an object configures them: they need CEL, which few servers do."""

from functools import cached_property
from importlib import import_module
from typing import ClassVar

from mockkube.apiserver.admission.policies.matching import list_configuration
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation


class DeferredPlugin(AdmissionPlugin):
    """Plugin that does nothing unless there is an object that configures it."""

    module: ClassVar[str]
    # Plural of the kind that configures it.
    plural: ClassVar[str]

    @cached_property
    def plugin(self) -> AdmissionPlugin:
        """The plugin itself."""
        plugin = getattr(import_module(f"mockkube.apiserver.admission.{self.module}"), self.name)()
        assert isinstance(plugin, AdmissionPlugin)
        return plugin

    def is_configured(self, request: AdmissionAttributes) -> bool:
        """Return whether there is an object that configures the plugin."""
        return bool(list_configuration(request, self.plural))

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether an object that configures the plugin selects the request."""
        return self.is_configured(request) and self.plugin.may_decide_anew(request)


class _DeferredMutatingPlugin(DeferredPlugin):
    async def admit_async(self, request: AdmissionAttributes, *, reinvocation: bool) -> bool:
        """Call what may change the object; return whether it changed."""
        return self.is_configured(request) and await self.plugin.admit_async(request, reinvocation=reinvocation)


class DeferredMutatingAdmissionPolicy(_DeferredMutatingPlugin):
    """Changes objects as policies say."""

    name, module, plural = "MutatingAdmissionPolicy", "policies.mutating", "mutatingadmissionpolicies"


class DeferredMutatingAdmissionWebhook(_DeferredMutatingPlugin):
    """Calls webhooks that may change the object."""

    name, module, plural = "MutatingAdmissionWebhook", "webhooks.plugins", "mutatingwebhookconfigurations"
    operations = tuple(Operation)


class DeferredValidatingAdmissionPolicy(DeferredPlugin):
    """Rejects or warns as policies say."""

    name, module, plural = "ValidatingAdmissionPolicy", "policies.validating", "validatingadmissionpolicies"
    operations = tuple(Operation)

    def validate(self, request: AdmissionAttributes) -> None:
        """Evaluate every matching policy."""
        if self.is_configured(request):
            self.plugin.validate(request)


class DeferredValidatingAdmissionWebhook(DeferredPlugin):
    """Calls webhooks that may reject the request."""

    name, module, plural = "ValidatingAdmissionWebhook", "webhooks.plugins", "validatingwebhookconfigurations"
    operations = tuple(Operation)

    async def validate_async(self, request: AdmissionAttributes) -> None:
        """Call all matching webhooks; raise the first rejection."""
        if self.is_configured(request):
            await self.plugin.validate_async(request)
