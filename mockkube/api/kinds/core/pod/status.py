"""Validate updates of a pod's status."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidatePodStatusUpdate

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, forbidden, internal, invalid, not_supported, required, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.annotations import validate_pod_annotations_update
from mockkube.api.kinds.core.pod.containers.resources import is_native_resource
from mockkube.api.kinds.core.pod.options import PodValidationOptions, is_feature_enabled
from mockkube.api.quantities.quantity import parse
from mockkube.api.validation.addresses import is_ipv6, parse_ip, validate_ip_for_legacy_field
from mockkube.api.validation.internal_form import to_internal_form
from mockkube.api.validation.metadata import validate_immutable
from mockkube.features.capabilities import Capabilities

_SYSTEM_CONDITIONS: Final = ("PodScheduled", "Ready", "Initialized")
_HEALTH_STATES: Final = ("Healthy", "Unhealthy", "Unknown")
_MESSAGE_BYTES_MAX: Final = 1024
_IMAGE_REF_BYTES_MAX: Final = 256
_RESTARTED_DETAIL: Final = "may not be transitioned to non-terminated state"
_STATUS_LISTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_NONNEGATIVE_DETAIL: Final = "must be a non-negative integer"


def validate_pod_status(
    new: ReadOnlyObject, old: ReadOnlyObject, options: PodValidationOptions, caps: Capabilities
) -> list[FieldError]:
    """Validate a change of a pod's status."""
    spec, status, before = new.get("spec", {}), new.get("status", {}), old.get("status", {})
    errors = validate_pod_annotations_update(new, old, options)
    errors += _validate_conditions(status.get("conditions", ()))
    # The strategy restores the spec before validation, so this cannot happen through the API.
    if spec.get("nodeName") != old.get("spec", {}).get("nodeName"):
        errors.append(forbidden("status.nodeName", "may not be changed directly"))
    errors += _validate_nominated_node(status, old, caps)
    if status.get("observedGeneration", 0) < 0:
        errors.append(invalid("status.observedGeneration", status["observedGeneration"], _NONNEGATIVE_DETAIL))
    errors += validate_immutable(status.get("qosClass", ""), before.get("qosClass", ""), "status.qosClass")
    for kind in _STATUS_LISTS:
        errors += _validate_no_restart(kind, status, before, old.get("spec", {}), options)
    errors += _validate_claim_statuses(status, spec)
    errors += _validate_extended_claim(status, spec)
    errors += _validate_allocatable_claims(status, spec)
    errors += _validate_addresses(status, before, "podIPs", options)
    errors += _validate_host_addresses(status, before, options)
    return errors + _validate_container_statuses(status, spec, options)


def _validate_conditions(conditions: Sequence[ReadOnlyObject]) -> list[FieldError]:
    errors = []
    for i, condition in enumerate(conditions):
        here, kind = f"status.conditions[{i}]", condition.get("type", "")
        generation = condition.get("observedGeneration", 0)
        if generation < 0:
            errors.append(invalid(f"{here}.observedGeneration", generation, _NONNEGATIVE_DETAIL))
        if kind not in _SYSTEM_CONDITIONS:
            errors += [invalid(f"{here}.Type", kind, text) for text in names.check_qualified_name(kind)]
    return errors


def _validate_nominated_node(status: ReadOnlyObject, old: ReadOnlyObject, caps: Capabilities) -> list[FieldError]:
    at, name = "status.nominatedNodeName", status.get("nominatedNodeName", "")
    # An unchanged name is not validated again: older servers accepted any text.
    if not name or name == old.get("status", {}).get("nominatedNodeName"):
        return []
    errors = [invalid(at, name, text) for text in names.check_dns_subdomain(name)]
    if old.get("spec", {}).get("nodeName") and is_feature_enabled(caps, "ClearingNominatedNodeNameAfterBinding"):
        errors.append(forbidden(at, "may not be set on pods that are already bound to a node"))
    return errors


def _validate_no_restart(
    kind: str, status: ReadOnlyObject, before: ReadOnlyObject, spec: ReadOnlyObject, options: PodValidationOptions
) -> list[FieldError]:
    """Reject a status in which a container that terminated for good is not terminated any more."""
    # Reversed, so that of several statuses with the same name the first one counts, as in upstream's search.
    now = {item.get("name"): "terminated" in item.get("state", {}) for item in reversed(status.get(kind, ()))}
    ended = [
        (i, item)
        for i, item in enumerate(before.get(kind, ()))
        if "terminated" in item.get("state", {}) and now.get(item.get("name")) is False
    ]
    if not ended or (kind != "ephemeralContainerStatuses" and _can_all_containers_restart(spec, options)):
        return []
    list_of = "containers" if kind == "containerStatuses" else "initContainers"
    by_name = {container.get("name"): container for container in reversed(spec.get(list_of) or ())}
    return [
        forbidden(f"status.{kind}[{i}].state", _RESTARTED_DETAIL)
        for i, item in ended
        if not _can_container_restart(kind, item, by_name.get(item.get("name")), spec, options)
    ]


def _can_all_containers_restart(spec: ReadOnlyObject, options: PodValidationOptions) -> bool:
    """Return whether a restart rule of some container restarts all containers."""
    # upstream 1.36: pkg/api/v1/pod/util.go, AllContainersCouldRestart
    if not (options.containers.restart_rules and options.containers.restart_all_containers):
        return False
    containers = (*spec.get("initContainers", ()), *(spec.get("containers") or ()))
    actions = (rule.get("action") for item in containers for rule in item.get("restartPolicyRules", ()))
    return "RestartAllContainers" in actions


def _can_container_restart(
    kind: str,
    status: ReadOnlyObject,
    container: ReadOnlyObject | None,
    spec: ReadOnlyObject,
    options: PodValidationOptions,
) -> bool:
    """Return whether a terminated container may be restarted."""
    # upstream 1.36: pkg/api/v1/pod/util.go, ContainerShouldRestart
    if kind == "ephemeralContainerStatuses":
        return False
    code: int = status["state"]["terminated"].get("exitCode", 0)
    pod_policy: str = spec.get("restartPolicy", "")
    # Without restart rules the policy of the pod decides, and the container is needed only to recognize a sidecar.
    if options.containers.restart_rules:
        if container is None:
            return False
        for rule in container.get("restartPolicyRules", ()):
            if rule.get("action") == "Restart" and _rule_matches(rule.get("exitCodes", {}), code):
                return True
        policy: str = container.get("restartPolicy", pod_policy)
        return policy == "Always" or (policy == "OnFailure" and code != 0)
    if pod_policy == "Always" or (pod_policy == "OnFailure" and code != 0):
        return True
    return kind == "initContainerStatuses" and (container or {}).get("restartPolicy") == "Always"


def _rule_matches(codes: ReadOnlyObject, code: int) -> bool:
    listed: bool = code in codes.get("values", ())
    match codes.get("operator"):
        case "In":
            return listed
        case "NotIn":
            return not listed
        case _:
            return False


def _validate_claim_statuses(status: ReadOnlyObject, spec: ReadOnlyObject) -> list[FieldError]:
    known = {claim.get("name", "") for claim in spec.get("resourceClaims", ())}
    errors = []
    seen: set[str] = set()
    for i, item in enumerate(status.get("resourceClaimStatuses", ())):
        here, name, claim = f"status.resourceClaimStatuses[{i}]", item.get("name", ""), item.get("resourceClaimName")
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{here}.name", name, text))
        if name in seen:
            errors.append(duplicate(f"{here}.name", name))
        seen.add(name)
        if claim is not None:
            errors += [invalid(f"{here}.resourceClaimName", claim, text) for text in names.check_dns_subdomain(claim)]
    return errors


def _validate_extended_claim(status: ReadOnlyObject, spec: ReadOnlyObject) -> list[FieldError]:
    extended = status.get("extendedResourceClaimStatus")
    if extended is None:
        return []
    at, mappings = "status.extendedResourceClaimStatus", extended.get("requestMappings") or ()
    errors = []
    if not mappings:
        errors.append(required(f"{at}.requestMappings", "at least one request mapping is required"))
    # Ephemeral containers have no resources, so they cannot be mapped.
    containers = {item.get("name"): item for item in (*spec.get("initContainers", ()), *(spec.get("containers") or ()))}
    seen: set[tuple[str, ...]] = set()
    for i, mapping in enumerate(mappings):
        errors += _validate_request_mapping(mapping, f"{at}.requestMappings[{i}]", containers, at)
        key = tuple(mapping.get(name, "") for name in ("containerName", "resourceName", "requestName"))
        if key in seen:
            fields = zip(("containerName", "resourceName", "requestName"), key, strict=True)
            errors += [duplicate(f"{at}.requestMappings[{i}].{name}", value) for name, value in fields]
        seen.add(key)
    name = extended.get("resourceClaimName", "")
    if not name:
        return [*errors, required(f"{at}.resourceClaimName")]
    return errors + [invalid(f"{at}.resourceClaimName", name, text) for text in names.check_dns_subdomain(name)]


def _validate_request_mapping(
    mapping: ReadOnlyObject, at: str, containers: Mapping[str, ReadOnlyObject], claim_at: str
) -> list[FieldError]:
    name, resource, request = (mapping.get(field, "") for field in ("containerName", "resourceName", "requestName"))
    errors = []
    if name not in containers:
        text = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
        errors.append(invalid(f"{at}.containerName", name, text))
    elif resource not in containers[name].get("resources", {}).get("requests", ()):
        text = (
            "must match the extended resource name of an entry in spec.initContainers.resources.requests "
            "or spec.containers.resources.requests"
        )
        errors.append(invalid(f"{at}.resourceName", resource, text))
    return errors + [invalid(f"{claim_at}.requestName", request, text) for text in names.check_dns_label(request)]


def _validate_allocatable_claims(status: ReadOnlyObject, spec: ReadOnlyObject) -> list[FieldError]:
    items = status.get("nodeAllocatableResourceClaimStatuses", ())
    if not items:
        return []
    sources = (*spec.get("resourceClaims", ()), *status.get("resourceClaimStatuses", ()))
    known = {source["resourceClaimName"] for source in sources if "resourceClaimName" in source}
    errors = []
    for i, item in enumerate(items):
        here, name = f"status.nodeAllocatableResourceClaimStatuses[{i}]", item.get("resourceClaimName", "")
        if not name:
            errors.append(required(f"{here}.resourceClaimName", "must not be empty"))
        if name not in known:
            errors.append(invalid(f"{here}.resourceClaimName", name, "no mapping found in pod reference"))
        missing = [field for field in ("containers", "resources") if not item.get(field)]
        errors += [required(f"{here}.{field}", "must not be empty") for field in missing]
        for resource, amount in (item.get("resources") or {}).items():
            if not is_native_resource(resource):
                text = "must be a node allocatable resource name"
                errors.append(invalid(f"{here}.resources[{resource}]", resource, text))
            if parse(amount).sign < 0:
                errors.append(invalid(f"{here}.resources[{resource}]", amount, "must be non-negative"))
    return errors


def _validate_addresses(
    status: ReadOnlyObject, before: ReadOnlyObject, kind: str, options: PodValidationOptions
) -> list[FieldError]:
    """Validate the IPs of a pod or host: well-formed, at most one of each family."""
    addresses = [item.get("ip", "") for item in status.get(kind, ())]
    stored = [item.get("ip", "") for item in before.get(kind, ())]
    at = f"status.{kind}"
    errors: list[FieldError] = []
    for i, address in enumerate(addresses):
        errors += validate_ip_for_legacy_field(address, f"{at}[{i}]", strict=options.strict_addresses, stored=stored)
    if len(addresses) < 2:
        return errors
    malformed = next((i for i, address in enumerate(addresses) if parse_ip(address) is None), None)
    if malformed is not None:
        text = f"failed to check for dual stack with error:invalid IP[{malformed}]: {addresses[malformed]}"
        errors.append(internal(at, text))
    families = {is_ipv6(address) for address in addresses}
    if malformed is not None or len(families) < 2 or len(addresses) > 2:
        shown = to_internal_form("[]PodIP" if kind == "podIPs" else "[]HostIP", status[kind])
        errors.append(invalid(at, shown, "may specify no more than one IP for each IP family"))
    return errors


def _validate_host_addresses(
    status: ReadOnlyObject, before: ReadOnlyObject, options: PodValidationOptions
) -> list[FieldError]:
    addresses = status.get("hostIPs", ())
    if not addresses:
        return []
    errors = []
    first = addresses[0].get("ip", "")
    # Unlike podIPs, hostIPs has no defaulting that would align both fields.
    if status.get("hostIP", "") != first:
        errors.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    return errors + _validate_addresses(status, before, "hostIPs", options)


def _validate_container_statuses(
    status: ReadOnlyObject, spec: ReadOnlyObject, options: PodValidationOptions
) -> list[FieldError]:
    errors: list[FieldError] = []
    os = spec.get("os", {}).get("name", "linux")
    for item, here in _container_statuses(status):
        if "user" in item:
            errors += _validate_user(item["user"].get("linux"), f"{here}.user.linux", os)
    for kind, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        by_name = {container.get("name"): container for container in reversed(spec.get(containers) or ())}
        for i, item in enumerate(status.get(kind, ())):
            container = by_name.get(item.get("name"))
            for j, allocated in enumerate(item.get("allocatedResourcesStatus", ())):
                here = f"status.{kind}[{i}].allocatedResourcesStatus[{j}]"
                errors += _validate_allocated_resource(allocated, here, container)
    for i, item in enumerate(status.get("ephemeralContainerStatuses", ())):
        if "allocatedResourcesStatus" in item:
            here = f"status.ephemeralContainerStatuses[{i}].allocatedResourcesStatus"
            errors.append(forbidden(here, "must not be specified in container status"))
    if options.image_digests:
        errors += _validate_image_digests(status)
    return errors


def _container_statuses(status: ReadOnlyObject) -> Iterator[tuple[dict[str, Any], str]]:
    for kind in _STATUS_LISTS:
        for i, item in enumerate(status.get(kind, ())):
            yield item, f"status.{kind}[{i}]"


def _validate_user(user: ReadOnlyObject | None, at: str, os: str) -> list[FieldError]:
    if user is None:
        return []
    if os == "windows":
        return [forbidden(at, "cannot be set for a windows pod")]
    ids = [("uid", user.get("uid", 0)), ("gid", user.get("gid", 0))]
    ids += [(f"supplementalGroups[{i}]", group) for i, group in enumerate(user.get("supplementalGroups", ()))]
    return [invalid(f"{at}.{name}", number, text) for name, number in ids for text in names.check_unix_id(number)]


def _validate_allocated_resource(
    allocated: ReadOnlyObject, at: str, container: ReadOnlyObject | None
) -> list[FieldError]:
    name = allocated.get("name", "")
    errors: list[FieldError] = []
    # A status without a container in the spec is not reported, as upstream does.
    if container is not None and name not in _allocatable_names(name, container):
        text = "must match one of the container's resource requests"
        if name.startswith("claim:"):
            text = (
                "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' "
                "or 'claim:<claimName>' if request is empty"
            )
        errors.append(invalid(f"{at}.name", name, text))
    seen: set[str] = set()
    for i, resource in enumerate(allocated.get("resources", ())):
        errors += _validate_resource_health(resource, f"{at}.resources[{i}]", seen)
    return errors


def _allocatable_names(name: str, container: ReadOnlyObject) -> list[str]:
    resources = container.get("resources", {})
    if not name.startswith("claim:"):
        return [*resources.get("requests", ())]
    claims = ((claim.get("name", ""), claim.get("request")) for claim in resources.get("claims", ()))
    return [f"claim:{claim}/{request}" if request else f"claim:{claim}" for claim, request in claims]


def _validate_resource_health(resource: ReadOnlyObject, at: str, seen: set[str]) -> list[FieldError]:
    errors = []
    if resource.get("health") not in _HEALTH_STATES:
        errors.append(not_supported(f"{at}.health", resource.get("health", ""), sorted(_HEALTH_STATES)))
    message, name = resource.get("message"), resource.get("resourceID", "")
    if message == "":
        errors.append(required(f"{at}.message", "must be non-empty if specified"))
    elif message is not None and names.byte_length(message) > _MESSAGE_BYTES_MAX:
        errors.append(too_long(f"{at}.message", _MESSAGE_BYTES_MAX))
    if name in seen:
        errors.append(duplicate(f"{at}.resourceID", name))
    seen.add(name)
    return errors


def _validate_image_digests(status: ReadOnlyObject) -> list[FieldError]:
    errors = []
    for item, here in _container_statuses(status):
        for i, mount in enumerate(item.get("volumeMounts", ())):
            image = mount.get("volumeStatus", {}).get("image")
            if image is None:
                continue
            at, reference = f"{here}.volumeMounts[{i}].volumeStatus.imageVolumeStatus", image.get("imageRef", "")
            if not reference:
                errors.append(required(f"{at}.imageRef", "imageRef must not be empty"))
            if names.byte_length(reference) > _IMAGE_REF_BYTES_MAX:
                errors.append(too_long(f"{at}.imageRef", _IMAGE_REF_BYTES_MAX))
    return errors
