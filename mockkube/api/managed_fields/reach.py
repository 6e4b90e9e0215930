"""Fields that a resource or subresource writes (upstream: reset fields of strategies).

The status subresource does not write the spec, and the main resource not the status, so a write through one of them
makes nobody the manager of the others.
"""

# upstream 1.36: GetResetFields and GetResetFieldsFilter in pkg/registry/*/*/strategy.go

from dataclasses import dataclass
from typing import Final, Protocol

from mockkube.api.managed_fields.field_set import FieldSet, Path


class Reach(Protocol):
    """Filter of the fields that a resource or subresource writes."""

    def within(self, fields: FieldSet) -> FieldSet:
        """Return the fields that are written."""


@dataclass(frozen=True, slots=True)
class AllBut:
    """Filter of everything except some fields and what is below them."""

    unreached: FieldSet

    def within(self, fields: FieldSet) -> FieldSet:
        """Return the fields without the excluded ones."""
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

# Kinds whose status subresource does not write metadata either, like that of custom resources.
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
    """Return the filter of a resource or subresource; `custom`: of a custom resource."""
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
