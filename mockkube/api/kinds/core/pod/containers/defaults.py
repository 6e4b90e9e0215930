"""Defaults of containers."""

from mockkube.api.json_objects import Object
from mockkube.api.kinds.core.pod.containers.images import default_pull_policy
from mockkube.api.quantities.rounding import round_up_resources


def default_container(container: Object) -> None:
    """Default a regular, init or ephemeral container."""
    # upstream 1.36: pkg/apis/core/v1/defaults.go and zz_generated.defaults.go (which lists what is visited)
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        if "valueFrom" in variable:
            _default_value_source(variable["valueFrom"])
    round_up_resources(container.get("resources"))
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            _default_probe(container[name])
    if "lifecycle" in container:
        _default_lifecycle(container["lifecycle"])


def default_field_reference(item: Object) -> None:
    """Default the apiVersion of a fieldRef."""
    if "fieldRef" in item:
        item["fieldRef"].setdefault("apiVersion", "v1")


def _default_value_source(source: Object) -> None:
    default_field_reference(source)
    if "fileKeyRef" in source:
        source["fileKeyRef"].setdefault("optional", False)


def _default_probe(probe: Object) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if "httpGet" in probe:
        _default_http_get(probe["httpGet"])
    if "grpc" in probe:
        grpc = probe["grpc"]
        if grpc.get("service") is None:  # written as null when not given
            grpc["service"] = ""


def _default_lifecycle(lifecycle: Object) -> None:
    for moment in ("postStart", "preStop"):
        handler = lifecycle.get(moment)
        if handler and "httpGet" in handler:
            _default_http_get(handler["httpGet"])


def _default_http_get(action: Object) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")
