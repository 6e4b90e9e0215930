"""Facts of the release notes that no schema shows: what an object means for a version, by the release that changes it.

upstream: CHANGELOG-1.34.md to CHANGELOG-1.37.md
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml

from mockkube.api.decoding import bounded_yaml
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.importing.component_gates import load_kubelet_config
from mockkube.lazy_dataclasses import dataclass
from mockkube.rehearse.findings import Finding, Severity, Topic, name_object
from mockkube.rehearse.upgrade import Upgrade

# Systems whose default is cgroup v1.
_CGROUP_V1: Final = re.compile(
    r"Amazon Linux 2\b(?!0)|Ubuntu (?:18|20)\.|CentOS Linux 7|Red Hat Enterprise Linux (?:Server )?[78]\b|"
    r"Debian GNU/Linux (?:9|10)\b|Container-Optimized OS .*(?:8|9)\d"
)


@dataclass(frozen=True, slots=True)
class ReleaseNote:
    """Change of a release that affects some objects: `applies` returns the affected field, or nothing."""

    since: Version
    kinds: tuple[str, ...]
    applies: Callable[[ReadOnlyObject, Upgrade], str]
    severity: Severity
    topic: Topic
    text: str
    remedy: str


def check_release_notes(upgrade: Upgrade) -> Iterator[Finding]:
    """Yield what the releases between the versions change for the objects."""
    notes = [note for note in RELEASE_NOTES if upgrade.version < note.since <= upgrade.to]
    for obj in upgrade.objects if notes else ():
        for note in notes:
            if obj["kind"] in note.kinds and (field := note.applies(obj, upgrade)):
                yield Finding(
                    note.severity,
                    note.topic,
                    f"{note.text} (since {note.since})",
                    note.remedy,
                    kind=obj["kind"],
                    field=field,
                    objects=(name_object(obj),),
                )


_TEMPLATES: Final = (
    "Pod",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "ReplicationController",
)


def _pod_spec(obj: ReadOnlyObject) -> ReadOnlyObject:
    spec: Any = obj.get("spec") or {}
    if obj["kind"] == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    return spec if obj["kind"] == "Pod" else ((spec.get("template") or {}).get("spec") or {})


def _uses_git_repo(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    return "spec.volumes" if any("gitRepo" in one for one in _pod_spec(obj).get("volumes") or ()) else ""


def _is_static_with_references(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    if obj["metadata"].get("annotations", {}).get("kubernetes.io/config.mirror") is None:
        return ""
    spec = obj.get("spec") or {}
    volumes = [
        one for one in spec.get("volumes") or () if {"configMap", "secret", "persistentVolumeClaim"} & one.keys()
    ]
    environment = [one for container in spec.get("containers") or () for one in container.get("envFrom") or ()]
    return "spec.volumes" if volumes else "spec.containers.envFrom" if environment else ""


def _runs_on_cgroup_v1(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    config_maps = (one for one in upgrade.list_kind("ConfigMap") if one["metadata"]["name"] == "kubelet-config")
    if any((load_kubelet_config(one) or {}).get("failCgroupV1") is False for one in config_maps):
        return ""
    image = ((obj.get("status") or {}).get("nodeInfo") or {}).get("osImage") or ""
    return "status.nodeInfo.osImage" if _CGROUP_V1.search(image) else ""


def _is_portworx(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    if "portworxVolume" not in (obj.get("spec") or {}):
        return ""
    drivers = {one["metadata"]["name"] for one in upgrade.list_kind("CSIDriver")}
    return "" if "pxd.portworx.com" in drivers else "spec.portworxVolume"


def _is_flex_volume(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    return "spec.flexVolume" if "flexVolume" in (obj.get("spec") or {}) else ""


def _is_old_kubeadm_config(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    if obj["metadata"]["name"] != "kubeadm-config":
        return ""
    return "data" if "kubeadm.k8s.io/v1beta3" in str(obj.get("data")) else ""


def _uses_ipvs(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    return "data" if _find_proxy_mode(obj) == "ipvs" else ""


def _has_no_proxy_mode(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    return "data" if _find_proxy_mode(obj) == "" else ""


def _find_proxy_mode(obj: ReadOnlyObject) -> str | None:
    """Return the mode of kube-proxy; None if this is not its ConfigMap."""
    if obj["metadata"]["name"] != "kube-proxy":
        return None
    try:
        loaded = bounded_yaml.load((obj.get("data") or {}).get("config.conf") or "")
    except yaml.YAMLError:
        return None
    return str(loaded.get("mode") or "") if isinstance(loaded, dict) else None


def _has_zero_event_rate(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    if obj["metadata"]["name"] != "kubelet-config":
        return ""
    return "eventRecordQPS" if (load_kubelet_config(obj) or {}).get("eventRecordQPS") == 0 else ""


def _reads_app_armor_annotations(obj: ReadOnlyObject, upgrade: Upgrade) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    return next((key for key in annotations if key.startswith("container.apparmor.security.beta")), "")


BREAKS, CHANGES = Severity.BREAKS, Severity.CHANGES
RELEASE_NOTES: Final = (
    ReleaseNote(Version(1, 34), ("Pod",), _is_static_with_references, BREAKS, Topic.NODE,
                "the kubelet refuses static pods that refer to API objects", "use host paths in its manifest"),
    ReleaseNote(Version(1, 34), ("Pod",), _reads_app_armor_annotations, CHANGES, Topic.DEFAULT,
                "AppArmor profiles are no longer copied to annotations", "read securityContext.appArmorProfile"),
    ReleaseNote(Version(1, 35), ("Node",), _runs_on_cgroup_v1, BREAKS, Topic.NODE,
                "the kubelet does not start on cgroup v1, the default of this system (failCgroupV1)",
                "move the nodes to an image with cgroup v2, or set failCgroupV1: false"),
    ReleaseNote(Version(1, 35), ("ConfigMap",), _uses_ipvs, CHANGES, Topic.WARNING,
                "mode ipvs of kube-proxy is deprecated", "use nftables"),
    ReleaseNote(Version(1, 36), _TEMPLATES, _uses_git_repo, BREAKS, Topic.NODE,
                "kubelets do not mount gitRepo volumes any more, and no gate brings them back",
                "clone in an init container"),
    ReleaseNote(Version(1, 36), ("PersistentVolume",), _is_portworx, BREAKS, Topic.NODE,
                "Portworx volumes need the CSI driver pxd.portworx.com, which is not installed",
                "install the CSI driver"),
    ReleaseNote(Version(1, 36), ("PersistentVolume",), _is_flex_volume, CHANGES, Topic.WARNING,
                "kubeadm no longer mounts the directory of flex-volume plugins into the controller manager",
                "use a CSI driver"),
    ReleaseNote(Version(1, 37), ("ConfigMap",), _is_old_kubeadm_config, BREAKS, Topic.COMPONENT,
                "kubeadm does not read its configuration of v1beta3",
                "kubeadm config migrate, with kubeadm 1.35 or 1.36"),
    ReleaseNote(Version(1, 37), ("ConfigMap",), _has_no_proxy_mode, CHANGES, Topic.WARNING,
                "kube-proxy warns without a mode: the default will become nftables", "set mode: iptables or nftables"),
    ReleaseNote(Version(1, 37), ("ConfigMap",), _has_zero_event_rate, CHANGES, Topic.DEFAULT,
                "eventRecordQPS: 0 means unlimited, no longer the default of 50", "set eventRecordQPS: 50"),
)  # fmt: skip
