"""IngressClass: which controller answers for an ingress."""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required, too_long
from mockkube.api.kinds.networking.ingress import validate_reference
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.formats import domain_prefixed_path, formed

CONTROLLER_BYTES_MAX: Final = 250
_SCOPES: Final = ("Cluster", "Namespace")


class IngressClassStrategy(Strategy):
    """A controller, which stays, and parameters for it."""

    tracks_generation = True

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge controller and parameters."""
        spec = obj.get("spec") or {}
        controller = spec.get("controller", "")
        errors = []
        if len(controller.encode()) > CONTROLLER_BYTES_MAX:
            errors.append(too_long("spec.controller", CONTROLLER_BYTES_MAX))
        errors += domain_prefixed_path(controller, "spec.controller")
        if spec.get("parameters") is not None:
            errors += _validate_parameters(spec["parameters"], "spec.parameters")
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Refuse another controller, and judge as on creation."""
        before, after = ((obj.get("spec") or {}).get("controller", "") for obj in (old, new))
        changed = [] if before == after else [invalid("spec.controller", after, "field is immutable")]
        return changed + self.validate_create(new, judge)


def _validate_parameters(parameters: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_reference(parameters, at)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        return [*errors, required(f"{at}.scope")]
    if scope not in _SCOPES:
        errors.append(not_supported(f"{at}.scope", scope, _SCOPES))
    elif scope == "Cluster":
        if namespace is not None:
            errors.append(forbidden(f"{at}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        errors.append(required(f"{at}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        errors += formed(namespace, f"{at}.namespace", names.dns_label)
    return errors
