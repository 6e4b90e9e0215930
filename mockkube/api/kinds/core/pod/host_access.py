"""Validate what a pod shares with its host: ports, user namespace, hostname."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateHostUsers, validatePodHostName

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.container_lists import containers_with_paths
from mockkube.api.kinds.core.pod.containers.windows import validate_host_process
from mockkube.api.kinds.core.pod.options import PodValidationOptions

_HOSTNAME_BYTES_MAX: Final = 64
_USER_NAMESPACE_DETAIL: Final = "when `hostUsers` is false"


def validate_host_ports(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    """Require host ports equal to container ports in the host's network."""
    text = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid(f"{at}[{i}].ports[{j}].hostPort", port.get("hostPort", 0), text)
        for i, container in enumerate(spec.get("containers") or ())
        for j, port in enumerate(container.get("ports", ()))
        # A template without host ports is valid: they are defaulted when the pod is created.
        if (options.is_pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort", 0)
    ]


def validate_host_access(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    """Validate HostProcess containers, user namespace and hostname override."""
    errors = validate_host_process(spec, at)
    if spec.get("hostUsers") is False:
        errors += _validate_user_namespace(spec, at, options)
    if "hostnameOverride" in spec:
        errors += _validate_hostname_override(spec, f"{at}.hostnameOverride")
    return errors


def _validate_user_namespace(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    errors = []
    if spec.get("hostNetwork") and not options.host_network_in_user_namespace:
        errors.append(forbidden(f"{at}.hostNetwork", _USER_NAMESPACE_DETAIL))
    if spec.get("hostPID"):
        # The capitals in HostPID and HostIPC are upstream's.
        errors.append(forbidden(f"{at}.HostPID", _USER_NAMESPACE_DETAIL))
    if spec.get("hostIPC"):
        errors.append(forbidden(f"{at}.HostIPC", _USER_NAMESPACE_DETAIL))
    if not options.devices_in_user_namespace:
        paths = [path for container, path in containers_with_paths(spec, at) if "volumeDevices" in container]
        errors += [forbidden(f"{path}.volumeDevices", _USER_NAMESPACE_DETAIL) for path in paths]
    return errors


def _validate_hostname_override(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    name = spec["hostnameOverride"]
    errors = []
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if names.byte_length(name) > _HOSTNAME_BYTES_MAX:
        errors.append(too_long(at, _HOSTNAME_BYTES_MAX))
    return errors + [invalid(at, name, text) for text in names.check_dns_subdomain(name)]
