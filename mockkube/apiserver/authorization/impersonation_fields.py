"""Validate the extra fields of an impersonated user."""

# upstream 1.36: apiserver/pkg/endpoints/filters/impersonation/mode.go, validateExtra
import re
from collections.abc import Mapping
from typing import Final

from mockkube.api import names
from mockkube.api.errors import aggregate_messages
from mockkube.api.fields import FieldError, invalid, quote

_EXTRA_PATH_PATTERN: Final = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
_EXTRA_PATH: Final = re.compile(_EXTRA_PATH_PATTERN)
_EXTRA_KEY: Final = "extra.key"


def find_extra_error(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Return the error text for the first invalid entry; empty if all are valid."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if errors := _validate_extra_key(key):
            return f"impersonating an invalid key in extra is not allowed: {aggregate_messages(errors)}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _validate_extra_key(key: str) -> list[FieldError]:
    host, slash, path = key.partition("/")
    if not (host and slash and path):
        return [invalid(_EXTRA_KEY, key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(_EXTRA_KEY, host, text) for text in names.check_dns_subdomain(host)]
    if not _EXTRA_PATH.fullmatch(path):
        why = f"Invalid path (regex used for validation is '{_EXTRA_PATH_PATTERN}')"
        errors.append(invalid(_EXTRA_KEY, path, why))
    return errors
