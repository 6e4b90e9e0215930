"""Validate values by the schema of a CRD version, with the texts and in the order of upstream's validator.

In an update errors in unchanged values are ignored (ratcheting): a schema may become stricter without breaking stored
objects.
"""

# upstream 1.36: k8s.io/kube-openapi/pkg/validation/validate, and
# apiextensions-apiserver/pkg/apiserver/validation/ratcheting.go

from collections.abc import Iterator, Sequence
from typing import Any, Final

from mockkube.api.custom import formats, validation_result
from mockkube.api.custom.correlation import CorrelatedObject, equal_json
from mockkube.api.custom.numbers import check_number, counts_as_integer, is_go_integer
from mockkube.api.custom.validation_result import ValidationResult, ValuePath
from mockkube.api.custom.validation_schema import ValidationSchema
from mockkube.api.fields import FieldError, invalid

_TYPE_FIELDS: Final = ("kind", "apiVersion")


def validate(
    value: Any, schema: ValidationSchema, correlated: CorrelatedObject | None = None, *, root: str = ""
) -> list[FieldError]:
    """Return the errors of a value at `root`; `correlated` has its old value."""
    return list(_validate_ratcheting(value, schema, ValuePath(root=root), correlated).errors.values())


def _validate_ratcheting(
    value: Any, schema: ValidationSchema, path: ValuePath, correlated: CorrelatedObject | None
) -> ValidationResult:
    result = _check(value, schema, path, correlated)
    if not result.is_valid and correlated is not None and correlated.is_unchanged:
        return ValidationResult()
    return result


def _check(
    value: Any, schema: ValidationSchema, path: ValuePath, correlated: CorrelatedObject | None
) -> ValidationResult:
    result = ValidationResult()
    for part in _check_keywords(value, schema, path, correlated):
        result.merge(part)
        result.matches += value is not None
    result.matches += value is not None
    return result


def _check_keywords(
    value: Any, schema: ValidationSchema, path: ValuePath, correlated: CorrelatedObject | None
) -> Iterator[ValidationResult]:
    """Yield the results of the keywords that apply to the value."""
    if schema.types or schema.format:
        yield _check_type(value, schema, path)
    if value is not None:
        yield _check_combinations(value, schema, path, correlated)
    match value:
        case str():
            yield _check_string(value, schema, path)
            if schema.format and schema.format.replace("-", "") in formats.CHECKS:
                yield _check_format(value, schema, path)
        case int() | float() if not isinstance(value, bool):
            yield check_number(value, schema, path)
        case list():
            yield _check_items(value, schema, path, correlated)
    yield _check_enum(value, schema, path)
    if isinstance(value, dict):
        yield _check_properties(value, schema, path, correlated)


def _json_type(value: Any) -> tuple[str, str]:
    """Return type and format of a value."""
    match value:
        case bool():
            return "boolean", ""
        case str():
            return "string", ""
        case int() if is_go_integer(value):
            return "integer", "int64"
        case int():
            return "number", "float64"
        case float():
            return "number", "float64"
        case list():
            return "array", ""
        case _:
            return "object", ""


def _check_type(value: Any, schema: ValidationSchema, path: ValuePath) -> ValidationResult:
    result, types = ValidationResult(), schema.types
    wanted = ",".join(types)
    if value is None:
        if types and not schema.is_nullable:
            validation_result.add_type_error(result, path, wanted, "null")
            return result
    else:
        kind, form = _json_type(value)
        fits = kind in types
        # JSON does not distinguish 1.0 from 1, so a whole float is an integer, too.
        fits = fits or (kind == "number" and "integer" in types and counts_as_integer(value))
        fits = fits or (kind == "integer" and "number" in types)
        spelled = isinstance(value, str | list)
        if not spelled and schema.format and not (fits or form == schema.format):
            validation_result.add_type_error(result, path, schema.format, form)
            return result
        by_format = spelled and bool(schema.format) and "number" not in types and "integer" not in types
        if not fits and not by_format:
            validation_result.add_type_error(result, path, wanted, kind)
            return result
    result.matches += 1
    return result


def _check_string(value: str, schema: ValidationSchema, path: ValuePath) -> ValidationResult:
    """Check length, then pattern; only the first error is reported."""
    result, raw = ValidationResult(), schema.raw
    most, least, pattern = raw.get("maxLength"), raw.get("minLength"), raw.get("pattern")
    if most is not None and len(value) > most:
        validation_result.add_too_long(result, path, most)
    elif least is not None and len(value) < least:
        validation_result.add_invalid(result, path, value, f"should be at least {least} chars long")
    elif pattern and not schema.matches_pattern(pattern, value):
        validation_result.add_invalid(result, path, value, f"should match '{pattern}'")
    return result


def _check_format(value: str, schema: ValidationSchema, path: ValuePath) -> ValidationResult:
    result = ValidationResult()
    if not formats.matches_format(schema.format, value):
        validation_result.add_type_error(result, path, schema.format, value)
    return result


def _check_enum(value: Any, schema: ValidationSchema, path: ValuePath) -> ValidationResult:
    result = ValidationResult()
    if not schema.enum or (isinstance(value, str) and value in schema.enum_strings):
        return result
    if value is None or isinstance(value, str) or not any(equal_json(value, one) for one in schema.enum):
        validation_result.add_not_supported(result, path, value, schema.enum)
    return result


def _check_items(
    value: list[Any], schema: ValidationSchema, path: ValuePath, correlated: CorrelatedObject | None
) -> ValidationResult:
    result, raw, count = ValidationResult(), schema.raw, len(value)
    if schema.items is not None:
        for index, item in enumerate(value):
            known = correlated.get_item(index) if correlated is not None else None
            result.merge(_validate_ratcheting(item, schema.items, path.item(index), known))
    least, most = raw.get("minItems"), raw.get("maxItems")
    if least is not None and count < least:
        validation_result.add_invalid(result, path, count, f"should have at least {least} items")
    if most is not None and count > most:
        validation_result.add_too_many(result, path, count, most, "items")
    result.matches += 1
    return result


def _check_properties(
    value: dict[str, Any], schema: ValidationSchema, path: ValuePath, correlated: CorrelatedObject | None
) -> ValidationResult:
    result, raw, count = ValidationResult(), schema.raw, len(value)
    least, most = raw.get("minProperties"), raw.get("maxProperties")
    if least is not None and count < least:
        validation_result.add_invalid(result, path, count, f"should have at least {least} properties")
    if most is not None and count > most:
        validation_result.add_too_many(result, path, count, most, "properties")
    others = [name for name in value if name not in schema.properties]
    for name in others:
        if schema.forbids_additional:
            text = f"{path.path}.{name} in body is a forbidden property"
            result.add(text, invalid(path.field, name, text))
        elif schema.additional is not None:
            result.merge(
                _validate_ratcheting(
                    value[name], schema.additional, path.entry(name), _correlated_field(correlated, name, path)
                )
            )
    for name, each in schema.properties.items():
        if name in value:
            result.merge(
                _validate_ratcheting(value[name], each, path.property(name), _correlated_field(correlated, name, path))
            )
    for name in schema.required:
        if name not in value:
            validation_result.add_missing(result, path.entry(name))
    return result


def _correlated_field(correlated: CorrelatedObject | None, name: str, path: ValuePath) -> CorrelatedObject | None:
    """Return the correlation of a field; kind and apiVersion at the root are always validated."""
    if correlated is None or (not path.path and name in _TYPE_FIELDS):
        return None
    return correlated.get_field(name)


def _check_combinations(
    value: Any, schema: ValidationSchema, path: ValuePath, correlated: CorrelatedObject | None
) -> ValidationResult:
    result = ValidationResult()

    def each(schemas: Sequence[ValidationSchema]) -> list[ValidationResult]:
        return [_check(value, one, path, correlated) for one in schemas]

    if schema.any_of:
        _check_any_of(result, each(schema.any_of), path)
    if schema.one_of:
        _check_one_of(result, each(schema.one_of), path)
    if schema.all_of:
        _check_all_of(result, each(schema.all_of), path)
    if schema.not_schema is not None and _check(value, schema.not_schema, path, correlated).is_valid:
        validation_result.add_without_field(result, path, f'"{path.path}" must not validate the schema (not)')
    result.matches += 1
    return result


def _check_any_of(result: ValidationResult, found: list[ValidationResult], path: ValuePath) -> None:
    fitting = next((one for one in found if one.is_valid), None)
    if fitting is None:
        validation_result.add_without_field(result, path, f'"{path.path}" must validate at least one schema (anyOf)')
    result.merge(fitting or max(found, key=lambda one: one.matches))


def _check_one_of(result: ValidationResult, found: list[ValidationResult], path: ValuePath) -> None:
    fitting = [one for one in found if one.is_valid]
    if len(fitting) == 1:
        result.merge(fitting[0])
        return
    why = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
    validation_result.add_without_field(
        result, path, f'"{path.path}" must validate one and only one schema (oneOf). {why}'
    )
    if not fitting:
        result.merge(max(found, key=lambda one: one.matches))


def _check_all_of(result: ValidationResult, found: list[ValidationResult], path: ValuePath) -> None:
    for one in found:
        result.merge(one)
    fitting = sum(one.is_valid for one in found)
    if fitting < len(found):
        why = "" if fitting else ". None validated"
        validation_result.add_without_field(result, path, f'"{path.path}" must validate all the schemas (allOf){why}')
