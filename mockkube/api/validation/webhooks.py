"""Validation of webhook clients: a URL, or a service in the cluster."""

from typing import Final
from urllib.parse import urlsplit

from mockkube.api import names
from mockkube.api.fields import FieldError, find_duplicate_indexes, invalid, required
from mockkube.api.json_objects import ReadOnlyObject

_FORM: Final = "; desired format: https://host[/path]"


def validate_client_config(client: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate a client configuration, which has either a URL or a service."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(at, "exactly one of url or service is required")]
    return _validate_url(url, f"{at}.url") if url is not None else _validate_service(service or {}, f"{at}.service")


def _validate_url(url: str, at: str) -> list[FieldError]:
    # upstream 1.36: apiserver/pkg/util/webhook/validation.go
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [required(at, f"url must be a valid URL: {error}{_FORM}")]
    errors = []
    user, _, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        errors.append(invalid(at, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not host:
        errors.append(invalid(at, host, f"host must be specified{_FORM}"))
    if user:
        errors.append(invalid(at, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(at, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(at, parts.query, "query parameters are not permitted in the URL"))
    return errors


def _validate_service(service: ReadOnlyObject, at: str) -> list[FieldError]:
    # upstream quirk: a missing namespace is reported for the name, and the other way around.
    pairs = (("name", "namespace"), ("namespace", "name"))
    errors = [required(f"{at}.{blamed}") for blamed, looked_at in pairs if not service.get(looked_at)]
    port = service.get("port", 0)
    wrong = names.check_port_number(port)
    if wrong:
        errors.append(invalid(f"{at}.port", port, f"port is not valid: {', '.join(wrong)}"))
    path = service.get("path")
    return errors if path in (None, "", "/") else errors + _validate_path(str(path), f"{at}.path")


def _validate_path(path: str, at: str) -> list[FieldError]:
    if path == "//":
        return [invalid(at, path, "segment[0] may not be empty")]
    errors = [] if path.startswith("/") else [invalid(at, path, "must start with a '/'")]
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        messages = names.check_dns_subdomain(step) if step else []
        if not step:
            errors.append(invalid(at, path, f"segment[{index}] may not be empty"))
        errors += [invalid(at, path, f"segment[{index}]: {message}") for message in messages]
    return errors


def validate_review_versions(versions: list[str], at: str, *, missing: str, recognized: bool) -> list[FieldError]:
    """Validate the review versions of a webhook; with `recognized`, one of them must be supported here."""
    if not versions:
        return [required(at, missing)]
    errors: list[FieldError] = []
    repeated = find_duplicate_indexes(versions)
    for index, version in enumerate(versions):
        if index in repeated:
            errors.append(invalid(f"{at}[{index}]", version, "duplicate version"))
        else:
            errors += [invalid(f"{at}[{index}]", version, text) for text in names.check_dns1035_label(version)]
    if recognized and not has_recognized_version(versions):
        errors.append(invalid(at, versions, "must include at least one of v1, v1beta1"))
    return errors


def has_recognized_version(versions: list[str]) -> bool:
    """Return whether one of the versions is supported."""
    return "v1" in versions or "v1beta1" in versions
