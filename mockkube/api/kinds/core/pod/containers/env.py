"""Validate environment variables of containers, and references to pod fields and resources."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidateEnv and ValidateEnvFrom

from collections.abc import Callable, Collection, Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.api.validation.paths import validate_path_no_backsteps
from mockkube.lazy_dataclasses import dataclass

_ENV_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_CONVERTIBLE_FIELDS: Final = frozenset(
    (
        *_ENV_FIELDS,
        "metadata.annotations",
        "metadata.labels",
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.phase",
    )
)
_RESOURCES: Final = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES: Final = ("requests.hugepages-", "limits.hugepages-")
_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS_DETAIL: Final = f"only divisor's values {', '.join(_DIVISORS)} are supported with the"


@dataclass(frozen=True, slots=True)
class EnvValidationOptions:
    """Validation options of environment variables."""

    relaxed_names: bool = True
    allow_file_keys: bool = True


def validate_env(variables: Sequence[ReadOnlyObject], at: str, options: EnvValidationOptions) -> list[FieldError]:
    """Validate environment variables."""
    check_name = names.check_relaxed_env_var_name if options.relaxed_names else names.check_env_var_name
    errors: list[FieldError] = []
    for i, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            errors.append(required(f"{at}[{i}].name"))
        else:
            errors += [invalid(f"{at}[{i}].name", name, text) for text in check_name(name)]
        if "valueFrom" in variable:
            errors += _validate_value_from(variable, f"{at}[{i}].valueFrom", options)
    return errors


def _validate_value_from(variable: ReadOnlyObject, at: str, options: EnvValidationOptions) -> list[FieldError]:
    source = variable["valueFrom"]
    errors: list[FieldError] = []
    given = 0
    for name, check in _SOURCES.items():
        if name in source:
            given += 1
            errors += check(source[name], f"{at}.{name}")
    if not given:
        files = (
            "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            if options.allow_file_keys
            else "`configMapKeyRef` or `secretKeyRef`"
        )
        errors.append(invalid(at, "", f"must specify one of: `fieldRef`, `resourceFieldRef`, {files}"))
    # Only the first of these problems is reported, as upstream does.
    elif variable.get("value"):
        errors.append(invalid(at, "", "may not be specified when `value` is not empty"))
    elif given > 1:
        errors.append(invalid(at, "", "may not have more than one field specified at a time"))
    return errors


def _validate_env_field(reference: ReadOnlyObject, at: str) -> list[FieldError]:
    return validate_field_reference(reference, at, _ENV_FIELDS)


def validate_field_reference(reference: ReadOnlyObject, at: str, fields: Collection[str]) -> list[FieldError]:
    """Validate a reference to one of `fields`, or to one label or annotation."""
    version, label = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not version:
        return [required(f"{at}.apiVersion")]
    if not label:
        return [required(f"{at}.fieldPath")]
    path, subscript = _split_subscript(label)
    if text := _find_conversion_error(version, label, path, subscript):
        return [invalid(f"{at}.fieldPath", label, f"error converting fieldPath: {text}")]
    if subscript is not None:
        # Upstream lowers annotation keys before it validates them, and prints the lowered key.
        key = subscript.lower() if path == "metadata.annotations" else subscript
        return [invalid(at, key, text) for text in names.check_qualified_name(key)]
    # `spec.host` is the name the field had in v1beta1; upstream still converts it.
    field = "spec.nodeName" if path == "spec.host" else path
    return [] if field in fields else [not_supported(f"{at}.fieldPath", field, sorted(fields))]


def _find_conversion_error(version: str, label: str, path: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        subscripted = path in ("metadata.annotations", "metadata.labels")
        return "" if subscripted else f"field label does not support subscript: {label}"
    known = label in _CONVERTIBLE_FIELDS or label == "spec.host"
    return "" if known else f"field label not supported: {label}"


def _split_subscript(path: str) -> tuple[str, str | None]:
    """Split `metadata.labels['a']` into path and key."""
    if not path.endswith("']"):
        return path, None
    head, bracket, key = path.removesuffix("']").partition("['")
    return (head, key) if bracket and head else (path, None)


def _validate_env_resource_field(reference: ReadOnlyObject, at: str) -> list[FieldError]:
    return validate_resource_reference(reference, at, require_container=False)


def validate_resource_reference(reference: ReadOnlyObject, at: str, *, require_container: bool) -> list[FieldError]:
    """Validate a reference to requests or limits; volumes must name the container."""
    resource = reference.get("resource", "")
    errors = []
    if require_container and not reference.get("containerName"):
        errors.append(required(f"{at}.containerName"))
    elif not resource:
        errors.append(required(f"{at}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(not_supported(f"{at}.resource", resource, _RESOURCES))
    divisor = reference.get("divisor", "0")
    if parse(divisor).sign and (text := _find_divisor_error(resource, divisor)):
        # Upstream prints the resource as the bad value, not the divisor.
        errors.append(invalid(f"{at}.divisor", resource, text))
    return errors


def _find_divisor_error(resource: str, divisor: str) -> str:
    name = resource.partition(".")[2]
    if resource in ("limits.cpu", "requests.cpu"):
        return "" if divisor in ("1m", "1") else "only divisor's values 1m and 1 are supported with the cpu resource"
    if divisor in _DIVISORS:
        return ""
    if resource in _RESOURCES:
        return f"{_DIVISORS_DETAIL} {'memory' if name == 'memory' else 'local ephemeral storage'} resource"
    return f"{_DIVISORS_DETAIL} hugepages resource" if resource.startswith(_HUGE_PAGES) else ""


def _validate_key_selector(reference: ReadOnlyObject, at: str) -> list[FieldError]:
    name, key = reference.get("name", ""), reference.get("key", "")
    errors = [invalid(f"{at}.name", name, text) for text in names.check_dns_subdomain(name)]
    if not key:
        return [*errors, required(f"{at}.key")]
    return errors + [invalid(f"{at}.key", key, text) for text in names.check_config_map_key(key)]


def _validate_file_key_selector(reference: ReadOnlyObject, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, check in (("key", names.check_relaxed_env_var_name), ("volumeName", names.check_dns_label)):
        value = reference.get(name, "")
        if value:
            errors += [invalid(f"{at}.{name}", value, text) for text in check(value)]
        else:
            errors.append(required(f"{at}.{name}"))
    path = reference.get("path", "")
    return errors + (validate_path_no_backsteps(path, f"{at}.path") if path else [required(f"{at}.path")])


_SOURCES: Final[dict[str, Callable[[ReadOnlyObject, str], list[FieldError]]]] = {
    "fieldRef": _validate_env_field,
    "resourceFieldRef": _validate_env_resource_field,
    "configMapKeyRef": _validate_key_selector,
    "secretKeyRef": _validate_key_selector,
    "fileKeyRef": _validate_file_key_selector,
}


def validate_env_from(sources: Sequence[ReadOnlyObject], at: str, options: EnvValidationOptions) -> list[FieldError]:
    """Validate ConfigMaps and Secrets whose keys become variables."""
    check_name = names.check_relaxed_env_var_name if options.relaxed_names else names.check_env_var_name
    errors: list[FieldError] = []
    for i, source in enumerate(sources):
        if prefix := source.get("prefix"):
            errors += [invalid(f"{at}[{i}].prefix", prefix, text) for text in check_name(prefix)]
        given = [name for name in ("configMapRef", "secretRef") if name in source]
        for kind in given:
            errors += _validate_env_from_reference(source[kind], f"{at}[{i}].{kind}")
        if not given:
            errors.append(invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(invalid(at, "", "may not have more than one field specified at a time"))
    return errors


def _validate_env_from_reference(source: ReadOnlyObject, at: str) -> list[FieldError]:
    name = source.get("name")
    if not name:
        return [required(f"{at}.name")]
    return [invalid(f"{at}.name", name, text) for text in names.check_dns_subdomain(name, prefix=True)]
