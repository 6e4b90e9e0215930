"""Admission chain: run the plugins in upstream's order on a request before it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
from mockkube.apiserver.registry.admission import Operation, Plugin, Request


class Chain:
    """Chain of the enabled plugins."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)
        by_operation = {one: [plugin for plugin in plugins if one in plugin.operations] for one in Operation}
        # Only overridden methods are listed: most plugins have one of the four, and every write runs through all lists.
        self._admit = {
            one: [plugin.admit for plugin in some if type(plugin).admit is not Plugin.admit]
            for one, some in by_operation.items()
        }
        self._amend = {
            one: [plugin.amend for plugin in some if type(plugin).amend is not Plugin.amend]
            for one, some in by_operation.items()
        }
        self._validate = {
            one: [plugin.validate for plugin in some if type(plugin).validate is not Plugin.validate]
            for one, some in by_operation.items()
        }
        self._settle = {
            one: [plugin.settle for plugin in some if type(plugin).settle is not Plugin.settle]
            for one, some in by_operation.items()
        }

    def admit(self, request: Request) -> None:
        """Call `admit` of every plugin, in order."""
        for admit in self._admit[request.operation]:
            admit(request)

    async def amend(self, request: Request) -> None:
        """Call mutating webhooks and policies; if they changed the object, admit it again and reinvoke them."""
        # upstream 1.36: apiserver/pkg/admission/plugin/webhook/mutating, pkg/admission/reinvocation.go
        changed = [await amend(request, again=False) for amend in self._amend[request.operation]]
        if any(changed):
            self.admit(request)
            for amend in self._amend[request.operation]:
                await amend(request, again=True)

    def validate(self, request: Request) -> None:
        """Call `validate` of every plugin, in order."""
        for validate in self._validate[request.operation]:
            validate(request)

    async def settle(self, request: Request) -> None:
        """Call the awaited validations of every plugin. If the write fails, quota stays charged, as upstream."""
        for settle in self._settle[request.operation]:
            await settle(request)
