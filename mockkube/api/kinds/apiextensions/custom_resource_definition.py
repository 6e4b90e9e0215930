"""CustomResourceDefinition: strategy, defaults and validation.

upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
"""

import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.custom import formats
from mockkube.api.fields import (
    FieldError,
    duplicate,
    find_duplicate_indexes,
    forbidden,
    invalid,
    map_entry_path,
    not_supported,
    quote,
    required,
    too_many,
)
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.apiextensions.crd_root_schemas import validate_root
from mockkube.api.kinds.apiextensions.crd_schemas import validate_schema
from mockkube.api.kinds.apiextensions.schema_check import SchemaCheck, accept_schema
from mockkube.api.kinds.apiextensions.structural_schemas import properties
from mockkube.api.kinds.apiregistration.api_service import default_service_port
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.conditions import is_condition_true
from mockkube.api.validation.formats import validate_immutable_field, validate_required_one_of
from mockkube.api.validation.webhooks import has_recognized_version, validate_client_config, validate_review_versions
from mockkube.features.capabilities import Capabilities


def default_custom_resource_definition(crd: Object, caps: Capabilities) -> None:
    """Default names from the kind, conversion None and the stored versions."""
    # upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go
    spec = crd.setdefault("spec", {})
    _default_names(spec.setdefault("names", {}))
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    default_service_port(conversion.get("webhook", {}).get("clientConfig", {}))
    status = crd.setdefault("status", {})
    if not status.get("storedVersions"):
        stored = [version.get("name", "") for version in spec.get("versions") or () if version.get("storage")]
        if stored:
            status["storedVersions"] = stored[:1]


def _default_names(names: Object) -> None:
    kind = names.get("kind")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")


APPROVAL_ANNOTATION: Final = "api-approved.kubernetes.io"
SELECTABLE_FIELDS_MAX: Final = 8
_APPROVAL_PAGE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_PRESERVE_FIELD: Final = "spec.preserveUnknownFields"
_NO_SCHEMA_DETAIL: Final = "may only be set when validations.schema is included"
_NO_VERSION_SCHEMA_DETAIL: Final = "may only be set when `version.schema.openAPIV3Schema` is not included"
_PATH_TOKENS: Final = re.compile(r"[.\[\]]|'(?:\\.|[^'])*'|[^.\[\]]+")
_SCHEMA_MAPS: Final = ("properties", "patternProperties", "definitions", "dependencies")
# Fields of a schema that hold values, or schemas under names that users choose; all others may hold a schema directly.
_NON_SCHEMA_FIELDS: Final = ("default", "example", "enum", *_SCHEMA_MAPS)
# Upstream's internal CRD keeps these fields once, at the top of the spec, when all versions agree on them. Errors
# therefore name that place instead of the version.
_HOISTED_FIELDS: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


class CustomResourceDefinitionStrategy(StatusStrategy):
    """Strategy of CustomResourceDefinition."""

    allow_unconditional_update = False
    requires_qualified_finalizers = False

    def __init__(self, check_schema: SchemaCheck = accept_schema) -> None:
        self.check_schema = check_schema

    def empty_status(self) -> Object:
        """Return the fields that a Go server writes even when they are empty."""
        return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status, with the storage version as the only stored version."""
        super().prepare_for_create(obj, context)
        _record_storage_version(obj)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status and record a new storage version."""
        super().prepare_for_update(new, old, context)
        if context.subresource != "status":
            _record_storage_version(new)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate names, versions and schemas."""
        spec, name = obj["spec"], obj["metadata"].get("name", "")
        required_name = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
        detail = 'must be spec.names.plural+"."+spec.group'
        errors = [invalid("metadata.name", name, detail)] if name and name != required_name else []
        errors += (
            self._validate_spec(spec, None, context)
            + _validate_stored_versions(obj)
            + _validate_api_approval(obj, None)
        )
        return errors + _validate_preserve_unknown_fields(spec, {})

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec and its immutable fields, or the accepted names of the status."""
        if context.subresource == "status":
            return _validate_names((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")
        spec, before = new["spec"], old["spec"]
        errors = self._validate_spec(spec, before, context)
        new_names, old_names = spec.get("names") or {}, before.get("names") or {}
        # Scope and kind may be corrected until the CRD is established: before that no custom resource can exist.
        if is_condition_true((old.get("status") or {}).get("conditions"), "Established"):
            errors += validate_immutable_field(spec, before, "scope", "spec") + validate_immutable_field(
                new_names, old_names, "kind", "spec.names"
            )
        errors += validate_immutable_field(spec, before, "group", "spec") + validate_immutable_field(
            new_names, old_names, "plural", "spec.names"
        )
        errors += _validate_stored_versions(new) + _validate_api_approval(new, old)
        return errors + _validate_preserve_unknown_fields(spec, before)

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about formats that the server does not validate."""
        return [f"unrecognized format {quote(form)}" for form in _unknown_formats(obj, context)]

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about unknown formats that the stored CRD did not have."""
        if context.subresource == "status":
            return []
        known = _unknown_formats(old, context)
        return [f"unrecognized format {quote(form)}" for form in _unknown_formats(new, context) if form not in known]

    def _validate_spec(
        self, spec: ReadOnlyObject, before: ReadOnlyObject | None, context: StrategyContext
    ) -> list[FieldError]:
        versions, shared = spec.get("versions") or [], _hoisted_fields(spec)
        errors = _validate_group(spec.get("group", ""))
        errors += validate_required_one_of(spec.get("scope"), "spec.scope", ("Cluster", "Namespaced"))
        missing = [index for index, version in enumerate(versions) if _schema_of(version) is None]
        errors += [required(f"spec.versions[{index}].schema.openAPIV3Schema") for index in missing]
        if spec.get("preserveUnknownFields") and any(_has_default(_schema_of(version)) for version in versions):
            errors.append(invalid(_PRESERVE_FIELD, True, "must be false in order to use defaults in the schema"))
        for index, version in enumerate(versions):
            errors += self._validate_version(version, f"spec.versions[{index}]", shared, before, context)
        errors += _validate_storage(versions, shared)
        # The internal type still has `spec.version`, the name of the first version, and upstream validates both.
        errors += _validate_label(versions[0]["name"], "spec.version") if versions and versions[0].get("name") else []
        spec_names = spec.get("names") or {}
        name_fields = ("plural", "singular", "kind", "listKind")
        errors += [required(f"spec.names.{name}") for name in name_fields if not spec_names.get(name)]
        errors += _validate_names(spec_names, "spec.names")
        has_status = any("status" in (version.get("subresources") or {}) for version in versions)
        if "schema" in shared and has_status and versions and (root := _schema_of(versions[0])) is not None:
            errors += validate_root(root, "spec.validation.openAPIV3Schema")
        errors += self._validate_version_fields(versions[0] if versions else {}, "spec", shared, before, context)
        return errors + _validate_conversion(spec, before)

    def _validate_version(
        self,
        version: ReadOnlyObject,
        at: str,
        shared: set[str],
        before: ReadOnlyObject | None,
        context: StrategyContext,
    ) -> list[FieldError]:
        name, messages = version.get("name", ""), names.check_dns1035_label(version.get("name", ""))
        errors = [invalid(f"{at}.name", name, ",".join(messages))] if messages else []
        errors += _validate_deprecation_warning(version, f"{at}.deprecationWarning")
        return errors + self._validate_version_fields(version, at, set(_HOISTED_FIELDS) - shared, before, context)

    def _validate_version_fields(
        self,
        version: ReadOnlyObject,
        at: str,
        wanted: set[str],
        before: ReadOnlyObject | None,
        context: StrategyContext,
    ) -> list[FieldError]:
        """Validate the fields in `wanted` of one version."""
        errors: list[FieldError] = []
        schema = _schema_of(version)
        if "schema" in wanted and schema is not None:
            stored = [each for each in (before or {}).get("versions") or [] if each.get("name") == version.get("name")]
            old = _schema_of(stored[0]) if stored else None
            here = f"{at}.{'validation' if at == 'spec' else 'schema'}.openAPIV3Schema"
            if at != "spec" and "status" in (version.get("subresources") or {}):
                errors += validate_root(schema, here)
            errors += validate_schema(schema, old, here, context, self.check_schema)
        if "subresources" in wanted:
            errors += _validate_scale((version.get("subresources") or {}).get("scale"), f"{at}.subresources.scale")
        if "additionalPrinterColumns" in wanted:
            for index, column in enumerate(version.get("additionalPrinterColumns") or []):
                errors += _validate_column(column, f"{at}.additionalPrinterColumns[{index}]")
        if "selectableFields" in wanted and version.get("selectableFields"):
            here = f"{at}.selectableFields"
            if schema is None:
                errors.append(invalid(here, "", _NO_SCHEMA_DETAIL if at == "spec" else _NO_VERSION_SCHEMA_DETAIL))
            else:
                errors += _validate_selectable_fields(version["selectableFields"], schema, here)
        return errors


def _unknown_formats(obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
    schemas = [_schema_of(version) or {} for version in obj["spec"].get("versions") or []]
    return [form for schema in schemas for form in formats.find_unchecked(schema, context.caps.version)]


def _schema_of(version: ReadOnlyObject) -> ReadOnlyObject | None:
    return (version.get("schema") or {}).get("openAPIV3Schema")


def _hoisted_fields(spec: ReadOnlyObject) -> set[str]:
    """Return the fields on which all versions agree."""
    versions = spec.get("versions") or []
    return {name for name in _HOISTED_FIELDS if all(each.get(name) == versions[0].get(name) for each in versions)}


def _record_storage_version(obj: Object) -> None:
    storage = next((each.get("name", "") for each in obj["spec"].get("versions") or [] if each.get("storage")), None)
    status = obj["status"]
    stored = status.get("storedVersions") or []
    if storage is not None and storage not in stored:
        obj["status"] = {**status, "storedVersions": [*stored, storage]}


def _validate_group(group: str) -> list[FieldError]:
    messages = names.check_dns_subdomain(group)
    if not group:
        return [required("spec.group")]
    if messages:
        return [invalid("spec.group", group, ",".join(messages))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _validate_storage(versions: list[ReadOnlyObject], shared: set[str]) -> list[FieldError]:
    details = []
    if len({each.get("name") for each in versions}) < len(versions):
        details.append("must contain unique version names")
    if sum(bool(each.get("storage")) for each in versions) != 1:
        details.append("must have exactly one version marked as storage version")
    shown = [_to_internal_version(each, shared) for each in versions] or None
    return [invalid("spec.versions", shown, detail) for detail in details]


def _to_internal_version(version: ReadOnlyObject, shared: set[str]) -> dict[str, Any]:
    form = {
        "Name": version.get("name", ""),
        "Served": version.get("served", False),
        "Storage": version.get("storage", False),
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
    }
    return form | {
        name[0].upper() + name[1:]: None if name in shared else version.get(name) for name in _HOISTED_FIELDS
    }


def _validate_deprecation_warning(version: ReadOnlyObject, at: str) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    if not version.get("deprecated"):
        return [invalid(at, warning, "can only be set for deprecated versions")]
    details = []
    if names.byte_length(warning) > 256:
        details.append("must be <= 256 characters long")
    if not warning:
        details.append("must not be an empty string")
    unprintable = next((index for index, letter in enumerate(warning) if not letter.isprintable()), None)
    if unprintable is not None:
        text = "must only contain printable UTF-8 characters; non-printable character found at index"
        details.append(f"{text} {names.byte_length(warning[:unprintable])}")
    return [invalid(at, warning, detail) for detail in details]


def _validate_names(own: ReadOnlyObject, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("plural", "singular"):
        errors += _validate_label(own.get(name, ""), f"{at}.{name}") if own.get(name) else []
    for name in ("kind", "listKind"):
        messages = names.check_dns1035_label(own.get(name, "").lower())
        if own.get(name) and messages:
            detail = f"may have mixed case, but should otherwise match: {','.join(messages)}"
            errors.append(invalid(f"{at}.{name}", own[name], detail))
    for index, short in enumerate(own.get("shortNames") or []):
        errors += _validate_label(short, f"{at}.shortNames[{index}]")
    if own.get("kind") and own["kind"] == own.get("listKind"):
        errors.append(invalid(f"{at}.listKind", own["listKind"], "kind and listKind may not be the same"))
    for index, category in enumerate(own.get("categories") or []):
        errors += _validate_label(category, f"{at}.categories[{index}]")
    return errors


def _validate_label(value: str, at: str) -> list[FieldError]:
    messages = names.check_dns1035_label(value)
    return [invalid(at, value, ",".join(messages))] if messages else []


def _validate_scale(scale: ReadOnlyObject | None, at: str) -> list[FieldError]:
    if scale is None:
        return []
    errors: list[FieldError] = []
    for name, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        path = scale.get(name, "")
        missing = [] if path else [required(f"{at}.{name}")]
        errors += missing or _validate_path(path, f"{at}.{name}", (root,), f"should be a json path under {root[:-1]}")
    path = scale.get("labelSelectorPath")
    if path:
        detail = "should be a json path under either .spec or .status"
        errors += _validate_path(path, f"{at}.labelSelectorPath", (".spec.", ".status."), detail)
    return errors


def _validate_path(path: str, at: str, roots: tuple[str, ...], detail: str) -> list[FieldError]:
    if not path.startswith("."):
        return [invalid(at, path, "must be a simple json path starting with .")]
    return [] if path.startswith(roots) else [invalid(at, path, detail)]


def _validate_column(column: ReadOnlyObject, at: str) -> list[FieldError]:
    kind, form, path = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
    errors = [] if column.get("name") else [required(f"{at}.name")]
    choices = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        errors.append(required(f"{at}.type", choices))
    elif kind not in _COLUMN_TYPES:
        errors.append(invalid(f"{at}.type", kind, choices))
    if form and form not in _COLUMN_FORMATS:
        errors.append(invalid(f"{at}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    if not path:
        return [*errors, required(f"{at}.JSONPath")]
    return errors + _validate_path(path, f"{at}.JSONPath", (".",), "")


def _validate_selectable_fields(fields: list[ReadOnlyObject], schema: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        here, path = f"{at}[{index}].jsonPath", field.get("jsonPath", "")
        if not path:
            errors.append(required(here))
            continue
        try:
            target = _resolve_path(schema, path)
        except _PathError as bad:
            errors.append(invalid(here, path, f"is an invalid path: {bad}"))
            continue
        if path.startswith(".metadata"):
            errors.append(invalid(here, path, "must not point to fields in metadata"))
        if target.get("type") not in ("string", "boolean", "integer"):
            allowed = "Enum string fields and strings with formats are allowed."
            detail = f"must point to a field of type string, boolean or integer. {allowed}"
            errors.append(invalid(here, path, detail))
        if path in seen:
            errors.append(duplicate(here, path))
        seen.add(path)
    return [*errors, too_many(at, len(seen), SELECTABLE_FIELDS_MAX)] if len(seen) > SELECTABLE_FIELDS_MAX else errors


class _PathError(ValueError):
    """Path that leads to no field of a schema; the message is the reason."""


def _resolve_path(schema: ReadOnlyObject, path: str) -> ReadOnlyObject:
    """Return the schema at a path like `.spec.name`; raise if there is none."""
    # upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, ValidFieldPath
    steps = iter(_PATH_TOKENS.findall(path))
    for step in steps:
        if step == "[":
            raise _PathError("array notation is not allowed")
        if step != ".":
            raise _PathError(f"expected [ or . but got: {step}")
        if (name := next(steps, None)) is None:
            raise _PathError("unexpected end of JSON path")
        values = schema.get("additionalProperties")
        if properties(schema) or not isinstance(values, dict):
            values = properties(schema).get(name)
        if values is None:
            raise _PathError("does not refer to a valid field")
        schema = values
    return schema


def _validate_conversion(spec: ReadOnlyObject, before: ReadOnlyObject | None) -> list[FieldError]:
    conversion, at = spec.get("conversion"), "spec.conversion"
    if conversion is None:
        return []
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or {}
    errors = [] if strategy else [required(f"{at}.strategy")]
    if strategy and strategy not in ("None", "Webhook"):
        errors.append(not_supported(f"{at}.strategy", strategy, ("None", "Webhook")))
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        given = (("webhookClientConfig", client is not None), ("conversionReviewVersions", bool(versions)))
        return errors + [forbidden(f"{at}.{name}", detail) for name, is_set in given if is_set]
    if client is None:
        errors.append(required(f"{at}.webhookClientConfig", "required when strategy is set to Webhook"))
    else:
        errors += validate_client_config(client, f"{at}.webhookClientConfig")
    stored = (((before or {}).get("conversion") or {}).get("webhook") or {}).get("conversionReviewVersions") or []
    recognized = not stored or has_recognized_version(stored)
    return errors + validate_review_versions(
        versions, f"{at}.conversionReviewVersions", missing="", recognized=recognized
    )


def _validate_stored_versions(obj: ReadOnlyObject) -> list[FieldError]:
    stored, at = (obj.get("status") or {}).get("storedVersions") or [], "status.storedVersions"
    if not stored:
        return [invalid(at, None, "must have at least one stored version")]
    versions = obj["spec"].get("versions") or []
    names = [each.get("name", "") for each in versions]
    known, repeated = set(names), find_duplicate_indexes(names)
    not_stored = [
        each["name"]
        for index, each in enumerate(versions)
        # Upstream drops the name from a map at its first occurrence, so a second version of this name counts as
        # missing.
        if each.get("storage") and (each.get("name") not in stored or index in repeated)
    ]
    errors = [invalid(at, stored, f"must have the storage version {name}") for name in not_stored]
    missing = ((index, name) for index, name in enumerate(stored) if name not in known)
    return errors + [invalid(f"{at}[{index}]", name, _missing_version_detail(name)) for index, name in missing]


def _missing_version_detail(name: str) -> str:
    return (
        f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until "
        f"a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
    )


def _validate_preserve_unknown_fields(spec: ReadOnlyObject, before: ReadOnlyObject) -> list[FieldError]:
    """Reject preserveUnknownFields: true unless the stored CRD has it."""
    if not spec.get("preserveUnknownFields") or before.get("preserveUnknownFields"):
        return []
    detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [invalid(_PRESERVE_FIELD, True, detail)]


def _has_default(schema: Any) -> bool:
    """Return whether a schema has a default anywhere."""
    if isinstance(schema, list):
        return any(map(_has_default, schema))
    if not isinstance(schema, dict):
        return False
    inner = (value for name, value in schema.items() if name not in _NON_SCHEMA_FIELDS)
    mapped = (one for name in _SCHEMA_MAPS for one in (schema.get(name) or {}).values())
    return schema.get("default") is not None or any(map(_has_default, inner)) or any(map(_has_default, mapped))


def _validate_api_approval(obj: ReadOnlyObject, old: ReadOnlyObject | None) -> list[FieldError]:
    """Require the API approval annotation in the groups of the Kubernetes community."""
    group = f".{obj['spec'].get('group', '')}"
    if not group.endswith((".k8s.io", ".kubernetes.io")):
        return []
    text = _approval(obj)
    # A CRD whose approval was missing or invalid before stays writable.
    if old is not None and _approval_state(text) == _approval_state(_approval(old)):
        return []
    at = map_entry_path("metadata.annotations", APPROVAL_ANNOTATION)
    detail = f"protected groups must have approval annotation {quote(APPROVAL_ANNOTATION)}"
    match _approval_state(text):
        case "missing":
            return [required(at, f"{detail}, {_APPROVAL_PAGE}")]
        case "invalid":
            expected = 'with either a URL or a reason starting with "unapproved"'
            return [invalid(at, text, f"{detail} {expected}, {_APPROVAL_PAGE}")]
        case _:
            return []


def _approval(obj: ReadOnlyObject) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(APPROVAL_ANNOTATION, ""))


def _approval_state(text: str) -> str:
    if not text:
        return "missing"
    if text.startswith("unapproved"):
        return "bypassed"
    try:
        parts: Iterable[str] = urlsplit(text)[:2]
    except ValueError:
        return "invalid"
    return "approved" if all(parts) else "invalid"


KIND: Final = Kind(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=(STATUS,),
    strategy=lambda dependencies: CustomResourceDefinitionStrategy(dependencies.custom_schema),
    defaults={"v1": default_custom_resource_definition},
)
