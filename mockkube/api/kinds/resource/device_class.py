"""DeviceClass: strategy and validation."""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.pod.containers.resources import is_extended_resource
from mockkube.api.kinds.resource.device_expressions import ExpressionCheck, accept_expression, validate_selectors
from mockkube.api.kinds.resource.device_fields import validate_configuration, validate_items
from mockkube.api.printers.default_printers import NAME_AND_AGE_PRINTER
from mockkube.api.strategy import Strategy, StrategyContext

CONFIG_MAX = 32


class DeviceClassStrategy(Strategy):
    """Strategy of DeviceClass."""

    tracks_generation = True

    def __init__(self, check_expression: ExpressionCheck = accept_expression) -> None:
        self.check_expression = check_expression

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a DNS subdomain; the message counts bytes."""
        return names.check_dns_subdomain(name, prefix=prefix, unit="bytes")

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Drop the extended resource name if its gate is off."""
        super().prepare_for_create(obj, context)
        if not context.caps.enabled("DRAExtendedResource"):
            obj["spec"].pop("extendedResourceName", None)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Drop the extended resource name if its gate is off and none is stored."""
        if not context.caps.enabled("DRAExtendedResource") and "extendedResourceName" not in old["spec"]:
            new["spec"].pop("extendedResourceName", None)
        super().prepare_for_update(new, old, context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate selectors, configurations and extended resource name."""
        return self._validate(obj["spec"], None, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation; unchanged parts may exceed present limits."""
        return self._validate(new["spec"], old["spec"], context)

    def _validate(
        self, spec: ReadOnlyObject, before: ReadOnlyObject | None, context: StrategyContext
    ) -> list[FieldError]:
        unchanged = {
            name: before is not None and spec.get(name) == before.get(name) for name in ("selectors", "config")
        }
        selectors, check = spec.get("selectors"), self.check_expression
        # An unchanged expression may exceed today's cost limit: upstream compiles it as a stored one.
        errors = validate_selectors(selectors, "spec.selectors", context, check, stored=unchanged["selectors"])

        def validate_config(config: ReadOnlyObject, at: str) -> list[FieldError]:
            return validate_configuration(config, at, stored=unchanged["config"])

        errors += validate_items(spec.get("config"), "spec.config", validate_config, items_max=CONFIG_MAX)
        name = spec.get("extendedResourceName")
        if name is not None and not is_extended_resource(name):
            errors.append(invalid("spec.extendedResourceName", name, "must be a valid extended resource name"))
        return errors


KIND: Final = Kind(
    "resource.k8s.io",
    "DeviceClass",
    "deviceclasses",
    namespaced=False,
    versions=("v1", "v1beta2", "v1beta1", "v1alpha3"),
    strategy=lambda dependencies: DeviceClassStrategy(dependencies.device_expression),
    printer=NAME_AND_AGE_PRINTER,
)
