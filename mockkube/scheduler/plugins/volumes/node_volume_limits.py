"""NodeVolumeLimits plugin: filter nodes on which a CSI driver cannot attach more volumes.

upstream 1.36: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.features.versions import Version
from mockkube.matching.csi_migration import is_migrated_on, migration_of, migration_of_plugin, volume_handle
from mockkube.matching.volumes import storage_class_of
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.interface import (
    CycleState,
    FilterPlugin,
    PluginDependencies,
    PreFilterPlugin,
    PreFilterResult,
)
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status
from mockkube.scheduler.plugins.volumes.pod_claims import (
    concerns_claim_of,
    has_volume_claims,
    named_volume_claims,
    ownership_error,
    pod_volume_claims,
)

SCALING_GATE: Final = "VolumeLimitScaling"

_EXCEEDED: Final = "node(s) exceed max volume count"


class AttachedVolume(NamedTuple):
    """Volume as its driver identifies it."""

    driver: str
    handle: str


class VolumesUnknown(Exception):
    """Raised when a pod's volumes cannot be determined; it carries the status to return."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin):
    """Filters nodes on which the pod's volumes would exceed the limit of a CSI driver."""

    name = "NodeVolumeLimits"

    def __init__(self, dependencies: PluginDependencies, arguments: ReadOnlyObject) -> None:
        informers, version = dependencies.informers, dependencies.caps.version
        self._claims = informers.informer_for("PersistentVolumeClaim")
        self._volumes = informers.informer_for("PersistentVolume")
        self._classes = informers.informer_for("StorageClass")
        self._csi_nodes = informers.informer_for("CSINode")
        self._drivers = informers.informer_for("CSIDriver")
        self._attachments_by_node = informers.informer_for("VolumeAttachment").index("node", _node_of)
        # Before 1.36 a plugin counts as migrated only if the CSINode says so.
        self._checks_csi_node_migration = version < Version(1, 36)
        self._checks_drivers = dependencies.caps.enabled(SCALING_GATE)
        self._drivers_opt_in = version >= Version(1, 36)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for raised limits, deleted pods and attachments, and new claims."""
        return (
            ClusterEventWithHint(EventResource.CSI_NODE, ActionType.ADD),
            ClusterEventWithHint(EventResource.CSI_NODE, ActionType.UPDATE, _is_schedulable_after_csi_node_update),
            ClusterEventWithHint(EventResource.ASSIGNED_POD, ActionType.DELETE, _is_schedulable_after_pod_deleted),
            ClusterEventWithHint(EventResource.UNSCHEDULED_POD, ActionType.DELETE, _is_schedulable_after_pod_deleted),
            ClusterEventWithHint(EventResource.PVC, ActionType.ADD, concerns_claim_of),
            ClusterEventWithHint(
                EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, _is_schedulable_after_attachment_deleted
            ),
        )

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Skip pods without volumes to attach."""
        return PreFilterResult() if pod_volume_claims(pod) or _migrated_inline_volumes(pod) else PreFilterResult(SKIP)

    def skips_pre_filter(self, spec: ReadOnlyObject) -> bool:
        """Return whether the pod has no volumes to attach."""
        return not has_volume_claims(spec) and not _find_migrated_inline_volumes(spec)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Count the attached volumes by driver, each volume once."""
        csi_node = self._csi_nodes.get(Key("", node.name))
        try:
            wanted = set(self._volumes_of_pod(pod, csi_node, new=True))
            if missing := self._missing_driver(wanted, csi_node):
                return Status.unschedulable(f"{missing} CSI driver is not installed on the node", driver=missing)
            limits = _limits(csi_node)
            # Reading the volumes of all other pods is expensive and useless here.
            if not wanted or not limits:
                return SUCCESS
            used = {
                one for other in _pods_with_volumes(node) for one in self._volumes_of_pod(other, csi_node, new=False)
            }
        except VolumesUnknown as refused:
            return refused.status
        # Pods count before their volumes are attached, attachments until the volumes are detached.
        present = used | self._attached_volumes(node)
        return _check_limits(
            Counter(one.driver for one in wanted - used), Counter(one.driver for one in present), limits
        )

    def _attached_volumes(self, node: NodeInfo) -> set[AttachedVolume]:
        """Return the volumes attached to the node, used by a pod or not."""
        present = set()
        for attachment in self._attachments_by_node.get(node.name):
            spec = attachment["spec"]
            volume = self._volumes.get(Key("", (spec.get("source") or {}).get("persistentVolumeName", "")))
            csi = (volume["spec"].get("csi") if volume else None) or {}
            if spec.get("attacher") and csi:
                present.add(AttachedVolume(spec["attacher"], csi.get("volumeHandle", "")))
        return present

    def _volumes_of_pod(self, pod: PodInfo, csi_node: ReadOnlyObject | None, *, new: bool) -> Iterator[AttachedVolume]:
        """Return the volumes of a pod; raise VolumesUnknown if a claim is missing or belongs to another pod."""
        for claimed in pod_volume_claims(pod):
            claim = self._claims.get(claimed.key)
            if claim is None:
                # A missing claim of a running pod must not block other pods.
                if new:
                    missing = f'looking up PVC {claimed.key}: persistentvolumeclaim "{claimed.key.name}" not found'
                    raise VolumesUnknown(Status.unresolvable(missing, claim=str(claimed.key)))
                continue
            if claimed.generated and (why := ownership_error(pod, claim)):
                raise VolumesUnknown(Status.error(why))
            attachment = self._volume_of_claim(claim, csi_node)
            if attachment is not None and all(attachment):
                yield attachment
        for volume in _migrated_inline_volumes(pod):
            migration = migration_of(volume)
            if migration is not None and migration.known_to_scheduler and self._is_migrated(migration.plugin, csi_node):
                yield AttachedVolume(migration.driver, _inline_volume_handle(volume))

    def _volume_of_claim(self, claim: ReadOnlyObject, csi_node: ReadOnlyObject | None) -> AttachedVolume | None:
        volume = self._volumes.get(Key("", claim["spec"].get("volumeName", "")))
        if volume is None:
            return self._unbound_volume(claim, csi_node)
        if (csi := volume["spec"].get("csi")) is not None:
            return AttachedVolume(csi.get("driver", ""), csi.get("volumeHandle", ""))
        migration = migration_of(volume["spec"])
        if migration is None or not migration.known_to_scheduler or not self._is_migrated(migration.plugin, csi_node):
            return None
        try:
            labels = volume["metadata"].get("labels") or {}
            return AttachedVolume(migration.driver, volume_handle(migration, volume["spec"][migration.source], labels))
        except ValueError:
            return None

    def _unbound_volume(self, claim: ReadOnlyObject, csi_node: ReadOnlyObject | None) -> AttachedVolume | None:
        """Return a placeholder volume for an unbound claim, of the driver that will provision it."""
        storage_class = self._classes.get(Key("", storage_class_of(claim)))
        if storage_class is None:
            return None
        provisioner = storage_class.get("provisioner", "")
        metadata = claim["metadata"]
        name = f"unbound {metadata['namespace']}/{metadata['name']}"
        migration = migration_of_plugin(provisioner)
        if migration is None:
            return AttachedVolume(provisioner, name)
        return (
            AttachedVolume(migration.driver, name)
            if migration.known_to_scheduler and self._is_migrated(provisioner, csi_node)
            else None
        )

    def _is_migrated(self, plugin: str, csi_node: ReadOnlyObject | None) -> bool:
        migration = migration_of_plugin(plugin)
        if csi_node is None or migration is None:
            return False
        return not self._checks_csi_node_migration or is_migrated_on(csi_node, migration)

    def _missing_driver(self, wanted: set[AttachedVolume], csi_node: ReadOnlyObject | None) -> str:
        """Return a required driver that the node does not have; empty if there is none."""
        if not self._checks_drivers:
            return ""
        installed = {driver["name"] for driver in (csi_node or {"spec": {}})["spec"].get("drivers") or ()}
        for name in sorted({one.driver for one in wanted} - installed):
            driver = self._drivers.get(Key("", name))
            if driver is None:
                continue
            if not self._drivers_opt_in or driver["spec"].get("preventPodSchedulingIfMissing"):
                return name
        return ""


def _node_of(attachment: ReadOnlyObject) -> tuple[str, ...]:
    return (attachment["spec"].get("nodeName", ""),)


def _pods_with_volumes(node: NodeInfo) -> list[PodInfo]:
    """Return the pods on a node that may have volumes to attach."""
    return node.derive(
        NodeVolumeLimits,
        lambda node: [pod for pod in node.pods.values() if pod_volume_claims(pod) or _migrated_inline_volumes(pod)],
    )


def _migrated_inline_volumes(pod: PodInfo) -> tuple[ReadOnlyObject, ...]:
    """Return the pod's inline volumes of plugins that migrated to CSI."""
    return pod.derive_from_spec(NodeVolumeLimits, _find_migrated_inline_volumes)


def _find_migrated_inline_volumes(spec: ReadOnlyObject) -> tuple[ReadOnlyObject, ...]:
    return tuple(volume for volume in spec.get("volumes") or () if migration_of(volume) is not None)


def _inline_volume_handle(volume: ReadOnlyObject) -> str:
    migration = migration_of(volume)
    assert migration is not None, "only migrated volumes have a handle"
    try:
        return volume_handle(migration, volume[migration.source])
    except ValueError as error:
        raise VolumesUnknown(Status.error(f"converting volume({volume['name']}) from inline to csi: {error}")) from None


def _limits(csi_node: ReadOnlyObject | None) -> Mapping[str, int]:
    if csi_node is None:
        return {}
    return {
        driver["name"]: driver["allocatable"]["count"]
        for driver in csi_node["spec"].get("drivers") or ()
        if "count" in (driver.get("allocatable") or {})
    }


def _check_limits(wanted: Counter[str], present: Counter[str], limits: Mapping[str, int]) -> Status:
    for driver, count in sorted(wanted.items()):
        if driver in limits and present[driver] + count > limits[driver]:
            facts = {"driver": driver, "attached": present[driver], "wanted": count, "limit": limits[driver]}
            return Status.unschedulable(_EXCEEDED, **facts)
    return SUCCESS


def _is_schedulable_after_csi_node_update(pod: PodInfo, event: ClusterEvent) -> bool:
    before, after = _limit_counts(event.old), _limit_counts(event.new)
    return any(count > before.get(driver, 0) for driver, count in after.items())


def _limit_counts(csi_node: ReadOnlyObject | None) -> Mapping[str, int]:
    if csi_node is None:
        return {}
    drivers = csi_node["spec"].get("drivers") or ()
    return {driver["name"]: (driver.get("allocatable") or {}).get("count", 0) for driver in drivers}


def _is_schedulable_after_pod_deleted(pod: PodInfo, event: ClusterEvent) -> bool:
    """Return whether the deleted pod had volumes on a node, bound or nominated."""
    deleted = event.old or event.new
    if deleted is None:
        return False
    other = PodInfo(deleted)
    return bool(other.node_name or other.nominated_node) and bool(
        pod_volume_claims(other) or _migrated_inline_volumes(other)
    )


def _is_schedulable_after_attachment_deleted(pod: PodInfo, event: ClusterEvent) -> bool:
    attachment = event.old or event.new
    if named_volume_claims(pod) or attachment is None:
        return bool(named_volume_claims(pod))
    drivers = {
        migration.driver for volume in _migrated_inline_volumes(pod) if (migration := migration_of(volume)) is not None
    }
    return attachment["spec"].get("attacher", "") in drivers
