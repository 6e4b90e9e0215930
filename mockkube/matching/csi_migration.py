"""CSI migration: translates in-tree volume sources to the CSI drivers that replace them.

upstream 1.36: csi-translation-lib/plugins, scheduler/framework/plugins/volumebinding/binder.go
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

# Annotation of a CSINode that lists the plugins migrated on that node.
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"

_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_ZONE_DELIMITER: Final = "__"
_UNSPECIFIED: Final = "UNSPECIFIED"
_AWS_VOLUME: Final = re.compile(r"vol-[^/]*")


@dataclass(frozen=True, slots=True)
class Migration:
    """An in-tree plugin and the CSI driver that replaces it; the scheduler ignores it unless `known_to_scheduler`."""

    source: str
    plugin: str
    driver: str
    zone_key: str = ""
    known_to_scheduler: bool = True


_MIGRATIONS: Final = (
    Migration("awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    Migration("gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    Migration("cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"),
    Migration("azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com"),
    Migration("portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com"),
    Migration("azureFile", "kubernetes.io/azure-file", "file.csi.azure.com", known_to_scheduler=False),
    Migration("vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", known_to_scheduler=False),
)
_BY_PLUGIN: Final = {takeover.plugin: takeover for takeover in _MIGRATIONS}


def migration_of(source: ReadOnlyObject) -> Migration | None:
    """Return the migration of a pod's volume or a PersistentVolume's spec; None if it is not migrated."""
    return next((takeover for takeover in _MIGRATIONS if takeover.source in source), None)


def migration_of_plugin(plugin: str) -> Migration | None:
    """Return the migration of a plugin name, which storage classes use as provisioner."""
    return _BY_PLUGIN.get(plugin)


def is_migrated_on(csi_node: ReadOnlyObject | None, migration: Migration) -> bool:
    """Return whether the plugin is migrated on the node of this CSINode."""
    annotations = {} if csi_node is None else csi_node["metadata"].get("annotations") or {}
    return migration.plugin in annotations.get(MIGRATED_PLUGINS, "").split(",")


def volume_handle(migration: Migration, source: ReadOnlyObject, labels: Mapping[str, str] | None = None) -> str:
    """Return the driver's volume handle; raise ValueError if the volume cannot be migrated.

    `source` is a pod's volume, or the spec of a PersistentVolume with these labels.
    """
    match migration.source:
        case "awsElasticBlockStore":
            return _aws_volume_handle(source.get("volumeID", ""))
        case "gcePersistentDisk":
            return _gce_volume_handle(source.get("pdName", ""), labels or {})
        case "azureDisk":
            if (kind := source.get("kind", "Managed")).lower() != "managed":
                raise ValueError(f"kind({kind}) is not supported in csi migration")
            return str(source.get("diskURI", ""))
    return str(source.get("volumeID", ""))


def _aws_volume_handle(text: str) -> str:
    if not text.startswith("aws://"):
        return text
    name = urlsplit(text).path.strip("/")
    if not _AWS_VOLUME.fullmatch(name):
        raise ValueError(f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({text})")
    return name


def _gce_volume_handle(disk: str, labels: Mapping[str, str]) -> str:
    zones = (labels.get(_BETA_ZONE) or labels.get(_ZONE) or "").split(_ZONE_DELIMITER)
    # Several zones in one label mean a regional disk.
    if len(zones) > 1:
        return f"projects/{_UNSPECIFIED}/regions/{_gce_region(zones)}/disks/{disk}"
    return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{disk}"


def _gce_region(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            text = f"zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            raise ValueError(f"failed to get region from zones: {text}")
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        raise ValueError(f"failed to get region from zones: multiple or no regions gotten from zones, got: {zones}")
    return regions.pop()


def translate_topology(volume: ReadOnlyObject, migration: Migration) -> ReadOnlyObject:
    """Return a PersistentVolume with the driver's topology keys; other fields are not translated."""
    if not migration.zone_key:
        return volume
    terms = _node_selector_terms(volume)
    zone, region = _topology_keys(volume, terms)
    renamed = {zone: migration.zone_key, **({region: _REGION} if region == _BETA_REGION else {})}
    if any(requirement.get("values") for requirement in _requirements(terms) if requirement["key"] == zone):
        terms = [_rename_keys(term, renamed) for term in terms]
    else:
        # Without zones in the affinity they come from the label, which older provisioners set; the zone key is then
        # added, not renamed.
        terms = [_rename_keys(term, {**renamed, zone: zone}) for term in terms]
        if zones := _zones_from_label(volume, zone):
            # Each term gets the zones, because terms are alternatives; without terms a new one is added.
            terms = [_add_zones(term, migration.zone_key, zones) for term in terms or [{}]]
    if not terms:
        return volume
    affinity = {"required": {"nodeSelectorTerms": terms}}
    return {**volume, "spec": {**volume["spec"], "nodeAffinity": affinity}}


def _node_selector_terms(volume: ReadOnlyObject) -> list[Object]:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required") or {}
    return list(required.get("nodeSelectorTerms") or ())


def _requirements(terms: list[Object]) -> Iterator[Object]:
    for term in terms:
        yield from term.get("matchExpressions") or ()


def _topology_keys(volume: ReadOnlyObject, terms: list[Object]) -> tuple[str, str]:
    """Return the zone and region keys that the volume uses: in its affinity, else in its labels."""
    labels = volume["metadata"].get("labels") or {}
    for names in ({one["key"] for one in _requirements(terms)}, labels):
        if _ZONE in names:
            return _ZONE, _REGION
        if _BETA_ZONE in names:
            return _BETA_ZONE, _BETA_REGION
    return _ZONE, _REGION


def _rename_keys(term: Object, names: Mapping[str, str]) -> Object:
    expressions: list[dict[str, Any]] = term.get("matchExpressions") or []
    if not expressions:
        return term
    return {**term, "matchExpressions": [{**one, "key": names.get(one["key"], one["key"])} for one in expressions]}


def _zones_from_label(volume: ReadOnlyObject, name: str) -> list[str]:
    text = (volume["metadata"].get("labels") or {}).get(name, "")
    return sorted({zone.strip() for zone in text.split(_ZONE_DELIMITER)} - {""})


def _add_zones(term: Object, key: str, zones: list[str]) -> Object:
    added = {"key": key, "operator": "In", "values": zones}
    return {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), added]}
