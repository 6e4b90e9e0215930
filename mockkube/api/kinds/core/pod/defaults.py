"""Defaults of Pods beyond those of a template."""

from mockkube.api.defaults.pod_level_resources import default_pod_level_resources
from mockkube.api.defaults.pod_specs import default_pod_spec, drop_old_annotations
from mockkube.api.defaults.resource_lists import round_up, round_up_resources
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities


def default_pod(pod: Object, caps: Capabilities) -> None:
    """Fill in requests from limits, host ports, and everything a template gets."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go, SetDefaults_Pod
    spec = pod.setdefault("spec", {})
    _default_requests(spec)
    if "resources" in spec and _fills_in_pod_level_resources(caps):
        default_pod_level_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    default_pod_spec(spec, caps)
    drop_old_annotations(pod["metadata"])
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if caps.enabled("H2CContainerProbe"):
        _default_http_protocols(spec)
    if pod.get("status"):
        _default_status(pod["status"])


def _fills_in_pod_level_resources(caps: Capabilities) -> bool:
    """Return whether pod-level defaults apply here; with the second gate (1.37) they follow admission."""
    return caps.enabled("PodLevelResources") and not caps.enabled("PodLevelResourcesFixDefaulting")


def _default_requests(spec: Object) -> None:
    """Default missing requests to the limits, resource by resource."""
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
    _match_addresses(status)
    for statuses in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(statuses, ()):
            round_up(container.get("allocatedResources"))
            round_up_resources(container.get("resources"))
    round_up(status.get("allocatedResources"))
    round_up_resources(status.get("resources"))


def _match_addresses(status: Object) -> None:
    """Align `podIP` and `podIPs`; if they differ, `podIP` wins."""
    # upstream 1.36: pkg/apis/core/v1/conversion.go (1.37: defaults.go)
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]
