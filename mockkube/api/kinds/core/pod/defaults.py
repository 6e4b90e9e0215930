"""Defaults of pods and pod templates.

upstream 1.36: pkg/apis/core/v1/defaults.go
"""

from collections.abc import Mapping
from typing import Final

from mockkube.api.bounded_cache import DigestCache, digest_json
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.container_lists import all_containers
from mockkube.api.kinds.core.pod.containers.defaults import default_container
from mockkube.api.kinds.core.pod.volumes.defaults import default_volume
from mockkube.api.quantities.quantity import Quantity, parse
from mockkube.api.quantities.rounding import round_up_resource_list, round_up_resources
from mockkube.features.capabilities import Capabilities

ResourceAmounts = dict[str, Quantity]


def default_pod_level_resources(spec: Object) -> None:
    """Default huge page limits, then requests, of pods with pod-level resources."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, defaultHugePagePodLimits and defaultPodRequests
    resources = spec.get("resources")
    if not resources:
        return
    if resources.get("limits") or resources.get("requests"):
        _default_huge_page_limits(resources, spec)
    if resources.get("limits"):
        _default_pod_level_requests(resources, spec)


def default_pod_level_resources_after_admission(spec: Object) -> None:
    """Default huge page limits, requests and limits of pods with pod-level resources, with all containers known."""
    # upstream 1.37: pkg/api/pod/util.go, DefaultPodLevelResources
    resources = spec.get("resources")
    if not resources or not (resources.get("limits") or resources.get("requests")):
        return
    _default_huge_page_limits(resources, spec)
    _default_pod_level_requests(resources, spec)
    _default_pod_level_limits(resources, spec)


def _default_huge_page_limits(resources: Object, spec: ReadOnlyObject) -> None:
    requested = resources.get("requests", {})
    limits = {
        name: amount.text
        for name, amount in aggregate_container_resources(spec, "limits").items()
        if _is_huge_page(name) and name not in requested
    }
    if limits:
        resources["limits"] = limits | resources.get("limits", {})


def _default_pod_level_requests(resources: Object, spec: ReadOnlyObject) -> None:
    """Default requests to the containers' sum, or to the limit if no container has a request."""
    requests = {
        name: limit
        for name, limit in resources.get("limits", {}).items()
        if _is_compute_resource(name) or _is_huge_page(name)
    }
    for name, amount in aggregate_container_resources(spec, "requests").items():
        if _is_compute_resource(name):
            requests[name] = amount.text
    requests |= resources.get("requests", {})
    if requests:
        resources["requests"] = requests


def _default_pod_level_limits(resources: Object, spec: ReadOnlyObject) -> None:
    """Default limits to the containers' sum if each has one, and at least to the request."""
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    containers = list(all_containers(spec))
    totals = aggregate_container_resources(spec, "limits")
    missing = {
        name: max(totals[name], parse(amount)).text
        for name, amount in requests.items()
        if (_is_compute_resource(name) or _is_huge_page(name)) and name not in limits and name in totals
        if all(name in one.get("resources", {}).get("limits", {}) for one in containers)
    }
    if missing:
        resources["limits"] = limits | missing


def aggregate_container_resources(spec: ReadOnlyObject, which: str) -> ResourceAmounts:
    """Return the sum over regular containers and sidecars, or an init container's need if more."""
    # upstream 1.36: component-helpers/resource/helpers.go, AggregateContainerRequests
    total: ResourceAmounts = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, which))
    sidecars: ResourceAmounts = {}
    peak: ResourceAmounts = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, which)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise_to(peak, sidecars)
        else:
            # An init container runs beside the sidecars that started before it.
            _add(amounts, sidecars)
            _raise_to(peak, amounts)
    _raise_to(total, peak)
    return total


def _amounts(container: ReadOnlyObject, which: str) -> ResourceAmounts:
    return {name: parse(text) for name, text in container.get("resources", {}).get(which, {}).items()}


def _add(total: ResourceAmounts, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: ResourceAmounts, least: Mapping[str, Quantity]) -> None:
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def _is_compute_resource(name: str) -> bool:
    return name in ("cpu", "memory")


def _is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


_INIT_CONTAINER_ANNOTATIONS: Final = frozenset(
    f"pod.{stage}.kubernetes.io/{name}"
    for stage in ("alpha", "beta")
    for name in ("init-containers", "init-container-statuses")
)


def default_template(template: Object, caps: Capabilities) -> None:
    """Default a pod template."""
    drop_init_container_annotations(template.get("metadata", {}))
    default_pod_spec(template.setdefault("spec", {}), caps)


def default_pod_spec(spec: Object, caps: Capabilities) -> None:
    """Default the spec of a pod or pod template."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_PodSpec
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    _sync_service_account(spec)
    for volume in spec.get("volumes", ()):
        default_volume(volume, caps)
    for containers in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(containers) or ():
            default_container(container)
    round_up_resource_list(spec.get("overhead"))
    round_up_resources(spec.get("resources"))


def drop_init_container_annotations(metadata: Object) -> None:
    """Drop annotations of 1.5 and before that described init containers."""
    # upstream 1.36: pkg/apis/core/v1/conversion.go, dropInitContainerAnnotations
    annotations = metadata.get("annotations")
    if annotations and not _INIT_CONTAINER_ANNOTATIONS.isdisjoint(annotations):
        metadata["annotations"] = {
            name: text for name, text in annotations.items() if name not in _INIT_CONTAINER_ANNOTATIONS
        }
        # Go omits an empty map when it writes the object.
        if not metadata["annotations"]:
            del metadata["annotations"]


def _sync_service_account(spec: Object) -> None:
    """Align `serviceAccountName` and the deprecated `serviceAccount`; the former wins."""
    # upstream 1.36: pkg/apis/core/v1/conversion.go (1.37: defaults.go)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


# Specs that have all defaults of a pod.
_COMPLETE_SPECS: Final[DigestCache[bool]] = DigestCache()


def default_pod(pod: Object, caps: Capabilities) -> None:
    """Default requests from limits, host ports, and everything a template gets."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_Pod
    spec = pod.setdefault("spec", {})
    # A stored pod has these, so that an update is probably complete; a new one hardly ever is.
    if "schedulerName" in spec and "enableServiceLinks" in spec:
        digest = digest_json(spec)
        if not _COMPLETE_SPECS.get(digest, caps):
            _default_spec_of_pod(spec, caps)
            if digest_json(spec) == digest:
                _COMPLETE_SPECS.put(digest, caps, True)
    else:
        _default_spec_of_pod(spec, caps)
    drop_init_container_annotations(pod["metadata"])
    if pod.get("status"):
        _default_status(pod["status"])


def _default_spec_of_pod(spec: Object, caps: Capabilities) -> None:
    # Upstream registers these defaults for Pod only: templates keep what their author wrote, and pods made from them
    # get the defaults.
    _default_requests(spec)
    if "resources" in spec and _defaults_pod_level_resources(caps):
        default_pod_level_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    default_pod_spec(spec, caps)
    # A negative grace period was valid once and meant the shortest graceful deletion.
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if caps.enabled("H2CContainerProbe"):
        _default_http_protocols(spec)


def _defaults_pod_level_resources(caps: Capabilities) -> bool:
    """Return whether pod-level defaults apply here; with the second gate (1.37) they follow admission."""
    # LimitRanger fills in container resources during admission, so 1.37 computes pod-level defaults after it.
    return caps.enabled("PodLevelResources") and not caps.enabled("PodLevelResourcesFixDefaulting")


def _default_requests(spec: Object) -> None:
    """Default each missing request to the limit."""
    for containers in ("containers", "initContainers"):
        for container in spec.get(containers) or ():
            resources = container.get("resources")
            if resources and "limits" in resources:
                requests = resources.setdefault("requests", {})
                for name, amount in resources["limits"].items():
                    requests.setdefault(name, amount)


def _default_host_ports(spec: Object) -> None:
    for containers in ("containers", "initContainers"):
        for container in spec.get(containers) or ():
            for port in container.get("ports", ()):
                if port.get("containerPort"):
                    port.setdefault("hostPort", port["containerPort"])


def _default_http_protocols(spec: Object) -> None:
    # upstream 1.37: pkg/apis/core/v1/defaults.go, defaultHTTPProbeProtocol
    for containers in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(containers) or ():
            lifecycle = container.get("lifecycle", {})
            callers = [container.get(probe) for probe in ("livenessProbe", "readinessProbe", "startupProbe")]
            callers += [lifecycle.get(moment) for moment in ("postStart", "preStop")]
            for caller in callers:
                if caller and "httpGet" in caller:
                    caller["httpGet"].setdefault("protocol", "HTTP1")


def _default_status(status: Object) -> None:
    _sync_pod_ips(status)
    for statuses in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(statuses, ()):
            round_up_resource_list(container.get("allocatedResources"))
            round_up_resources(container.get("resources"))
    round_up_resource_list(status.get("allocatedResources"))
    round_up_resources(status.get("resources"))


def _sync_pod_ips(status: Object) -> None:
    """Align `podIP` and `podIPs`; if they differ, `podIP` wins."""
    # upstream 1.36: pkg/apis/core/v1/conversion.go (1.37: defaults.go)
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]
