"""Admission chain: run the plugins in upstream's order on a request before it is stored."""

from collections.abc import Callable, Sequence

from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Calls:
    """Methods to call for one operation on one resource.

    Only overridden ones are listed: most plugins have one of the four, and every write runs through all lists.
    """

    admit: tuple[Callable[[AdmissionAttributes], None], ...]
    validate: tuple[Callable[[AdmissionAttributes], None], ...]
    may_decide_anew: tuple[Callable[[AdmissionAttributes], bool], ...]
    # Plugins whose methods are awaited.
    awaited_to_admit: tuple[AdmissionPlugin, ...]
    awaited_to_validate: tuple[AdmissionPlugin, ...]

    @classmethod
    def from_plugins(cls, plugins: Sequence[AdmissionPlugin]) -> "_Calls":
        """Return the methods of plugins, in order."""

        def with_own(name: str) -> list[AdmissionPlugin]:
            inherited = getattr(AdmissionPlugin, name)
            return [plugin for plugin in plugins if getattr(type(plugin), name) is not inherited]

        return cls(
            tuple(plugin.admit for plugin in with_own("admit")),
            tuple(plugin.validate for plugin in with_own("validate")),
            tuple(plugin.may_decide_anew for plugin in plugins),
            tuple(with_own("admit_async")),
            tuple(with_own("validate_async")),
        )


class AdmissionChain:
    """Chain of the enabled plugins."""

    def __init__(self, plugins: Sequence[AdmissionPlugin]) -> None:
        self.plugins = tuple(plugins)
        named = {pair for plugin in plugins for pair in plugin.resources}
        self._calls = {(one, pair): self._select(one, pair) for one in Operation for pair in named}
        # Calls for all resources that no plugin names.
        self._calls_for_others = {one: self._select(one, None) for one in Operation}

    def _select(self, operation: Operation, resource: tuple[str, str] | None) -> _Calls:
        return _Calls.from_plugins(
            [
                plugin
                for plugin in self.plugins
                if operation in plugin.operations and (not plugin.resources or resource in plugin.resources)
            ]
        )

    def _calls_for(self, request: AdmissionAttributes) -> _Calls:  # hot: four times per write
        resource, operation = request.resource.storage_resource, request.operation
        calls = self._calls.get((operation, (resource.group, resource.plural)))
        return self._calls_for_others[operation] if calls is None else calls

    def admit(self, request: AdmissionAttributes) -> None:
        """Call `admit` of every plugin, in order."""
        for admit in self._calls_for(request).admit:
            admit(request)

    async def admit_async(self, request: AdmissionAttributes) -> None:
        """Call mutating webhooks and policies; if they changed the object, admit it again and reinvoke them."""
        # upstream 1.36: apiserver/pkg/admission/plugin/webhook/mutating, pkg/admission/reinvocation.go
        plugins = [plugin for plugin in self._calls_for(request).awaited_to_admit if plugin.is_configured(request)]
        changed = [await plugin.admit_async(request, reinvocation=False) for plugin in plugins]
        if any(changed):
            self.admit(request)
            for plugin in plugins:
                await plugin.admit_async(request, reinvocation=True)

    def validate(self, request: AdmissionAttributes) -> None:
        """Call `validate` of every plugin, in order."""
        for validate in self._calls_for(request).validate:
            validate(request)

    async def validate_async(self, request: AdmissionAttributes) -> None:
        """Call the awaited validations of every plugin. If the write fails, quota stays charged, as upstream."""
        for plugin in self._calls_for(request).awaited_to_validate:
            if plugin.is_configured(request):
                await plugin.validate_async(request)

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:  # hot: per heartbeat
        """Return whether a plugin may decide anew about an update that repeats an earlier one."""
        return any(ask(request) for ask in self._calls_for(request).may_decide_anew)
