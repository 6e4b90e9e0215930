"""Defaults of PersistentVolumeClaims: alone, in ephemeral volumes and as templates of a StatefulSet."""

from mockkube.api.defaults.resource_lists import round_up, round_up_resources
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities


def default_claim(claim: Object, caps: Capabilities) -> None:
    """Default to a file system volume and phase Pending."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_PersistentVolumeClaim
    status = claim.setdefault("status", {})
    status.setdefault("phase", "Pending")
    round_up(status.get("capacity"))
    round_up(status.get("allocatedResources"))
    default_claim_spec(claim.setdefault("spec", {}))


def default_claim_spec(spec: Object) -> None:
    """Fill in the spec."""
    spec.setdefault("volumeMode", "Filesystem")
    round_up_resources(spec.get("resources"))
