"""IngressClass: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required, too_long
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.networking.ingress import validate_typed_local_reference
from mockkube.api.printers.accessors import name_of, section, string, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_domain_prefixed_path, validate_format
from mockkube.features.capabilities import Capabilities


def default_ingress_class(ingress_class: Object, caps: Capabilities) -> None:
    """Default the scope of parameters to Cluster."""
    parameters = ingress_class.get("spec", {}).get("parameters")
    # An explicit null counts as missing: upstream's field is a pointer.
    if parameters and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


CONTROLLER_BYTES_MAX: Final = 250
_SCOPES: Final = ("Cluster", "Namespace")


class IngressClassStrategy(Strategy):
    """Strategy of IngressClass; its controller is immutable."""

    tracks_generation = True

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate controller and parameters."""
        spec = obj.get("spec") or {}
        controller = spec.get("controller", "")
        errors = []
        if len(controller.encode()) > CONTROLLER_BYTES_MAX:
            errors.append(too_long("spec.controller", CONTROLLER_BYTES_MAX))
        errors += validate_domain_prefixed_path(controller, "spec.controller")
        if spec.get("parameters") is not None:
            errors += _validate_parameters(spec["parameters"], "spec.parameters")
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject another controller, and validate as on creation."""
        before, after = ((obj.get("spec") or {}).get("controller", "") for obj in (old, new))
        # Another controller would take over all ingresses of the class without their owners knowing.
        changed = [] if before == after else [invalid("spec.controller", after, "field is immutable")]
        return changed + self.validate(new, context)


def _validate_parameters(parameters: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = validate_typed_local_reference(parameters, at)
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
        errors += validate_format(namespace, f"{at}.namespace", names.check_dns_label)
    return errors


DEFAULT_CLASS_ANNOTATION = "ingressclass.kubernetes.io/is-default-class"


def ingress_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an IngressClass."""
    is_default = value_at(obj, "metadata", "annotations", DEFAULT_CLASS_ANNOTATION) == "true"
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        string(obj, "spec", "controller"),
        _format_parameters(obj),
        format_age(obj, now),
    ]


def _format_parameters(obj: ReadOnlyObject) -> str:
    if value_at(obj, "spec", "parameters") is None:
        return NONE
    parameters = section(obj, "spec", "parameters")
    kind = string(parameters, "kind")
    if parameters.get("apiGroup") is not None:
        kind += f".{parameters['apiGroup']}"
    return f"{kind}/{string(parameters, 'name')}"


INGRESS_CLASS = Printer(
    (
        NAME_COLUMN,
        text_column("Controller", "The controller that serves ingresses of this class."),
        text_column("Parameters", "An object with further settings."),
        AGE_COLUMN,
    ),
    ingress_class_cells,
)

KIND: Final = Kind(
    "networking.k8s.io",
    "IngressClass",
    "ingressclasses",
    namespaced=False,
    strategy=lambda _: IngressClassStrategy(),
    defaults={"v1": default_ingress_class},
    printer=INGRESS_CLASS,
)
