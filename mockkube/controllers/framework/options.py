"""Options of the controller manager, with upstream's defaults.

upstream 1.36: cmd/kube-controller-manager/app/options
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Final, Self

from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

# From this version on --node-monitor-grace-period is 50 s by default instead of 40 s.
_LONGER_GRACE: Final = Version(1, 32)


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """Options of the node lifecycle controller: when nodes are lost, and how fast they are tainted."""

    monitor_period_seconds: float = 5.0
    monitor_grace_seconds: float = 50.0
    startup_grace_seconds: float = 60.0
    # Nodes tainted per second in a healthy zone.
    eviction_rate: float = 0.1
    # Nodes tainted per second in a large zone with many lost nodes.
    secondary_eviction_rate: float = 0.01
    unhealthy_zone_threshold: float = 0.55
    large_cluster_size: int = 50


@dataclass(frozen=True, slots=True)
class AutoscalingOptions:
    """Options of the horizontal pod autoscaler (upstream: --horizontal-pod-autoscaler-*)."""

    sync_seconds: float = 15.0
    # Time for which the highest recommendation counts when scaling down.
    downscale_stabilization_seconds: float = 300.0
    # Deviation of usage from target that changes nothing.
    tolerance: float = 0.1
    # Time after the start of a pod during which its CPU usage may be that of the start.
    cpu_initialization_seconds: float = 300.0
    # Time after the start of a pod during which a change to unready is its first readiness.
    initial_readiness_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Options:
    """Flags of the controller manager that have an effect here."""

    # `*` enables all defaults, `foo` enables, `-foo` disables; the first entry that names a controller wins.
    controllers: Sequence[str] = ("*",)
    nodes: NodeOptions = field(default_factory=NodeOptions)
    autoscaling: AutoscalingOptions = field(default_factory=AutoscalingOptions)
    # Sustained request rate of each controller; zero for no limit.
    requests_per_second: float = 200.0
    # differs: ten times upstream's 20 and 30, so that nobody waits for a mock; loops are as bounded as there
    requests_burst: int = 300
    # Number of finished pods that are kept; zero keeps all.
    terminated_pods_max: int = 12500
    volume_sync_seconds: float = 15.0
    # Name of the default storage class that the fake provisioner creates at the start; empty creates none.
    default_storage_class: str = ""
    quota_sync_seconds: float = 300.0
    garbage_collection: bool = True
    # File with the certificate of the signing authority; empty signs nothing.
    signing_certificate: str = ""
    signing_key: str = ""
    # Longest validity of a signed certificate.
    signing_seconds: float = 365 * 24 * 3600.0

    @classmethod
    def for_version(cls, version: Version) -> Self:
        """Return the default options of a version."""
        return cls(nodes=NodeOptions(monitor_grace_seconds=50.0 if version >= _LONGER_GRACE else 40.0))
