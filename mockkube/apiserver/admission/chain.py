"""Admission chain: run the plugins in upstream's order on a request before it is stored."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Calls:
    """Methods to call for one operation on one resource.

    Only overridden ones are listed: most plugins have one of the four, and every write runs through all lists.
    """

    admit: tuple[Callable[[AdmissionAttributes], None], ...]
    admit_async: tuple[Callable[..., Awaitable[bool]], ...]
    validate: tuple[Callable[[AdmissionAttributes], None], ...]
    validate_async: tuple[Callable[[AdmissionAttributes], Awaitable[None]], ...]
    may_decide_anew: tuple[Callable[[AdmissionAttributes], bool], ...]

    @classmethod
    def from_plugins(cls, plugins: Sequence[AdmissionPlugin]) -> "_Calls":
        """Return the methods of plugins, in order."""

        def methods(name: str) -> tuple[Any, ...]:
            inherited = getattr(AdmissionPlugin, name)
            return tuple(getattr(plugin, name) for plugin in plugins if getattr(type(plugin), name) is not inherited)

        return cls(
            methods("admit"),
            methods("admit_async"),
            methods("validate"),
            methods("validate_async"),
            tuple(plugin.may_decide_anew for plugin in plugins),
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
        hooks = self._calls_for(request).admit_async
        changed = [await admit(request, reinvocation=False) for admit in hooks]
        if any(changed):
            self.admit(request)
            for admit in hooks:
                await admit(request, reinvocation=True)

    def validate(self, request: AdmissionAttributes) -> None:
        """Call `validate` of every plugin, in order."""
        for validate in self._calls_for(request).validate:
            validate(request)

    async def validate_async(self, request: AdmissionAttributes) -> None:
        """Call the awaited validations of every plugin. If the write fails, quota stays charged, as upstream."""
        for validate in self._calls_for(request).validate_async:
            await validate(request)

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:  # hot: per heartbeat
        """Return whether a plugin may decide anew about an update that repeats an earlier one."""
        return any(ask(request) for ask in self._calls_for(request).may_decide_anew)
