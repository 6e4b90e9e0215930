"""CertificateSigningRequests: state, rules of the built-in signers, retention, rate limits."""

# upstream 1.36: pkg/apis/certificates/helpers.go, pkg/controller/certificates/signer, .../cleaner,
# .../certificate_controller.go
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.runtime.clock import Clock
from mockkube.runtime.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
)

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"
KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
CLIENT: Final = "kubernetes.io/kube-apiserver-client"
LEGACY_UNKNOWN: Final = "kubernetes.io/legacy-unknown"

_NODES: Final = ["system:nodes"]
_NODE_PREFIX: Final = "system:node:"
_SERVING_USAGES: Final = ("digital signature", "key encipherment", "server auth")
_CLIENT_USAGES: Final = ("client auth", "digital signature", "key encipherment")
_RETENTION: Final = timedelta(hours=1)
_RETENTION_PENDING: Final = timedelta(hours=24)
# First delay after a failure.
_FIRST_SECONDS: Final = 0.2


def conditions(csr: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    """Return the conditions of a request."""
    found: Sequence[ReadOnlyObject] = (csr.get("status") or {}).get("conditions") or ()
    return found


def is_decided(csr: ReadOnlyObject) -> bool:
    """Return whether a request was approved or denied."""
    return any(one["type"] in ("Approved", "Denied") for one in conditions(csr))


def is_approved(csr: ReadOnlyObject) -> bool:
    """Return whether a request was approved and not denied."""
    return {"Approved"} == {one["type"] for one in conditions(csr)} & {"Approved", "Denied"}


def has_failed(csr: ReadOnlyObject) -> bool:
    """Return whether the signer failed on a request."""
    return any(one["type"] == "Failed" and one.get("status", "True") == "True" for one in conditions(csr))


def is_issued(csr: ReadOnlyObject) -> bool:
    """Return whether a request has its certificate."""
    return bool((csr.get("status") or {}).get("certificate"))


def validate_for_signer(signer: str, request: "CertificateSigningRequest", usages: Sequence[str]) -> str | None:
    """Return why a built-in signer rejects a request; None if it signs it."""
    match signer:
        case "kubernetes.io/kubelet-serving":
            return _validate_kubelet_serving_csr(request, usages)
        case "kubernetes.io/kube-apiserver-client-kubelet":
            return validate_kubelet_client_csr(request, usages)
        case "kubernetes.io/kube-apiserver-client":
            return _validate_client_usages(usages)
        case _:
            return None


def validate_kubelet_client_csr(request: "CertificateSigningRequest", usages: Sequence[str]) -> str | None:
    """Return why a request is not a kubelet's request for its own client certificate."""
    from mockkube.api.kinds.certificates.certificate_signing_request import (  # slow to import: loads cryptography
        subject_common_name,
        subject_organizations,
    )

    if subject_organizations(request) != _NODES:
        return "subject organization is not system:nodes"
    names = alternative_names(request)
    for kind in ("DNS", "Email", "IP", "URI"):
        if names[kind]:
            return f"{kind} subjectAltNames are not allowed"
    if not subject_common_name(request).startswith(_NODE_PREFIX):
        return "subject common name does not begin with system:node:"
    return _validate_usages(usages, _CLIENT_USAGES)


def _validate_kubelet_serving_csr(request: "CertificateSigningRequest", usages: Sequence[str]) -> str | None:
    """Return why a request is not a kubelet's request for its own serving certificate."""
    from mockkube.api.kinds.certificates.certificate_signing_request import subject_common_name, subject_organizations

    if subject_organizations(request) != _NODES:
        return "subject organization is not system:nodes"
    names = alternative_names(request)
    if not names["DNS"] and not names["IP"]:
        return "DNS or IP subjectAltName is required"
    for kind in ("Email", "URI"):
        if names[kind]:
            return f"{kind} subjectAltNames are not allowed"
    if (wrong := _validate_usages(usages, _SERVING_USAGES)) is not None:
        return wrong
    if not subject_common_name(request).startswith(_NODE_PREFIX):
        return "subject common name does not begin with system:node:"
    return None


def _validate_usages(usages: Sequence[str], needed: Sequence[str]) -> str | None:
    """Return why the usages are not those needed; "key encipherment" is optional."""
    # Keys on elliptic curves cannot encipher, so clients leave this usage out for them.
    if {*usages} | {"key encipherment"} == {*needed}:
        return None
    return f"usages did not match [{' '.join(needed)}]"


def _validate_client_usages(usages: Sequence[str]) -> str | None:
    for usage in usages:
        if usage not in _CLIENT_USAGES:
            return f"invalid usage for client certificate: {usage}"
    return None if "client auth" in usages else "missing required usage for client certificate: client auth"


def alternative_names(request: "CertificateSigningRequest") -> dict[str, list[str]]:
    """Return the subject alternative names of a request, by kind."""
    from cryptography import x509

    kinds: dict[type[x509.GeneralName], str] = {
        x509.DNSName: "DNS",
        x509.RFC822Name: "Email",
        x509.IPAddress: "IP",
        x509.UniformResourceIdentifier: "URI",
    }
    found: dict[str, list[str]] = {kind: [] for kind in kinds.values()}
    try:
        extension = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return found
    for name in extension.value:
        if (kind := kinds.get(type(name))) is not None:
            found[kind].append(str(name.value))
    return found


def deletion_time(csr: ReadOnlyObject) -> datetime | None:
    """Return when a request may be deleted; None if never."""
    return min(_deletion_times(csr), default=None)


def _deletion_times(csr: ReadOnlyObject) -> Iterator[datetime]:
    """Yield the times after which conditions, age or expiry allow the deletion."""
    decisions = conditions(csr)
    if not decisions:
        yield parse_time(csr["metadata"]["creationTimestamp"]) + _RETENTION_PENDING
    for one in decisions:
        # Without a time the age of the decision is unknown, so upstream never deletes for it.
        if not (at := one.get("lastUpdateTime")):
            continue
        if one["type"] in ("Denied", "Failed"):
            yield parse_time(at) + _RETENTION
        elif one["type"] == "Approved":
            yield parse_time(at) + (_RETENTION if is_issued(csr) else _RETENTION_PENDING)
    if is_issued(csr) and any(one["type"] == "Approved" for one in decisions):
        yield from _certificate_expiry(csr["status"]["certificate"])


def _certificate_expiry(certificate: str) -> Iterator[datetime]:
    """Yield the end of an issued certificate, if it can be parsed."""
    from base64 import b64decode

    from cryptography import x509

    try:
        yield x509.load_pem_x509_certificates(b64decode(certificate))[0].not_valid_after_utc
    except ValueError:
        return


def csr_rate_limiter(clock: Clock) -> RateLimiter:
    """Return the rate limiter for failed requests."""
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(_FIRST_SECONDS), BucketRateLimiter(clock))
