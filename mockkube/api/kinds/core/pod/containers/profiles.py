"""Validate seccomp and AppArmor profiles, as fields and as deprecated annotations."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidateSeccompPodAnnotations, ValidateAppArmorProfileField

from collections.abc import Mapping
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, quote, required, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.container_lists import all_containers, containers_with_paths
from mockkube.api.validation.internal_form import to_internal_form
from mockkube.api.validation.paths import validate_local_descending_path

SECCOMP_POD_ANNOTATION: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER_ANNOTATION_PREFIX: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR_ANNOTATION_PREFIX: Final = "container.apparmor.security.beta.kubernetes.io/"
_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_LOCALHOST_PREFIX: Final = "localhost/"
_PATH_BYTES_MAX: Final = 4095
_RUNTIME_DEFAULT: Final = "runtime/default"
_SECCOMP_DEFAULTS: Final = (_RUNTIME_DEFAULT, "docker/default")


def validate_seccomp_profile(profile: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a seccomp profile given as a field."""
    kind, path = profile.get("type", ""), profile.get("localhostProfile")
    errors = []
    if not kind:
        errors.append(required(f"{at}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILE_TYPES:
        errors.append(not_supported(f"{at}.type", kind, _PROFILE_TYPES))
    if kind == "Localhost":
        if path is None:
            text = "must be set when seccomp type is Localhost"
            return [*errors, required(f"{at}.localhostProfile", text)]
        return errors + validate_local_descending_path(path, f"{at}.localhostProfile")
    if path is not None:
        text = "can only be set when seccomp type is Localhost"
        errors.append(invalid(f"{at}.localhostProfile", to_internal_form("SeccompProfile", profile), text))
    return errors


def validate_app_armor_profile(profile: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate an AppArmor profile given as a field."""
    kind, path = profile.get("type", ""), profile.get("localhostProfile")
    match kind:
        case "Localhost":
            return _validate_local_app_armor(path, f"{at}.localhostProfile")
        # Unlike the seccomp check this one reports nothing but the type if that is unknown.
        case "RuntimeDefault" | "Unconfined":
            text = "can only be set when AppArmor type is Localhost"
            return [] if path is None else [invalid(f"{at}.localhostProfile", path, text)]
        case "":
            return [required(f"{at}.type", "type is required when appArmorProfile is set")]
        case _:
            return [not_supported(f"{at}.type", kind, _PROFILE_TYPES)]


def _validate_local_app_armor(path: str | None, at: str) -> list[FieldError]:
    if path is None:
        return [required(at, "must be set when AppArmor type is Localhost")]
    errors = []
    if path.strip() != path:
        errors.append(invalid(at, path, "must not be padded with whitespace"))
    elif not path:
        errors.append(required(at, "must be set when AppArmor type is Localhost"))
    if names.byte_length(path) > _PATH_BYTES_MAX:
        errors.append(too_long(at, _PATH_BYTES_MAX))
    return errors


def validate_profile_annotations(annotations: Mapping[str, str], spec: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate profiles given as annotations."""
    errors: list[FieldError] = []
    if SECCOMP_POD_ANNOTATION in annotations:
        errors += _validate_seccomp_annotation(annotations[SECCOMP_POD_ANNOTATION], f"{at}.{SECCOMP_POD_ANNOTATION}")
    for key, value in annotations.items():
        if key.startswith(SECCOMP_CONTAINER_ANNOTATION_PREFIX):
            errors += _validate_seccomp_annotation(value, f"{at}.{key}")
    for key, value in annotations.items():
        if key.startswith(APP_ARMOR_ANNOTATION_PREFIX):
            errors += _validate_app_armor_annotation(key, value, spec, at)
    return errors


def _validate_seccomp_annotation(profile: str, at: str) -> list[FieldError]:
    if profile in (*_SECCOMP_DEFAULTS, "unconfined"):
        return []
    if profile.startswith(_LOCALHOST_PREFIX):
        return validate_local_descending_path(profile.removeprefix(_LOCALHOST_PREFIX), at)
    return [invalid(at, profile, "must be a valid seccomp profile")]


def _validate_app_armor_annotation(key: str, profile: str, spec: ReadOnlyObject, at: str) -> list[FieldError]:
    name = key.removeprefix(APP_ARMOR_ANNOTATION_PREFIX)
    errors = []
    if all(container.get("name", "") != name for container in all_containers(spec)):
        errors.append(invalid(f"{at}[{key}]", name, "container not found"))
    if profile not in ("", _RUNTIME_DEFAULT, "unconfined") and not profile.startswith(_LOCALHOST_PREFIX):
        errors.append(invalid(f"{at}[{key}]", profile, f"invalid AppArmor profile name: {quote(profile)}"))
    return errors


def validate_profiles_match(annotations: Mapping[str, str], spec: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject annotations that contradict the fields; `at` is the path of the spec."""
    # Nearly all pods take this exit: all three annotations contain this word.
    if not any("security" in key for key in annotations):
        return []
    errors: list[FieldError] = []
    pod = spec.get("securityContext", {})
    if SECCOMP_POD_ANNOTATION in annotations and "seccompProfile" in pod:
        profile, here = pod["seccompProfile"], f"{at}.securityContext.seccompProfile"
        errors += _validate_profile_match(
            annotations[SECCOMP_POD_ANNOTATION], profile, here, "seccomp", _SECCOMP_DEFAULTS
        )
    for container, path in containers_with_paths(spec, at):
        profile = container.get("securityContext", {}).get("seccompProfile")
        annotation = annotations.get(SECCOMP_CONTAINER_ANNOTATION_PREFIX + container.get("name", ""))
        if profile is not None and annotation is not None:
            here = f"{path}.securityContext.seccompProfile"
            errors += _validate_profile_match(annotation, profile, here, "seccomp", _SECCOMP_DEFAULTS)
    return errors + _validate_app_armor_match(annotations, spec, at)


def _validate_app_armor_match(annotations: Mapping[str, str], spec: ReadOnlyObject, at: str) -> list[FieldError]:
    if spec.get("os", {}).get("name") == "windows":
        return []
    common = spec.get("securityContext", {}).get("appArmorProfile")
    errors: list[FieldError] = []
    for container, path in containers_with_paths(spec, at):
        # A container without a profile of its own gets the pod's, which an annotation of the container must match, too.
        profile = container.get("securityContext", {}).get("appArmorProfile", common)
        annotation = annotations.get(APP_ARMOR_ANNOTATION_PREFIX + container.get("name", ""))
        if profile is not None and annotation is not None:
            here = f"{path}.securityContext.appArmorProfile"
            errors += _validate_profile_match(annotation, profile, here, "apparmor", (_RUNTIME_DEFAULT,))
    return errors


def _validate_profile_match(
    annotation: str, profile: ReadOnlyObject, at: str, kind: str, defaults: tuple[str, ...]
) -> list[FieldError]:
    other_type = [forbidden(f"{at}.type", f"{kind} type in annotation and field must match")]
    match profile.get("type"):
        case "Unconfined":
            return [] if annotation == "unconfined" else other_type
        case "RuntimeDefault":
            return [] if annotation in defaults else other_type
        case "Localhost" if not annotation.startswith(_LOCALHOST_PREFIX):
            return other_type
        case "Localhost" if annotation.removeprefix(_LOCALHOST_PREFIX) != profile.get("localhostProfile"):
            return [forbidden(f"{at}.localhostProfile", f"{kind} profile in annotation and field must match")]
        case _:
            return []


def to_app_armor_field(annotation: str) -> dict[str, str] | None:
    """Return the field equivalent to an annotation, or None."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == _RUNTIME_DEFAULT:
        return {"type": "RuntimeDefault"}
    path = annotation.removeprefix(_LOCALHOST_PREFIX)
    return {"type": "Localhost", "localhostProfile": path} if path and path != annotation else None
