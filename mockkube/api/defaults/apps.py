"""Defaults of workloads: replicas and update strategies."""

from mockkube.api.defaults.claims import default_claim
from mockkube.api.defaults.pod_specs import default_template
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

# upstream 1.36: pkg/apis/apps/v1/defaults.go

_REVISIONS = 10


def default_deployment(deployment: Object, caps: Capabilities) -> None:
    """Default to one replica and a rolling update of a quarter at a time."""
    spec = deployment.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    default_template(spec.setdefault("template", {}), caps)


def default_replica_set(replica_set: Object, caps: Capabilities) -> None:
    """Default to one replica."""
    spec = replica_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.setdefault("template", {}), caps)


def default_daemon_set(daemon_set: Object, caps: Capabilities) -> None:
    """Default to a rolling update of one pod at a time."""
    spec = daemon_set.setdefault("spec", {})
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    default_template(spec.setdefault("template", {}), caps)


def default_stateful_set(stateful_set: Object, caps: Capabilities) -> None:
    """Default to one replica, ordered updates and retained claims."""
    spec = stateful_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", _REVISIONS)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    _default_update_strategy(spec.setdefault("updateStrategy", {}), caps)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    default_template(spec.setdefault("template", {}), caps)
    for claim in spec.get("volumeClaimTemplates", ()):
        # upstream 1.36: pkg/apis/apps/v1/conversion.go
        claim.update(apiVersion="v1", kind="PersistentVolumeClaim")
        default_claim(claim, caps)


def _default_update_strategy(strategy: Object, caps: Capabilities) -> None:
    """Fill in a rolling update; a strategy named without details keeps none."""
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
        if caps.enabled("MaxUnavailableStatefulSet"):
            strategy["rollingUpdate"].setdefault("maxUnavailable", 1)
