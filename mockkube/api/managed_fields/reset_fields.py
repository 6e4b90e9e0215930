"""Fields that a resource or subresource writes (upstream: reset fields of strategies).

The status subresource does not write the spec, and the main resource not the status, so a write through one of them
makes nobody the manager of the others.
"""

# upstream 1.36: GetResetFields and GetResetFieldsFilter in pkg/registry/*/*/strategy.go

from typing import Final, Protocol

from mockkube.api.managed_fields.field_set import FieldSet, Path
from mockkube.lazy_dataclasses import dataclass


class FieldFilter(Protocol):
    """Filter of the fields that a resource or subresource writes."""

    def filter_fields(self, fields: FieldSet) -> FieldSet:
        """Return the fields that are written."""


@dataclass(frozen=True, slots=True)
class ExcludeFilter:
    """Filter of everything except some fields and what is below them."""

    excluded: FieldSet

    def filter_fields(self, fields: FieldSet) -> FieldSet:
        """Return the fields without the excluded ones."""
        return fields.recursive_difference(self.excluded)


def _exclude(*paths: Path) -> ExcludeFilter:
    return ExcludeFilter(FieldSet.from_paths(*paths))


_SPEC: Final = ("f:spec",)
_STATUS: Final = ("f:status",)
_METADATA: Final = ("f:metadata",)

ALL_FIELDS: Final = _exclude()
_WITHOUT_STATUS: Final = _exclude(_STATUS)
_WITHOUT_SPEC: Final = _exclude(_SPEC)
_STATUS_ONLY: Final = _exclude(_SPEC, _METADATA)

# Kinds whose status subresource does not write metadata either, like that of custom resources.
_STATUS_WITHOUT_METADATA: Final = frozenset(
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
_SPECIAL_FILTERS: Final[dict[tuple[str, str, str], FieldFilter]] = {
    ("", "Namespace", "finalize"): _WITHOUT_STATUS,
    ("", "Pod", "status"): _exclude(_SPEC, ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")),
    ("apps", "Deployment", "status"): _exclude(_SPEC, ("f:metadata", "f:labels")),
    (*_CERTIFICATE_REQUEST, ""): _exclude(_SPEC, _STATUS),
    (*_CERTIFICATE_REQUEST, "status"): _exclude(_SPEC, ("f:status", "f:conditions")),
    (*_CERTIFICATE_REQUEST, "approval"): _exclude(_SPEC, ("f:status", "f:certificate")),
}


def get_field_filter(group: str, kind: str, subresource: str = "", *, custom: bool = False) -> FieldFilter:
    """Return the filter of a resource or subresource; `custom`: of a custom resource."""
    own = _SPECIAL_FILTERS.get((group, kind, subresource))
    if own is not None:
        return own
    match subresource:
        case "":
            return _WITHOUT_STATUS
        case "status":
            return _STATUS_ONLY if custom or (group, kind) in _STATUS_WITHOUT_METADATA else _WITHOUT_SPEC
        case _:
            return ALL_FIELDS
