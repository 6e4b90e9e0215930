"""What a controller manager is told by flags, with upstream's defaults.

upstream 1.36: cmd/kube-controller-manager/app/options
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from mockkube.features.versions import Version

_LONGER_GRACE: Final = Version(1, 32)
"""From here on a node may be silent for 50 s instead of 40 s."""


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """When a node counts as lost, and how fast its pods go then."""

    monitor_period_seconds: float = 5.0
    monitor_grace_seconds: float = 50.0
    startup_grace_seconds: float = 60.0
    eviction_rate: float = 0.1
    """Nodes per second that are tainted in a zone."""
    secondary_eviction_rate: float = 0.01
    """The same in a large zone of which many nodes are lost."""
    unhealthy_zone_threshold: float = 0.55
    large_cluster_size: int = 50


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of a controller manager that make a difference here."""

    controllers: Sequence[str] = ("*",)
    """`*` for all that are on by default, `foo` on, `-foo` off; the first that names a controller counts."""
    nodes: NodeOptions = field(default_factory=NodeOptions)
    requests_per_second: float = 200.0
    """How fast each controller may ask the API server in the long run; zero: as fast as it can."""
    # differs: ten times upstream's 20 and 30, so that nobody waits for a mock; loops are as bounded as there
    requests_burst: int = 300
    terminated_pods_max: int = 12500
    """How many finished pods are kept; zero: all."""
    volume_sync_seconds: float = 15.0
    default_storage_class: str = ""
    """The name of a default storage class of the fake provisioner, made at the start; empty: none is made."""
    quota_sync_seconds: float = 300.0
    garbage_collection: bool = True
    signing_certificate: str = ""
    """The file of the authority that signs certificates; empty: none are signed."""
    signing_key: str = ""
    signing_seconds: float = 365 * 24 * 3600.0
    """How long a certificate lasts at the most."""

    @classmethod
    def of(cls, version: Version) -> Self:
        """Return the defaults of a version."""
        return cls(nodes=NodeOptions(monitor_grace_seconds=50.0 if version >= _LONGER_GRACE else 40.0))
