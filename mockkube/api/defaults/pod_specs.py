"""Defaults of pod specs, in pods and templates."""

from typing import Final

from mockkube.api.defaults.containers import default_container
from mockkube.api.defaults.resource_lists import round_up, round_up_resources
from mockkube.api.kinds.core.pod.volumes.defaults import default_volume
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

_OLD_ANNOTATIONS: Final = frozenset(
    f"pod.{stage}.kubernetes.io/{name}"
    for stage in ("alpha", "beta")
    for name in ("init-containers", "init-container-statuses")
)


def default_template(template: Object, caps: Capabilities) -> None:
    """Fill in a pod template."""
    drop_old_annotations(template.get("metadata", {}))
    default_pod_spec(template.setdefault("spec", {}), caps)


def default_pod_spec(spec: Object, caps: Capabilities) -> None:
    """Fill in the spec of a pod or a template."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_PodSpec
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    _match_service_account(spec)
    for volume in spec.get("volumes", ()):
        default_volume(volume, caps)
    for containers in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(containers) or ():
            default_container(container)
    round_up(spec.get("overhead"))
    round_up_resources(spec.get("resources"))


def drop_old_annotations(metadata: Object) -> None:
    """Drop the annotations that once described init containers."""
    # upstream 1.36: pkg/apis/core/v1/conversion.go, dropInitContainerAnnotations
    annotations = metadata.get("annotations")
    if annotations and not _OLD_ANNOTATIONS.isdisjoint(annotations):
        metadata["annotations"] = {name: text for name, text in annotations.items() if name not in _OLD_ANNOTATIONS}
        if not metadata["annotations"]:
            del metadata["annotations"]


def _match_service_account(spec: Object) -> None:
    """Align `serviceAccountName` and the deprecated `serviceAccount`; the former wins."""
    # upstream 1.36: pkg/apis/core/v1/conversion.go (1.37: defaults.go)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
