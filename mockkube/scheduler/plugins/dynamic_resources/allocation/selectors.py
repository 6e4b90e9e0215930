"""Match devices with the CEL selectors of classes and requests.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go (selectorsMatch)
"""

from collections.abc import Sequence

from mockkube.features.versions import Version
from mockkube.matching.cel.device_selection import compile_device_selector, device_matches
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_requests import AllocationError, DeviceRequest
from mockkube.scheduler.plugins.dynamic_resources.devices.devices import Device, SelectorVerdict
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures


class DeviceSelectors:
    """Evaluates selectors; each expression is evaluated once per device."""

    def __init__(self, features: DynamicResourcesFeatures) -> None:
        self._shared, self._lists = features.consumable_capacity, features.list_selectors
        self._names_devices = features.version >= Version(1, 37)

    def match(self, claim: str, request: DeviceRequest, device: Device) -> bool:
        """Return whether the selectors of a request and its class match; raise AllocationError if one fails."""
        device_class = request.device_class
        expressions = [one["cel"]["expression"] for one in device_class["spec"].get("selectors") or () if "cel" in one]
        if not self._match_all(f"class {device_class['metadata']['name']}", expressions, device):
            return False
        return self._match_all(f"claim {claim}", request.selectors, device)

    def _match_all(self, owner: str, expressions: Sequence[str], device: Device) -> bool:
        for index, expression in enumerate(expressions):
            verdict = device.verdicts.get(expression)
            if verdict is None:
                verdict = device.cache_verdict(
                    expression, self._evaluate(f"{owner}: selector #{index}", expression, device)
                )
            # Runtime errors are cached, too: the same device gives the same error.
            if isinstance(verdict, str):
                place = f" on device {device.id}" if self._names_devices else ""
                raise AllocationError(f"{owner}: selector #{index}{place}: CEL runtime error: {verdict}")
            if not verdict:
                return False
        return True

    def _evaluate(self, where: str, expression: str, device: Device) -> SelectorVerdict:
        compiled = compile_device_selector(expression, shared=self._shared, lists=self._lists)
        if compiled.error is not None:
            raise AllocationError(f"{where}: CEL compile error: {compiled.error}")
        return device_matches(compiled, device.id.driver, device.obj, lists=self._lists)
