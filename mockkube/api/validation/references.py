"""Validation of references: signers, trust bundles, annotations for signers."""

# upstream 1.36: pkg/apis/core/validation/names.go

from collections.abc import Mapping
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, quote, required, too_long
from mockkube.api.validation.metadata import validate_annotations_size

_SIGNER_BYTES_MAX: Final = 2 * names.SUBDOMAIN_LENGTH_MAX + names.LABEL_LENGTH_MAX + 2


def is_kubernetes_signer(name: str) -> bool:
    """Return whether the signer is one of Kubernetes' own."""
    host = name.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


def validate_signer_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a signer: a domain and a path."""
    if not name:
        return [required(at)]
    if name.count("/") != 1:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(at, name, text)]
    domain, _, path = name.partition("/")
    found = []
    if names.byte_length(domain) > names.SUBDOMAIN_LENGTH_MAX:
        found.append(too_long(at, names.SUBDOMAIN_LENGTH_MAX))
    found += _validate_part(domain, at, subdomains=False)
    if "." not in domain:
        found.append(invalid(at, domain, "should be a domain with at least two segments separated by dots"))
    found += _validate_part(path, at, subdomains=True)
    if names.byte_length(name) > _SIGNER_BYTES_MAX:
        found.append(too_long(at, _SIGNER_BYTES_MAX))
    return found


def _validate_part(part: str, at: str, *, subdomains: bool) -> list[FieldError]:
    """Validate the labels of a part up to the first bad one."""
    for label in part.split("."):
        if texts := names.check_dns_subdomain(label) if subdomains else names.check_dns_label(label):
            return [invalid(at, part, f"validating label {quote(label)}: {text}") for text in texts]
    return []


def check_trust_bundle_name(name: str) -> list[str]:
    """Check the name of a ClusterTrustBundle, which may begin with its signer's name."""
    return names.check_dns_subdomain(name.rpartition(":")[2])


def validate_user_annotations(annotations: Mapping[str, str], at: str) -> list[FieldError]:
    """Validate annotations that a pod passes to a signer: their keys need a domain."""
    found: list[FieldError] = []
    for key in annotations:
        found += _validate_prefixed_key(key.lower(), at)
    return found + validate_annotations_size(annotations, at)


def _validate_prefixed_key(key: str, at: str) -> list[FieldError]:
    if not key:
        return [required(at)]
    if texts := names.check_qualified_name(key):
        return [invalid(at, key, text) for text in texts]
    if "/" not in key:
        return [invalid(at, key, 'must be a domain-prefixed key (such as "acme.io/foo")')]
    return []
