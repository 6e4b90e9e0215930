"""The spec of a pod, whole: what its parts say, and whether they fit together."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidatePodSpec

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.fields import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from mockkube.api.kinds.addresses import lenient_ip
from mockkube.api.quantity import Quantity, parse
from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.affinity import validate_affinity
from mockkube.api.validation.containers import (
    Surroundings,
    is_sidecar,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from mockkube.api.validation.dns import validate_dns_config, validate_dns_policy
from mockkube.api.validation.internal_form import internal_form
from mockkube.api.validation.labels import validate_labels
from mockkube.api.validation.pod_rules import PodRules
from mockkube.api.validation.probes import HandlerRules
from mockkube.api.validation.resources import HUGE_PAGES, validate_container_resources, validate_pod_resources
from mockkube.api.validation.security import validate_os, validate_pod_security_context
from mockkube.api.validation.tolerations import validate_tolerations
from mockkube.api.validation.topology_spread import validate_topology_spread
from mockkube.api.validation.volumes import validate_volumes
from mockkube.api.validation.walk import containers_with_paths
from mockkube.api.validation.windows import validate_host_process

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
DEADLINE_MAX: Final = 2**31 - 1
_HOSTNAME_BYTES_MAX: Final = 64
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_OWN_USERS: Final = "when `hostUsers` is false"


# hot: per pod
def validate_pod_spec(spec: ReadOnlyObject, meta: ReadOnlyObject | None, at: str, rules: PodRules) -> list[FieldError]:
    """Judge the spec of a pod with that metadata, or (without) of a template."""
    found: list[FieldError] = []
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        found.append(required(f"{at}.terminationGracePeriodSeconds"))
    volumes = validate_volumes(spec, f"{at}.volumes", (meta or {}).get("name", ""), rules.volumes)
    found += volumes.errors
    claims = spec.get("resourceClaims", ())
    claim_names = {claim["name"] for claim in claims if claim.get("name")}
    if claims:
        found += _validate_claims(claims, meta or {}, f"{at}.resourceClaims")
    os = spec["os"].get("name", "") if "os" in spec else None
    around = Surroundings(
        rules=rules.containers,
        volumes=volumes.by_name,
        claim_names=claim_names,
        handlers=HandlerRules(grace, os, rules.containers.allow_zero_sleep),
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers") is not False,
    )
    found += _validate_container_lists(spec, at, around)
    if rules.pod_level_resources and "resources" in spec:
        found += _validate_resources(spec, f"{at}.resources", claim_names, rules)
    found += _validate_settings(spec, at, rules)
    for name, check in _OPTIONAL.items():
        if name in spec:
            found += check(spec, at, rules)
    found += _validate_host_access(spec, at, rules)
    for name, check_name in _NAMES.items():
        if value := spec.get(name):
            found += [invalid(f"{at}.{name}", value, text) for text in check_name(value)]
    for name, check in _LATER.items():
        if name in spec:
            found += check(spec, at, rules)
    return found + _validate_file_volumes(spec, at)


def _validate_container_lists(spec: ReadOnlyObject, at: str, around: Surroundings) -> list[FieldError]:
    ordinary, init = spec.get("containers") or (), spec.get("initContainers", ())
    found = validate_containers(ordinary, f"{at}.containers", around)
    if init:
        found += validate_init_containers(init, f"{at}.initContainers", around, ordinary)
    if "ephemeralContainers" in spec:
        others = {container.get("name", "") for container in (*ordinary, *init)}
        here = f"{at}.ephemeralContainers"
        found += validate_ephemeral_containers(spec["ephemeralContainers"], here, around, others)
    return found


def _validate_claims(claims: Sequence[ReadOnlyObject], meta: ReadOnlyObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        if MIRROR_ANNOTATION in meta.get("annotations", ()):
            found.append(forbidden("", "static pods do not support resource claims"))
        else:
            found += _validate_claim(claim, f"{at}[{i}]", seen)
    return found


def _validate_claim(claim: ReadOnlyObject, at: str, seen: set[str]) -> list[FieldError]:
    name, kinds = claim.get("name", ""), ("resourceClaimName", "resourceClaimTemplateName")
    found: list[FieldError] = []
    if not name:
        found.append(required(f"{at}.name"))
    elif name in seen:
        found.append(duplicate(f"{at}.name", name))
    else:
        found += [invalid(f"{at}.name", name, text) for text in names.dns_label(name)]
        seen.add(name)
    given = [kind for kind in kinds if kind in claim]
    if len(given) != 1:
        text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        if not given:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        found.append(invalid(at, internal_form("PodResourceClaim", claim), text))
    for kind in given:
        found += [invalid(f"{at}.{kind}", claim[kind], text) for text in names.dns_subdomain(claim[kind])]
    return found


def _validate_resources(
    spec: ReadOnlyObject, at: str, claim_names: Collection[str], rules: PodRules
) -> list[FieldError]:
    """Judge resources of the pod as a whole, in themselves and against those of the containers."""
    if spec.get("os", {}).get("name") == "windows":
        return [forbidden(at, "may not be set for a windows pod")]
    resources = spec["resources"]
    found: list[FieldError] = []
    if "claims" in resources:
        found.append(forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    indivisible = rules.containers.allow_indivisible
    found += validate_pod_resources(resources, at, claim_names, allow_indivisible=indivisible)
    found += _validate_sums(spec, at, "requests")
    found += _validate_sums(spec, at, "limits")
    limits = resources.get("limits", {})
    for i, container in enumerate(spec.get("containers") or ()):
        for name, amount in container.get("resources", {}).get("limits", {}).items():
            if name in limits and parse(amount) > parse(limits[name]):
                here = f"{at}.containers[{i}][{name}].limits"
                found.append(invalid(here, amount, f"must be less than or equal to pod limits of {limits[name]}"))
    return found


def _validate_sums(spec: ReadOnlyObject, at: str, kind: str) -> list[FieldError]:
    given = spec["resources"].get(kind, {})
    found = []
    for name, total in sums_of_containers(spec, kind).items():
        if kind == "limits" and not name.startswith(HUGE_PAGES):
            continue
        if name in given and total > parse(given[name]):
            text = f"must be greater than or equal to aggregate container {kind} of {total}"
            found.append(invalid(f"{at}.{kind}[{name}]", given[name], text))
    return found


def sums_of_containers(spec: ReadOnlyObject, kind: str) -> dict[str, Quantity]:
    """Return what the containers need together: all at once, or one init container and the sidecars before it."""
    # upstream 1.36: component-helpers/resource/helpers.go, AggregateContainerRequests
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, kind))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers", ()):
        needed = _amounts(container, kind)
        if is_sidecar(container):
            _add(total, needed)
            _add(sidecars, needed)
            needed = dict(sidecars)
        else:
            _add(needed, sidecars)
        for name, amount in needed.items():
            peak[name] = max(peak.get(name, amount), amount)
    for name, amount in peak.items():
        total[name] = max(total.get(name, amount), amount)
    return total


def _amounts(container: ReadOnlyObject, kind: str) -> dict[str, Quantity]:
    amounts: Mapping[str, str] = container.get("resources", {}).get(kind, {})
    return {name: parse(amount) for name, amount in amounts.items()}


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _validate_settings(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    """Judge what every pod says, and what stands between that and the rarer fields."""
    found: list[FieldError] = []
    if spec.get("hostNetwork"):
        found += _validate_host_ports(spec, f"{at}.containers", rules.is_pod)
    policy = spec.get("restartPolicy")
    if policy not in _RESTART_POLICIES:
        here = f"{at}.restartPolicy"
        found.append(not_supported(here, policy, _RESTART_POLICIES) if policy else required(here))
    found += validate_dns_policy(spec.get("dnsPolicy", ""), f"{at}.dnsPolicy")
    if "nodeSelector" in spec:
        found += validate_labels(spec["nodeSelector"], f"{at}.nodeSelector")
    if spec.get("securityContext") or spec.get("hostPID"):
        found += validate_pod_security_context(
            spec,
            f"{at}.securityContext",
            only_recursive_labels=rules.only_recursive_labels,
            allow_host_sysctls=rules.allow_host_sysctls,
        )
    return found


def _validate_host_ports(spec: ReadOnlyObject, at: str, is_pod: bool) -> list[FieldError]:
    text = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid(f"{at}[{i}].ports[{j}].hostPort", port.get("hostPort", 0), text)
        for i, container in enumerate(spec.get("containers") or ())
        for j, port in enumerate(container.get("ports", ()))
        if (is_pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort", 0)
    ]


Part = Callable[[ReadOnlyObject, str, PodRules], list[FieldError]]


def _affinity(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    lenient = rules.allow_invalid_selector
    return validate_affinity(spec["affinity"], f"{at}.affinity", rules.node_selectors, allow_invalid_values=lenient)


def _readiness_gates(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    return [
        invalid(f"{at}.readinessGates[{i}].conditionType", gate.get("conditionType", ""), text)
        for i, gate in enumerate(spec["readinessGates"])
        for text in names.qualified_name(gate.get("conditionType", ""))
    ]


def _scheduling_gates(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for i, gate in enumerate(spec["schedulingGates"]):
        here, name = f"{at}.schedulingGates[{i}]", gate.get("name", "")
        found += [invalid(here, name, text) for text in names.qualified_name(name)]
        if name in seen:
            found.append(duplicate(here, name))
        seen.add(name)
    return found


def _spread(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    constraints = spec["topologySpreadConstraints"]
    return validate_topology_spread(constraints, f"{at}.topologySpreadConstraints", rules.spread)


def _dns(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    relaxed, strict = rules.relaxed_search, rules.strict_addresses
    return validate_dns_config(spec, f"{at}.dnsConfig", relaxed=relaxed, strict_addresses=strict)


_OPTIONAL: Final[dict[str, Part]] = {
    "affinity": _affinity,
    "dnsPolicy": _dns,
    "readinessGates": _readiness_gates,
    "schedulingGates": _scheduling_gates,
    "topologySpreadConstraints": _spread,
}


def _validate_host_access(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    """Judge what of the host the pod shares."""
    found = validate_host_process(spec, at)
    if spec.get("hostUsers") is False:
        found += _validate_own_users(spec, at, rules)
    if "hostnameOverride" in spec:
        found += _validate_hostname_override(spec, f"{at}.hostnameOverride")
    return found


def _validate_own_users(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    found = []
    if spec.get("hostNetwork") and not rules.host_network_in_user_namespace:
        found.append(forbidden(f"{at}.hostNetwork", _OWN_USERS))
    if spec.get("hostPID"):
        found.append(forbidden(f"{at}.HostPID", _OWN_USERS))
    if spec.get("hostIPC"):
        found.append(forbidden(f"{at}.HostIPC", _OWN_USERS))
    if not rules.devices_in_user_namespace:
        paths = [path for container, path in containers_with_paths(spec, at) if "volumeDevices" in container]
        found += [forbidden(f"{path}.volumeDevices", _OWN_USERS) for path in paths]
    return found


def _validate_hostname_override(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    name = spec["hostnameOverride"]
    found = []
    if spec.get("setHostnameAsFQDN"):
        found.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        found.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if names.byte_length(name) > _HOSTNAME_BYTES_MAX:
        found.append(too_long(at, _HOSTNAME_BYTES_MAX))
    return found + [invalid(at, name, text) for text in names.dns_subdomain(name)]


_NAMES: Final[dict[str, Callable[[str], list[str]]]] = {
    "serviceAccountName": names.dns_subdomain,
    "nodeName": names.dns_subdomain,
}


def _deadline(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    seconds = spec["activeDeadlineSeconds"]
    texts = names.in_range(seconds, 1, DEADLINE_MAX)
    return [invalid(f"{at}.activeDeadlineSeconds", seconds, text) for text in texts]


def _label(field: str) -> Part:
    def check(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
        value = spec[field]
        return [invalid(f"{at}.{field}", value, text) for text in names.dns_label(value)] if value else []

    return check


def _subdomain(field: str) -> Part:
    def check(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
        return [invalid(f"{at}.{field}", spec[field], text) for text in names.dns_subdomain(spec[field])]

    return check


def _tolerations(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    return validate_tolerations(
        spec["tolerations"],
        f"{at}.tolerations",
        comparison=rules.comparison,
        extensions=rules.extensions,
        allowed=rules.allowed,
    )


def _host_aliases(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    found: list[FieldError] = []
    for i, alias in enumerate(spec["hostAliases"]):
        here = f"{at}.hostAliases[{i}]"
        found += lenient_ip(alias.get("ip", ""), f"{here}.ip", strict=rules.strict_addresses)
        for j, name in enumerate(alias.get("hostnames", ())):
            found += [invalid(f"{here}.hostnames[{j}]", name, text) for text in names.dns_subdomain(name)]
    return found


def _preemption(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    policy, here = spec["preemptionPolicy"], f"{at}.preemptionPolicy"
    if policy in _PREEMPTION_POLICIES:
        return []
    return [not_supported(here, policy, _PREEMPTION_POLICIES) if policy else required(here)]


def _overhead(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    indivisible = rules.containers.allow_indivisible
    overhead = {"limits": spec["overhead"]}
    return validate_container_resources(overhead, f"{at}.overhead", (), allow_indivisible=indivisible)


def _os(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    return validate_os(spec, at)


def _scheduling_group(spec: ReadOnlyObject, at: str, rules: PodRules) -> list[FieldError]:
    here, name = f"{at}.schedulingGroup.podGroupName", spec["schedulingGroup"].get("podGroupName")
    if name is None:
        return [invalid(here, None, "must specify one of: `podGroupName`")]
    return [invalid(here, name, text) for text in names.dns_subdomain(name)]


_LATER: Final[dict[str, Part]] = {
    "activeDeadlineSeconds": _deadline,
    "hostname": _label("hostname"),
    "subdomain": _label("subdomain"),
    "tolerations": _tolerations,
    "hostAliases": _host_aliases,
    "priorityClassName": _subdomain("priorityClassName"),
    "runtimeClassName": _subdomain("runtimeClassName"),
    "preemptionPolicy": _preemption,
    "overhead": _overhead,
    "os": _os,
    "schedulingGroup": _scheduling_group,
}


def _validate_file_volumes(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    """Judge that files variables are read from lie in volumes of their own."""
    found = []
    for key, path in _file_keys(spec, at):
        name = key.get("volumeName", "")
        volume = next((item for item in reversed(spec.get("volumes", ())) if item.get("name") == name), None)
        if volume is None:
            found.append(not_found(f"{path}.volumeName", name))
        elif "emptyDir" not in volume:
            found.append(invalid(f"{path}.volumeName", name, "referenced volume must be of type emptyDir"))
    return found


def _file_keys(spec: ReadOnlyObject, at: str) -> Iterator[tuple[ReadOnlyObject, str]]:
    for container, path in containers_with_paths(spec, at):
        for i, variable in enumerate(container.get("env", ())):
            key = variable["valueFrom"].get("fileKeyRef") if "valueFrom" in variable else None
            if key is not None:
                yield key, f"{path}.env[{i}].valueFrom.fileKeyRef"
