"""PodCertificateRequest: defaults and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.certificates.signer_names import SIGNER_COLUMN
from mockkube.api.printers.accessors import name_of, section, sections, string
from mockkube.api.printers.labels import format_labels
from mockkube.api.printers.table import NAME_COLUMN, Cell, Printer, text_column
from mockkube.features.capabilities import Capabilities


def default_pod_certificate_request(request: Object, caps: Capabilities) -> None:
    """Default the maximum expiration to one day."""
    # upstream 1.36: pkg/apis/certificates/v1beta1/zz_generated.defaults.go
    request.setdefault("spec", {}).setdefault("maxExpirationSeconds", 24 * 60 * 60)


_OUTCOMES = ("Issued", "Denied", "Failed")


def pod_request_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PodCertificateRequest; its conditions are mutually exclusive."""
    kinds = [string(condition, "type") for condition in sections(obj, "status", "conditions")]
    outcomes = [kind for kind in kinds if kind in _OUTCOMES]
    return [
        name_of(obj),
        *[string(obj, "spec", key) for key in ("podName", "serviceAccountName", "nodeName", "signerName")],
        outcomes[-1] if outcomes else "Pending",
        format_labels(section(obj, "spec", "unverifiedUserAnnotations")),
    ]


POD_CERTIFICATE_REQUEST = Printer(
    (
        NAME_COLUMN,
        text_column("PodName", "The pod that the certificate is for."),
        text_column("ServiceAccountName", "The service account of the pod."),
        text_column("NodeName", "The node of the pod."),
        SIGNER_COLUMN,
        text_column("State", "Outcome of the request."),
        text_column("UnverifiedUserAnnotations", "Annotations of the pod that nothing has verified."),
    ),
    pod_request_cells,
)

KIND: Final = Kind(
    "certificates.k8s.io",
    "PodCertificateRequest",
    "podcertificaterequests",
    versions=("v1", "v1beta1", "v1alpha1"),
    gate="PodCertificateRequest",
    subresources=(STATUS,),
    defaults=dict.fromkeys(("v1", "v1beta1", "v1alpha1"), default_pod_certificate_request),
    printer=POD_CERTIFICATE_REQUEST,
)
