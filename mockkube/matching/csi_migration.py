"""Volume sources of old that CSI drivers have taken over: which driver, which handle, which topology.

upstream 1.36: csi-translation-lib/plugins, scheduler/framework/plugins/volumebinding/binder.go
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from mockkube.api.types import Object, ReadOnlyObject

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
"""The annotation of a CSINode that lists the plugins taken over on that node."""

_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_ZONE_DELIMITER: Final = "__"
_UNSPECIFIED: Final = "UNSPECIFIED"
_AWS_VOLUME: Final = re.compile(r"vol-[^/]*")


@dataclass(frozen=True, slots=True)
class Takeover:
    """A source of old and its heir. The scheduler reckons only with those that have `begun`."""

    source: str
    plugin: str
    driver: str
    zone_key: str = ""
    begun: bool = True


_TAKEOVERS: Final = (
    Takeover("awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    Takeover("gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    Takeover("cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"),
    Takeover("azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com"),
    Takeover("portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com"),
    Takeover("azureFile", "kubernetes.io/azure-file", "file.csi.azure.com", begun=False),
    Takeover("vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", begun=False),
)
_BY_PLUGIN: Final = {takeover.plugin: takeover for takeover in _TAKEOVERS}


def takeover_of(source: ReadOnlyObject) -> Takeover | None:
    """Return who takes over the source in a pod's volume or a PersistentVolume's spec; None if nobody."""
    return next((takeover for takeover in _TAKEOVERS if takeover.source in source), None)


def takeover_of_plugin(plugin: str) -> Takeover | None:
    """Return who takes over a plugin, which is also how storage classes call it as provisioner."""
    return _BY_PLUGIN.get(plugin)


def taken_over_on(csi_node: ReadOnlyObject | None, takeover: Takeover) -> bool:
    """Whether the plugin has been taken over on the node that the CSINode describes."""
    annotations = {} if csi_node is None else csi_node["metadata"].get("annotations") or {}
    return takeover.plugin in annotations.get(MIGRATED_PLUGINS, "").split(",")


def handle(takeover: Takeover, source: ReadOnlyObject, labels: Mapping[str, str] | None = None) -> str:
    """Return the handle by which the driver calls the volume; ValueError if it cannot take it over.

    `source` is what stands in a pod's volume, or in the spec of a PersistentVolume with these labels.
    """
    match takeover.source:
        case "awsElasticBlockStore":
            return _aws_id(source.get("volumeID", ""))
        case "gcePersistentDisk":
            return _google_id(source.get("pdName", ""), labels or {})
        case "azureDisk":
            if (kind := source.get("kind", "Managed")).lower() != "managed":
                raise ValueError(f"kind({kind}) is not supported in csi migration")
            return str(source.get("diskURI", ""))
    return str(source.get("volumeID", ""))


def _aws_id(text: str) -> str:
    if not text.startswith("aws://"):
        return text
    name = urlsplit(text).path.strip("/")
    if not _AWS_VOLUME.fullmatch(name):
        raise ValueError(f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({text})")
    return name


def _google_id(disk: str, labels: Mapping[str, str]) -> str:
    zones = (labels.get(_BETA_ZONE) or labels.get(_ZONE) or "").split(_ZONE_DELIMITER)
    if len(zones) > 1:
        return f"projects/{_UNSPECIFIED}/regions/{_google_region(zones)}/disks/{disk}"
    return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{disk}"


def _google_region(zones: list[str]) -> str:
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


def translated(volume: ReadOnlyObject, takeover: Takeover) -> ReadOnlyObject:
    """Return a PersistentVolume with its zones as the driver names them; what else changes, nobody here reads."""
    if not takeover.zone_key:
        return volume
    terms = _terms(volume)
    zone, region = _names_used(volume, terms)
    renamed = {zone: takeover.zone_key, **({region: _REGION} if region == _BETA_REGION else {})}
    if any(requirement.get("values") for requirement in _requirements(terms) if requirement["key"] == zone):
        terms = [_renamed(term, renamed) for term in terms]
    else:
        terms = [_renamed(term, {**renamed, zone: zone}) for term in terms]
        if zones := _label_zones(volume, zone):
            terms = [_with_zones(term, takeover.zone_key, zones) for term in terms or [{}]]
    if not terms:
        return volume
    affinity = {"required": {"nodeSelectorTerms": terms}}
    return {**volume, "spec": {**volume["spec"], "nodeAffinity": affinity}}


def _terms(volume: ReadOnlyObject) -> list[Object]:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required") or {}
    return list(required.get("nodeSelectorTerms") or ())


def _requirements(terms: list[Object]) -> Iterator[Object]:
    for term in terms:
        yield from term.get("matchExpressions") or ()


def _names_used(volume: ReadOnlyObject, terms: list[Object]) -> tuple[str, str]:
    """Return the names of zone and region that the volume goes by: in its affinity, else in its labels."""
    labels = volume["metadata"].get("labels") or {}
    for names in ({one["key"] for one in _requirements(terms)}, labels):
        if _ZONE in names:
            return _ZONE, _REGION
        if _BETA_ZONE in names:
            return _BETA_ZONE, _BETA_REGION
    return _ZONE, _REGION


def _renamed(term: Object, names: Mapping[str, str]) -> Object:
    expressions: list[dict[str, Any]] = term.get("matchExpressions") or []
    if not expressions:
        return term
    return {**term, "matchExpressions": [{**one, "key": names.get(one["key"], one["key"])} for one in expressions]}


def _label_zones(volume: ReadOnlyObject, name: str) -> list[str]:
    text = (volume["metadata"].get("labels") or {}).get(name, "")
    return sorted({zone.strip() for zone in text.split(_ZONE_DELIMITER)} - {""})


def _with_zones(term: Object, key: str, zones: list[str]) -> Object:
    added = {"key": key, "operator": "In", "values": zones}
    return {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), added]}
