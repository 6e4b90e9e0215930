"""Validate downward API volumes and projected volumes."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateProjectionSources

from collections.abc import Sequence
from typing import Final

from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.env import validate_field_reference, validate_resource_reference
from mockkube.api.kinds.core.pod.volumes.sources import check_key_to_path
from mockkube.api.validation.internal_form import order_selector, to_internal_form
from mockkube.api.validation.labels import validate_label_selector
from mockkube.api.validation.paths import validate_file_mode, validate_local_non_reserved_path
from mockkube.api.validation.references import (
    check_trust_bundle_name,
    is_kubernetes_signer,
    validate_signer_name,
    validate_user_annotations,
)

_DOWNWARD_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_TOKEN_SECONDS_MIN: Final = 600
_TOKEN_SECONDS_MAX: Final = 2**32
_CERTIFICATE_SECONDS_MIN: Final = 3600
_CERTIFICATE_SECONDS_MAX: Final = 91 * 24 * 3600
_KUBERNETES_SIGNER_SECONDS_MAX: Final = 24 * 3600
_CERTIFICATE_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")
_CONFLICT_DETAIL: Final = "conflicting duplicate paths"


def check_downward_api(source: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a downward API volume."""
    errors = validate_file_mode(source.get("defaultMode"), f"{at}.defaultMode")
    for file in source.get("items", ()):
        # Upstream reports errors of a file at the path of the source, without index.
        errors += _check_downward_file(file, at)
    return errors


def _check_downward_file(file: ReadOnlyObject, at: str) -> list[FieldError]:
    path = file.get("path", "")
    errors = [] if path else [required(f"{at}.path")]
    errors += validate_local_non_reserved_path(path, f"{at}.path")
    if "fieldRef" in file:
        errors += validate_field_reference(file["fieldRef"], f"{at}.fieldRef", _DOWNWARD_FIELDS)
        if "resourceFieldRef" in file:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(at, "resource", text))
    elif "resourceFieldRef" in file:
        errors += validate_resource_reference(
            file["resourceFieldRef"], f"{at}.resourceFieldRef", require_container=True
        )
    else:
        errors.append(required(at, "one of fieldRef and resourceFieldRef is required"))
    return errors + validate_file_mode(file.get("mode"), f"{at}.mode")


def validate_projected(volume: ReadOnlyObject, at: str, *, allow_any_token_path: bool) -> list[FieldError]:
    """Validate a projected volume; `allow_any_token_path` tolerates a stored path."""
    errors = validate_file_mode(volume.get("defaultMode"), f"{at}.defaultMode")
    taken: set[str] = set()
    for i, source in enumerate(volume.get("sources") or ()):
        here = f"{at}.sources[{i}]"
        for kind in ("secret", "configMap"):
            if kind in source:
                errors += _check_key_items(source[kind], f"{here}.{kind}", at, taken)
        if "downwardAPI" in source:
            errors += _check_downward_files(source["downwardAPI"].get("items", ()), f"{here}.downwardAPI", at, taken)
        if "serviceAccountToken" in source:
            token = source["serviceAccountToken"]
            errors += _check_service_account_token(token, f"{here}.serviceAccountToken", at, allow_any_token_path)
        if "clusterTrustBundle" in source:
            errors += _check_cluster_trust_bundle(source["clusterTrustBundle"], f"{here}.clusterTrustBundle", at, taken)
        if "podCertificate" in source:
            errors += _check_pod_certificate(source["podCertificate"], f"{here}.podCertificate", at, taken)
        if sum(1 for kind in source if kind in _PROJECTION_TYPES) > 1:
            errors.append(forbidden(here, "may not specify more than 1 volume type per source"))
    return errors


_PROJECTION_TYPES: Final = (
    "secret",
    "configMap",
    "downwardAPI",
    "serviceAccountToken",
    "clusterTrustBundle",
    "podCertificate",
)


def _reserve_path(path: str, taken: set[str], at: str, shown: str) -> list[FieldError]:
    if path in taken:
        return [invalid(at, shown, _CONFLICT_DETAIL)]
    # Paths are compared across all sources of the volume, as their files are written into one directory.
    taken.add(path)
    return []


def _check_key_items(source: ReadOnlyObject, at: str, volume_at: str, taken: set[str]) -> list[FieldError]:
    name = source.get("name", "")
    errors = [] if name else [required(f"{at}.name")]
    for i, item in enumerate(source.get("items", ())):
        errors += check_key_to_path(item, f"{at}.items[{i}]")
        if path := item.get("path"):
            errors += _reserve_path(path, taken, volume_at, name)
    return errors


def _check_downward_files(
    files: Sequence[ReadOnlyObject], at: str, volume_at: str, taken: set[str]
) -> list[FieldError]:
    errors: list[FieldError] = []
    for file in files:
        errors += _check_downward_file(file, at)
        if path := file.get("path"):
            errors += _reserve_path(path, taken, volume_at, path)
    return errors


def _check_service_account_token(
    source: ReadOnlyObject, at: str, volume_at: str, allow_any_path: bool
) -> list[FieldError]:
    seconds, path = source.get("expirationSeconds", 0), source.get("path", "")
    here = f"{at}.expirationSeconds"
    errors = []
    if seconds < _TOKEN_SECONDS_MIN:
        errors.append(invalid(here, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _TOKEN_SECONDS_MAX:
        errors.append(invalid(here, seconds, "may not specify a duration larger than 2^32 seconds"))
    if not path:
        # Upstream reports the token's path at the volume.
        errors.append(required(f"{volume_at}.path"))
    elif not allow_any_path:
        errors += validate_local_non_reserved_path(path, f"{volume_at}.path")
    return errors


def _check_cluster_trust_bundle(source: ReadOnlyObject, at: str, volume_at: str, taken: set[str]) -> list[FieldError]:
    name, signer = source.get("name"), source.get("signerName")
    errors: list[FieldError] = []
    if name is not None and signer is not None:
        shown = to_internal_form("ClusterTrustBundleProjection", source)
        errors.append(invalid(at, shown, "only one of name and signerName may be used"))
    elif name is not None:
        errors += _check_bundle_name(source, at)
    elif signer is not None:
        if not signer:
            errors.append(required(f"{at}.signerName", "must be a valid signer name"))
        errors += validate_signer_name(signer, f"{at}.signerName")
        errors += validate_label_selector(source.get("labelSelector"), f"{at}.labelSelector")
    else:
        errors.append(required(at, "either name or signerName must be specified"))
    path = source.get("path", "")
    if not path:
        errors.append(required(f"{at}.path"))
    errors += validate_local_non_reserved_path(path, f"{at}.path")
    return errors + _reserve_path(path, taken, volume_at, path)


def _check_bundle_name(source: ReadOnlyObject, at: str) -> list[FieldError]:
    name = source["name"]
    errors = [] if name else [required(f"{at}.name", "must be a valid object name")]
    texts = [f"not a valid clustertrustbundlename: {text}" for text in check_trust_bundle_name(name)]
    errors += [invalid(f"{at}.name", name, text) for text in texts]
    if "labelSelector" in source:
        text = "labelSelector must be unset if name is specified"
        errors.append(invalid(f"{at}.labelSelector", order_selector(source["labelSelector"]), text))
    return errors


def _check_pod_certificate(source: ReadOnlyObject, at: str, volume_at: str, taken: set[str]) -> list[FieldError]:
    signer, key_type = source.get("signerName", ""), source.get("keyType", "")
    errors = validate_signer_name(signer, f"{at}.signerName")
    if "userAnnotations" in source:
        errors += validate_user_annotations(source["userAnnotations"], f"{at}.userAnnotations")
    if key_type not in _KEY_TYPES:
        errors.append(not_supported(f"{at}.keyType", key_type, _KEY_TYPES))
    errors += _check_expiration(source.get("maxExpirationSeconds"), f"{at}.maxExpirationSeconds", signer)
    paths = {field: source[field] for field in _CERTIFICATE_PATHS if source.get(field)}
    for field, path in paths.items():
        errors += validate_local_non_reserved_path(path, f"{at}.{field}")
        errors += _reserve_path(path, taken, volume_at, path)
    if not paths:
        text = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(at, text))
    return errors


def _check_expiration(seconds: int | None, at: str, signer: str) -> list[FieldError]:
    if seconds is None:
        return []
    longest = _KUBERNETES_SIGNER_SECONDS_MAX if is_kubernetes_signer(signer) else _CERTIFICATE_SECONDS_MAX
    if seconds < _CERTIFICATE_SECONDS_MIN:
        text = f"if provided, maxExpirationSeconds must be >= {_CERTIFICATE_SECONDS_MIN}"
        return [invalid(at, seconds, text)]
    if seconds > longest:
        return [invalid(at, seconds, f"if provided, maxExpirationSeconds must be <= {longest}")]
    return []


def has_invalid_token_path(volumes: Sequence[ReadOnlyObject]) -> bool:
    """Return whether a stored pod mounts a token at an invalid path."""
    return any(
        validate_local_non_reserved_path(source["serviceAccountToken"].get("path", ""), "")
        for volume in volumes
        for source in volume.get("projected", {}).get("sources") or ()
        if "serviceAccountToken" in source
    )


def validate_token_service_account(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject service account tokens in a pod without a service account."""
    # Only pods are checked: the account of a template is set by admission when a pod is created from it.
    if spec.get("serviceAccountName"):
        return []
    text = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"{at}.volumes[{i}].projected.sources[{j}].serviceAccountToken", text)
        for i, volume in enumerate(spec.get("volumes", ()))
        for j, source in enumerate(volume.get("projected", {}).get("sources") or ())
        if "serviceAccountToken" in source
    ]
