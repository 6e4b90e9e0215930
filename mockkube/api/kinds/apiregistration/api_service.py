"""APIService: strategy, defaults, validation and printer columns.

upstream 1.36: kube-aggregator/pkg/apis/apiregistration/validation/validation.go
"""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, invalid, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import condition, name_of, section, string, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.times import render_time
from mockkube.api.validation.formats import validate_one_of
from mockkube.api.validation.status_metadata import restore_fields
from mockkube.features.capabilities import Capabilities


def default_api_service(api_service: Object, caps: Capabilities) -> None:
    """Default the service port to 443."""
    # upstream 1.36: kube-aggregator/pkg/apis/apiregistration/v1/defaults.go
    default_service_port(api_service.get("spec", {}))


def default_service_port(client: Object) -> None:
    """Default the port of a service reference to 443."""
    service = client.get("service")
    if service is not None:
        service.setdefault("port", 443)


_STATUSES: Final = ("True", "False", "Unknown")


class APIServiceStrategy(StatusStrategy):
    """Strategy of APIService."""

    requires_qualified_finalizers = False
    tracks_generation = False
    allow_unconditional_update = False

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Validate the name as a path segment; validation of the object compares it with the spec."""
        return names.check_path_segment(name)

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status; an APIService without a service is available immediately."""
        super().prepare_for_create(obj, context)
        # No server has to be reached for a local APIService, so it is available from the beginning.
        if (obj.get("spec") or {}).get("service") is None:
            local = {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": render_time(context.now),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
            obj["status"] = {"conditions": [local]}

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec and most of the stored metadata."""
        super().prepare_for_status_update(new, old, context)
        restore_fields(new["metadata"], old["metadata"], "labels", "annotations", "finalizers", "ownerReferences")

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate name, version, priorities and service."""
        spec = obj.get("spec") or {}
        group, version, name = spec.get("group", ""), spec.get("version", ""), obj["metadata"].get("name", "")
        errors = []
        # Upstream reports this from the name validation, after the check of the path segment and only if that passes.
        if name and name != f"{version}.{group}" and not names.check_path_segment(name):
            detail = f'must be `spec.version+"."+spec.group`: "{version}.{group}"'
            errors.append(invalid("metadata.name", name, detail))
        return errors + _validate_version(group, version) + _validate_priorities_and_service(spec)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, or the conditions of the status."""
        if context.subresource != "status":
            return self.validate(new, context)
        given = enumerate((new.get("status") or {}).get("conditions") or [])
        at = "status.conditions"
        return [
            error for i, each in given for error in validate_one_of(each.get("status"), f"{at}[{i}].status", _STATUSES)
        ]


def _validate_version(group: str, version: str) -> list[FieldError]:
    errors = []
    if not group and version != "v1":
        errors.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    if group:
        errors += [invalid("spec.group", group, text) for text in names.check_dns_subdomain(group)]
    return errors + [invalid("spec.version", version, text) for text in names.check_dns1035_label(version)]


def _validate_priorities_and_service(spec: ReadOnlyObject) -> list[FieldError]:
    errors = []
    for name, maximum in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = spec.get(name, 0)
        if not 0 < value <= maximum:
            errors.append(invalid(f"spec.{name}", value, f"must be positive and less than {maximum}"))
    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify")
    at = "spec.insecureSkipTLSVerify"
    if service is None:
        if bundle:
            # The error prints the number of decoded bytes; it follows from the length of the base64 text.
            size = f"{len(bundle) // 4 * 3 - bundle.count('=', -2)} bytes"
            errors.append(invalid("spec.caBundle", size, "local APIServices may not have a caBundle"))
        if insecure:
            errors.append(invalid(at, True, "local APIServices may not have insecureSkipTLSVerify"))
        return errors
    errors += [required(f"spec.service.{name}") for name in ("namespace", "name") if not service.get(name)]
    messages = names.check_port_number(service.get("port") or 0)
    if messages:
        errors.append(invalid("spec.service.port", service.get("port"), f"port is not valid: {', '.join(messages)}"))
    if insecure and bundle:
        errors.append(invalid(at, True, "may not be true if caBundle is present"))
    return errors


def api_service_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an APIService."""
    # upstream 1.36: kube-aggregator/pkg/registry/apiservice/etcd
    return [name_of(obj), _format_service(obj), _format_availability(obj), format_age(obj, now)]


def _format_service(obj: ReadOnlyObject) -> str:
    if value_at(obj, "spec", "service") is None:
        return "Local"
    service = section(obj, "spec", "service")
    return f"{string(service, 'namespace')}/{string(service, 'name')}"


def _format_availability(obj: ReadOnlyObject) -> str:
    """Return the status of the Available condition, with the reason if it is not True."""
    available = condition(obj, "Available")
    if available is None:
        return "Unknown"
    status, reason = string(available, "status"), string(available, "reason")
    return f"{status} ({reason})" if reason and status != "True" else status


API_SERVICE = Printer(
    (
        NAME_COLUMN,
        text_column("Service", "The service that serves the API, or Local."),
        text_column("Available", "Status of the Available condition."),
        AGE_COLUMN,
    ),
    api_service_cells,
)

KIND: Final = Kind(
    "apiregistration.k8s.io",
    "APIService",
    "apiservices",
    namespaced=False,
    categories=("api-extensions",),
    subresources=(STATUS,),
    strategy=lambda _: APIServiceStrategy(),
    defaults={"v1": default_api_service},
    printer=API_SERVICE,
)
