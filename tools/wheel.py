"""Build hook of hatchling: a wheel carries the scenarios and plans of `conformance/`."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ExamplesHook(BuildHookInterface[Any]):
    """Adds the examples to wheels; an editable installation finds them in the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name what goes into the wheel besides the packages."""
        if version == "standard":
            build_data["force_include"]["conformance"] = "mockkube/conformance"
