"""Printers for CertificateSigningRequests, ClusterTrustBundles and PodCertificateRequests."""

from datetime import datetime, timedelta

from mockkube.api.printers.ages import age, human_duration
from mockkube.api.printers.labels import format_labels
from mockkube.api.printers.reading import name_of, number, section, sections, string, value_at
from mockkube.api.printers.table import AGE, NAME, NONE, Cell, Printer, text_column
from mockkube.api.types import ReadOnlyObject

_SIGNER = text_column("SignerName", "Who is to sign.")
_OUTCOMES = ("Issued", "Denied", "Failed")


def signing_request_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a CertificateSigningRequest."""
    seconds = value_at(obj, "spec", "expirationSeconds")
    return [
        name_of(obj),
        age(obj, now),
        string(obj, "spec", "signerName") or NONE,
        string(obj, "spec", "username"),
        NONE if seconds is None else human_duration(timedelta(seconds=number(obj, "spec", "expirationSeconds"))),
        _progress(obj),
    ]


def _progress(obj: ReadOnlyObject) -> str:
    """Return the decision, denials first, and whether a certificate was issued."""
    kinds = {string(found, "type") for found in sections(obj, "status", "conditions")}
    words = [next((kind for kind in ("Denied", "Approved") if kind in kinds), "Pending")]
    if "Failed" in kinds:
        words.append("Failed")
    if string(obj, "status", "certificate"):
        words.append("Issued")
    return ",".join(words)


def trust_bundle_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ClusterTrustBundle."""
    return [name_of(obj), string(obj, "spec", "signerName") or NONE]


def pod_request_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PodCertificateRequest; the last of its exclusive conditions counts."""
    kinds = [string(found, "type") for found in sections(obj, "status", "conditions")]
    outcomes = [kind for kind in kinds if kind in _OUTCOMES]
    return [
        name_of(obj),
        *[string(obj, "spec", key) for key in ("podName", "serviceAccountName", "nodeName", "signerName")],
        outcomes[-1] if outcomes else "Pending",
        format_labels(section(obj, "spec", "unverifiedUserAnnotations")),
    ]


CERTIFICATE_SIGNING_REQUEST = Printer(
    (
        NAME,
        AGE,
        _SIGNER,
        text_column("Requestor", "Who asks."),
        text_column("RequestedDuration", "How long the certificate is to be valid."),
        text_column("Condition", "What has become of the request."),
    ),
    signing_request_cells,
)
CLUSTER_TRUST_BUNDLE = Printer((NAME, _SIGNER), trust_bundle_cells)
POD_CERTIFICATE_REQUEST = Printer(
    (
        NAME,
        text_column("PodName", "The pod it is for."),
        text_column("ServiceAccountName", "The account of that pod."),
        text_column("NodeName", "The node of that pod."),
        _SIGNER,
        text_column("State", "What has become of the request."),
        text_column("UnverifiedUserAnnotations", "What the pod adds, unchecked."),
    ),
    pod_request_cells,
)
