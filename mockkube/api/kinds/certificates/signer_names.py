"""Validate signer names, which have the form `domain/path`."""

from collections.abc import Callable

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, quote, required, too_long
from mockkube.api.printers.table import text_column

SIGNER_NAME_LENGTH_MAX = names.SUBDOMAIN_LENGTH_MAX * 2 + names.LABEL_LENGTH_MAX + 2


def validate_signer_name(name: str, at: str) -> list[FieldError]:
    """Validate a signer name."""
    # upstream 1.36: pkg/apis/core/validation/names.go
    if not name:
        return [required(at)]
    if name.count("/") != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(at, name, detail)]
    domain, path = name.split("/")
    errors = [too_long(at, names.SUBDOMAIN_LENGTH_MAX)] if len(domain) > names.SUBDOMAIN_LENGTH_MAX else []
    errors += _validate_parts(domain, at, names.check_dns_label)
    if "." not in domain:
        detail = "should be a domain with at least two segments separated by dots"
        errors.append(invalid(at, domain, detail))
    errors += _validate_parts(path, at, names.check_dns_subdomain)
    return [*errors, too_long(at, SIGNER_NAME_LENGTH_MAX)] if len(name) > SIGNER_NAME_LENGTH_MAX else errors


def _validate_parts(text: str, at: str, rule: Callable[[str], list[str]]) -> list[FieldError]:
    """Report the first part that the rule rejects."""
    for part in text.split("."):
        messages = rule(part)
        if messages:
            return [invalid(at, text, f"validating label {quote(part)}: {each}") for each in messages]
    return []


SIGNER_COLUMN = text_column("SignerName", "The signer.")
