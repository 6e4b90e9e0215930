"""Plugins of policies and webhooks, imported once an object configures them: they need CEL, which few servers do."""

from functools import cached_property
from importlib import import_module
from typing import ClassVar

from mockkube.apiserver.admission.policies.matching import GROUP
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation


class DeferredPlugin(AdmissionPlugin):
    """Plugin that does nothing unless there is an object that configures it."""

    module: ClassVar[str]
    configured_by: tuple[str, str]

    @cached_property
    def plugin(self) -> AdmissionPlugin:
        """The plugin itself."""
        plugin = getattr(import_module(f"mockkube.apiserver.admission.{self.module}"), self.name)()
        assert isinstance(plugin, AdmissionPlugin)
        return plugin

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether an object that configures the plugin selects the request."""
        return self.is_configured(request) and self.plugin.may_decide_anew(request)


class _DeferredMutatingPlugin(DeferredPlugin):
    async def admit_async(self, request: AdmissionAttributes, *, reinvocation: bool) -> bool:
        """Call what may change the object; return whether it changed."""
        return await self.plugin.admit_async(request, reinvocation=reinvocation)


class DeferredMutatingAdmissionPolicy(_DeferredMutatingPlugin):
    """Changes objects as policies say."""

    name, module = "MutatingAdmissionPolicy", "policies.mutating"
    configured_by = (GROUP, "mutatingadmissionpolicies")


class DeferredMutatingAdmissionWebhook(_DeferredMutatingPlugin):
    """Calls webhooks that may change the object."""

    name, module = "MutatingAdmissionWebhook", "webhooks.plugins"
    configured_by = (GROUP, "mutatingwebhookconfigurations")
    operations = tuple(Operation)


class DeferredValidatingAdmissionPolicy(DeferredPlugin):
    """Rejects or warns as policies say."""

    name, module = "ValidatingAdmissionPolicy", "policies.validating"
    configured_by = (GROUP, "validatingadmissionpolicies")
    operations = tuple(Operation)

    def validate(self, request: AdmissionAttributes) -> None:
        """Evaluate every matching policy."""
        if self.is_configured(request):
            self.plugin.validate(request)


class DeferredValidatingAdmissionWebhook(DeferredPlugin):
    """Calls webhooks that may reject the request."""

    name, module = "ValidatingAdmissionWebhook", "webhooks.plugins"
    configured_by = (GROUP, "validatingwebhookconfigurations")
    operations = tuple(Operation)

    async def validate_async(self, request: AdmissionAttributes) -> None:
        """Call all matching webhooks; raise the first rejection."""
        await self.plugin.validate_async(request)
