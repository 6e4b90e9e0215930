"""Admission chain: run the plugins in upstream's order on a request before it is stored."""

from collections.abc import Sequence

from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation


class AdmissionChain:
    """Chain of the enabled plugins."""

    def __init__(self, plugins: Sequence[AdmissionPlugin]) -> None:
        self.plugins = tuple(plugins)
        by_operation = {one: [plugin for plugin in plugins if one in plugin.operations] for one in Operation}
        # Only overridden methods are listed: most plugins have one of the four, and every write runs through all lists.
        self._admit = {
            one: [plugin.admit for plugin in some if type(plugin).admit is not AdmissionPlugin.admit]
            for one, some in by_operation.items()
        }
        self._admit_async = {
            one: [plugin.admit_async for plugin in some if type(plugin).admit_async is not AdmissionPlugin.admit_async]
            for one, some in by_operation.items()
        }
        self._validate = {
            one: [plugin.validate for plugin in some if type(plugin).validate is not AdmissionPlugin.validate]
            for one, some in by_operation.items()
        }
        self._validate_async = {
            one: [
                plugin.validate_async
                for plugin in some
                if type(plugin).validate_async is not AdmissionPlugin.validate_async
            ]
            for one, some in by_operation.items()
        }

    def admit(self, request: AdmissionAttributes) -> None:
        """Call `admit` of every plugin, in order."""
        for admit in self._admit[request.operation]:
            admit(request)

    async def admit_async(self, request: AdmissionAttributes) -> None:
        """Call mutating webhooks and policies; if they changed the object, admit it again and reinvoke them."""
        # upstream 1.36: apiserver/pkg/admission/plugin/webhook/mutating, pkg/admission/reinvocation.go
        hooks = self._admit_async[request.operation]
        changed = [await admit(request, reinvocation=False) for admit in hooks]
        if any(changed):
            self.admit(request)
            for admit in hooks:
                await admit(request, reinvocation=True)

    def validate(self, request: AdmissionAttributes) -> None:
        """Call `validate` of every plugin, in order."""
        for validate in self._validate[request.operation]:
            validate(request)

    async def validate_async(self, request: AdmissionAttributes) -> None:
        """Call the awaited validations of every plugin. If the write fails, quota stays charged, as upstream."""
        for validate in self._validate_async[request.operation]:
            await validate(request)
