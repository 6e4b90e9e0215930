"""Which fields an endpoint writes: through the others nobody comes to manage anything.

A status subresource does not write the spec, and the object itself not its status; upstream calls what a strategy
puts back its reset fields.
"""

# upstream 1.36: GetResetFields and GetResetFieldsFilter in pkg/registry/*/*/strategy.go

from dataclasses import dataclass
from typing import Final, Protocol

from mockkube.api.managed_fields.field_set import FieldSet, Path


class Reach(Protocol):
    """The fields an endpoint writes."""

    def within(self, fields: FieldSet) -> FieldSet:
        """Leave out what is beyond it."""


@dataclass(frozen=True, slots=True)
class AllBut:
    """Everything except some fields and what is beneath them."""

    unreached: FieldSet

    def within(self, fields: FieldSet) -> FieldSet:
        """Leave out what is beyond it."""
        return fields.without(self.unreached)


def _all_but(*paths: Path) -> AllBut:
    return AllBut(FieldSet.of(*paths))


_SPEC: Final = ("f:spec",)
_STATUS: Final = ("f:status",)
_METADATA: Final = ("f:metadata",)

EVERYTHING: Final = _all_but()
_OBJECT: Final = _all_but(_STATUS)
_STATUS_OF_OBJECT: Final = _all_but(_SPEC)
_NOTHING_BUT_STATUS: Final = _all_but(_SPEC, _METADATA)

_WITHOUT_METADATA: Final = frozenset(
    (
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("apiregistration.k8s.io", "APIService"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("internal.apiserver.k8s.io", "StorageVersion"),
        ("networking.k8s.io", "ServiceCIDR"),
        ("resource.k8s.io", "DeviceTaintRule"),
        ("resource.k8s.io", "ResourceClaim"),
        ("resource.k8s.io", "ResourcePoolStatusRequest"),
        ("scheduling.k8s.io", "PodGroup"),
        ("storage.k8s.io", "VolumeAttachment"),
        ("storagemigration.k8s.io", "StorageVersionMigration"),
    )
)
"""The kinds whose status subresource writes no metadata either, as that of custom resources."""

_CERTIFICATE_REQUEST: Final = ("certificates.k8s.io", "CertificateSigningRequest")
_OWN: Final[dict[tuple[str, str, str], Reach]] = {
    ("", "Namespace", "finalize"): _OBJECT,
    ("", "Pod", "status"): _all_but(_SPEC, ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")),
    ("apps", "Deployment", "status"): _all_but(_SPEC, ("f:metadata", "f:labels")),
    (*_CERTIFICATE_REQUEST, ""): _all_but(_SPEC, _STATUS),
    (*_CERTIFICATE_REQUEST, "status"): _all_but(_SPEC, ("f:status", "f:conditions")),
    (*_CERTIFICATE_REQUEST, "approval"): _all_but(_SPEC, ("f:status", "f:certificate")),
}


def reach(group: str, kind: str, subresource: str = "", *, custom: bool = False) -> Reach:
    """Return what is written through an endpoint; `custom` tells custom resources from built-in kinds."""
    own = _OWN.get((group, kind, subresource))
    if own is not None:
        return own
    match subresource:
        case "":
            return _OBJECT
        case "status":
            return _NOTHING_BUT_STATUS if custom or (group, kind) in _WITHOUT_METADATA else _STATUS_OF_OBJECT
        case _:
            return EVERYTHING
