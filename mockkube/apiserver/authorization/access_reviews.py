"""Access reviews: validate them, turn them into authorizer attributes, and build their status.

upstream 1.36: pkg/registry/authorization, pkg/apis/authorization/validation
"""

from typing import Any, Final

from mockkube.api.fields import FieldError, forbidden, invalid, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.selectors import fields as field_selectors
from mockkube.api.selectors import labels as label_selectors
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.fields import FieldRequirement
from mockkube.api.validation.internal_form import InternalShape, to_internal
from mockkube.api.validation.labels import validate_label_name
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes, Decision

_RESOURCE_PATH: Final = "spec.resourceAttributes"
_NON_RESOURCE_FIELDS: Final[InternalShape] = (("Path", "path", ""), ("Verb", "verb", ""))
_LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def validate_review(review: ReadOnlyObject) -> list[FieldError]:
    """Validate a SelfSubjectAccessReview, SubjectAccessReview or LocalSubjectAccessReview."""
    spec, local = review.get("spec") or {}, review["kind"] == "LocalSubjectAccessReview"
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    shown = None if path is None else to_internal(path, _NON_RESOURCE_FIELDS)
    errors = []
    if resource is not None and path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid("spec.nonResourceAttributes", shown, detail))
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid(_RESOURCE_PATH, None, detail))
    if review["kind"] != "SelfSubjectAccessReview" and not (spec.get("user") or spec.get("groups")):
        errors.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    errors += _validate_selectors(resource or {})
    errors += _validate_metadata(review["metadata"], local=local)
    if local and resource is not None and resource.get("namespace", "") != review["metadata"].get("namespace", ""):
        errors.append(
            invalid(f"{_RESOURCE_PATH}.namespace", resource.get("namespace", ""), "must match metadata.namespace")
        )
    if local and path is not None:
        errors.append(invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
    return errors


def _validate_metadata(metadata: ReadOnlyObject, *, local: bool) -> list[FieldError]:
    if not metadata.keys() - {"managedFields", "namespace" if local else "managedFields"}:
        return []
    return [invalid("metadata", dict(metadata), f"must be empty{' except for namespace' if local else ''}")]


def _validate_selectors(resource: ReadOnlyObject) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("fieldSelector", "labelSelector"):
        selector = resource.get(field)
        if selector is None:
            continue
        at = f"{_RESOURCE_PATH}.{field}"
        raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or ()
        if raw and requirements:
            errors.append(invalid(f"{at}.rawSelector", raw, "may not specified at the same time as requirements"))
        if not raw and not requirements:
            detail = f"when {at} is specified, requirements or rawSelector is required"
            errors.append(required(f"{at}.requirements", detail))
        for index, one in enumerate(requirements):
            errors += _validate_requirement(one, f"{at}.requirements[{index}]", of_labels=field == "labelSelector")
    return errors


def _validate_requirement(requirement: ReadOnlyObject, at: str, *, of_labels: bool) -> list[FieldError]:
    """Validate a requirement; unknown operators are allowed, since newer clients may know more of them."""
    key, values = requirement.get("key", ""), requirement.get("values") or ()
    errors = [] if key or of_labels else [required(f"{at}.key", "must be specified")]
    match requirement.get("operator", ""):
        case "In" | "NotIn" if not values:
            errors.append(required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        case "Exists" | "DoesNotExist" if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{at}.values", detail))
    if of_labels:
        errors += validate_label_name(key, f"{at}.key")
    return errors


def review_user(spec: ReadOnlyObject) -> User:
    """Return the user whose access is reviewed."""
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def to_attributes(user: User, spec: ReadOnlyObject) -> AuthorizationAttributes:
    """Return the attributes to authorize for a valid review."""
    resource = spec.get("resourceAttributes")
    if resource is None:
        path = spec["nonResourceAttributes"]
        return AuthorizationAttributes(user, path.get("verb", ""), path=path.get("path", ""))
    fields, _ = _parse_field_requirements(resource.get("fieldSelector") or {})
    named = {name: resource.get(name, "") for name in ("verb", "group", "resource", "subresource", "namespace", "name")}
    return AuthorizationAttributes(user, **named, field_requirements=tuple(fields))


def make_status(decision: Decision, spec: ReadOnlyObject) -> Object:
    """Return the status of a review."""
    answer: Object = {"allowed": decision.allowed}
    if decision.reason:
        answer["reason"] = decision.reason
    if errors := _evaluation_errors(spec.get("resourceAttributes") or {}):
        answer["evaluationError"] = "; ".join(errors)
    return answer


def _evaluation_errors(resource: ReadOnlyObject) -> list[str]:
    """Return texts about selectors that were ignored."""
    errors = []
    fields, bad_fields = _parse_field_requirements(resource.get("fieldSelector") or {})
    good_labels, bad_labels = _parse_label_requirements(resource.get("labelSelector") or {})
    for field, bad, some in (("fieldSelector", bad_fields, bool(fields)), ("labelSelector", bad_labels, good_labels)):
        if bad:
            # Ignoring a requirement makes the check stricter, so upstream reports it instead of failing.
            errors.append(f"{_RESOURCE_PATH}.{field} {'partially ' if some else ''}ignored due to parse error")
    return errors


def _parse_field_requirements(selector: ReadOnlyObject) -> tuple[list[FieldRequirement], bool]:
    """Return the requirements that can be parsed, and whether there are others."""
    if raw := selector.get("rawSelector", ""):
        try:
            return list(field_selectors.parse(raw).requirements), False
        except BadSelector:
            return [], True
    given: Any = selector.get("requirements") or ()
    read = [
        FieldRequirement(one.get("key", ""), one["values"][0], one["operator"] == "NotIn")
        for one in given
        if one.get("operator") in ("In", "NotIn") and len(one.get("values") or ()) == 1
    ]
    return read, len(read) < len(given)


def _parse_label_requirements(selector: ReadOnlyObject) -> tuple[bool, bool]:
    """Return whether there are requirements that can be parsed, and whether there are others."""
    if raw := selector.get("rawSelector", ""):
        try:
            return bool(label_selectors.parse(raw).requirements), False
        except BadSelector:
            return False, True
    given = selector.get("requirements") or ()
    readable = [one for one in given if _is_label_requirement(one)]
    return bool(readable), len(readable) < len(given)


def _is_label_requirement(requirement: ReadOnlyObject) -> bool:
    try:
        label_selectors.from_label_selector({"matchExpressions": [requirement]})
    except BadSelector:
        return False
    return requirement.get("operator") in _LABEL_OPERATORS
