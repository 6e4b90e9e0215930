"""Validate pod specs (upstream: ValidatePodSpec)."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidatePodSpec

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.bounded_cache import DigestCache, digest_json
from mockkube.api.fields import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import validate_affinity
from mockkube.api.kinds.core.pod.containers.container_lists import containers_with_paths
from mockkube.api.kinds.core.pod.containers.containers import (
    ContainerValidationContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from mockkube.api.kinds.core.pod.containers.probes import HandlerValidationContext
from mockkube.api.kinds.core.pod.containers.resources import validate_container_resources
from mockkube.api.kinds.core.pod.containers.security import validate_os, validate_pod_security_context
from mockkube.api.kinds.core.pod.dns import validate_dns_config, validate_dns_policy
from mockkube.api.kinds.core.pod.host_access import validate_host_access, validate_host_ports
from mockkube.api.kinds.core.pod.options import PodValidationOptions
from mockkube.api.kinds.core.pod.pod_level_resources import validate_pod_level_resources
from mockkube.api.kinds.core.pod.topology_spread import validate_topology_spread
from mockkube.api.kinds.core.pod.volumes.volumes import validate_volumes
from mockkube.api.validation.addresses import validate_ip_for_legacy_field
from mockkube.api.validation.internal_form import to_internal_form
from mockkube.api.validation.labels import validate_labels

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
ACTIVE_DEADLINE_SECONDS_MAX: Final = 2**31 - 1
# Valid specs, by the options they were validated with.
_VALID_SPECS: Final[DigestCache[bool]] = DigestCache()
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")


# hot: per pod
def validate_pod_spec(
    spec: ReadOnlyObject, meta: ReadOnlyObject | None, at: str, options: PodValidationOptions
) -> list[FieldError]:
    """Validate the spec of a pod with metadata `meta`, or of a template if it is None."""
    # The validity of such a spec depends on the pod's name, which the digest does not cover.
    if _depends_on_name(spec):
        return _validate_spec(spec, meta, at, options)
    digest = digest_json(spec)
    # Only valid specs are cached: errors contain the field path, which differs between pods and templates.
    if _VALID_SPECS.get(digest, options):
        return []
    errors = _validate_spec(spec, meta, at, options)
    if not errors:
        _VALID_SPECS.put(digest, options, True)
    return errors


def _depends_on_name(spec: ReadOnlyObject) -> bool:
    """Return whether claims are created for the pod, whose names derive from the pod's name."""
    return "resourceClaims" in spec or any("ephemeral" in volume for volume in spec.get("volumes", ()))


def _validate_spec(
    spec: ReadOnlyObject, meta: ReadOnlyObject | None, at: str, options: PodValidationOptions
) -> list[FieldError]:
    errors: list[FieldError] = []
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        errors.append(required(f"{at}.terminationGracePeriodSeconds"))
    volumes = validate_volumes(spec, f"{at}.volumes", (meta or {}).get("name", ""), options.volumes)
    errors += volumes.errors
    claims = spec.get("resourceClaims", ())
    claim_names = {claim["name"] for claim in claims if claim.get("name")}
    if claims:
        errors += _validate_claims(claims, meta or {}, f"{at}.resourceClaims")
    os = spec["os"].get("name", "") if "os" in spec else None
    around = ContainerValidationContext(
        options=options.containers,
        volumes=volumes.by_name,
        claim_names=claim_names,
        handler_context=HandlerValidationContext(grace, os, options.containers.allow_zero_sleep),
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers") is not False,
    )
    errors += _validate_container_lists(spec, at, around)
    if options.pod_level_resources and "resources" in spec:
        errors += validate_pod_level_resources(
            spec, at, claim_names, allow_indivisible=options.containers.allow_indivisible_huge_pages
        )
    errors += _validate_common_fields(spec, at, options)
    for name, check in _PARTS_BEFORE_NAMES.items():
        if name in spec:
            errors += check(spec, at, options)
    errors += validate_host_access(spec, at, options)
    for name, check_name in _NAME_FIELDS.items():
        if value := spec.get(name):
            errors += [invalid(f"{at}.{name}", value, text) for text in check_name(value)]
    for name, check in _PARTS_AFTER_NAMES.items():
        if name in spec:
            errors += check(spec, at, options)
    return errors + _validate_file_key_volumes(spec, at)


def _validate_container_lists(spec: ReadOnlyObject, at: str, context: ContainerValidationContext) -> list[FieldError]:
    ordinary, init = spec.get("containers") or (), spec.get("initContainers", ())
    errors = validate_containers(ordinary, f"{at}.containers", context)
    if init:
        errors += validate_init_containers(init, f"{at}.initContainers", context, ordinary)
    if "ephemeralContainers" in spec:
        others = {container.get("name", "") for container in (*ordinary, *init)}
        here = f"{at}.ephemeralContainers"
        errors += validate_ephemeral_containers(spec["ephemeralContainers"], here, context, others)
    return errors


def _validate_claims(claims: Sequence[ReadOnlyObject], meta: ReadOnlyObject, at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        # Static pods bypass the scheduler, which allocates claims.
        if MIRROR_ANNOTATION in meta.get("annotations", ()):
            errors.append(forbidden("", "static pods do not support resource claims"))
        else:
            errors += _validate_claim(claim, f"{at}[{i}]", seen)
    return errors


def _validate_claim(claim: ReadOnlyObject, at: str, seen: set[str]) -> list[FieldError]:
    name, kinds = claim.get("name", ""), ("resourceClaimName", "resourceClaimTemplateName")
    errors: list[FieldError] = []
    if not name:
        errors.append(required(f"{at}.name"))
    elif name in seen:
        errors.append(duplicate(f"{at}.name", name))
    else:
        errors += [invalid(f"{at}.name", name, text) for text in names.check_dns_label(name)]
        seen.add(name)
    given = [kind for kind in kinds if kind in claim]
    if len(given) != 1:
        text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        if not given:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        errors.append(invalid(at, to_internal_form("PodResourceClaim", claim), text))
    for kind in given:
        errors += [invalid(f"{at}.{kind}", claim[kind], text) for text in names.check_dns_subdomain(claim[kind])]
    return errors


def _validate_common_fields(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    """Validate the fields that nearly every pod has."""
    errors: list[FieldError] = []
    if spec.get("hostNetwork"):
        errors += validate_host_ports(spec, f"{at}.containers", options)
    policy = spec.get("restartPolicy")
    if policy not in _RESTART_POLICIES:
        here = f"{at}.restartPolicy"
        errors.append(not_supported(here, policy, _RESTART_POLICIES) if policy else required(here))
    errors += validate_dns_policy(spec.get("dnsPolicy", ""), f"{at}.dnsPolicy")
    if "nodeSelector" in spec:
        errors += validate_labels(spec["nodeSelector"], f"{at}.nodeSelector")
    if spec.get("securityContext") or spec.get("hostPID"):
        errors += validate_pod_security_context(
            spec,
            f"{at}.securityContext",
            only_recursive_labels=options.only_recursive_selinux_change,
            allow_host_sysctls=options.allow_host_sysctls,
        )
    return errors


SpecPartValidator = Callable[[ReadOnlyObject, str, PodValidationOptions], list[FieldError]]


def _validate_affinity(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    lenient = options.allow_invalid_selector
    return validate_affinity(spec["affinity"], f"{at}.affinity", options.node_selectors, allow_invalid_values=lenient)


def _validate_readiness_gates(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    return [
        invalid(f"{at}.readinessGates[{i}].conditionType", gate.get("conditionType", ""), text)
        for i, gate in enumerate(spec["readinessGates"])
        for text in names.check_qualified_name(gate.get("conditionType", ""))
    ]


def _validate_scheduling_gates(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, gate in enumerate(spec["schedulingGates"]):
        here, name = f"{at}.schedulingGates[{i}]", gate.get("name", "")
        errors += [invalid(here, name, text) for text in names.check_qualified_name(name)]
        if name in seen:
            errors.append(duplicate(here, name))
        seen.add(name)
    return errors


def _validate_spread(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    constraints = spec["topologySpreadConstraints"]
    return validate_topology_spread(constraints, f"{at}.topologySpreadConstraints", options.spread)


def _validate_dns(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    relaxed, strict = options.relaxed_dns_search, options.strict_addresses
    return validate_dns_config(spec, f"{at}.dnsConfig", relaxed=relaxed, strict_addresses=strict)


# These tables are ordered as upstream's checks are, since clients see errors in this order. `dnsPolicy` is always set,
# so its entry validates dnsConfig in any case.
_PARTS_BEFORE_NAMES: Final[dict[str, SpecPartValidator]] = {
    "affinity": _validate_affinity,
    "dnsPolicy": _validate_dns,
    "readinessGates": _validate_readiness_gates,
    "schedulingGates": _validate_scheduling_gates,
    "topologySpreadConstraints": _validate_spread,
}


_NAME_FIELDS: Final[dict[str, Callable[[str], list[str]]]] = {
    "serviceAccountName": names.check_dns_subdomain,
    "nodeName": names.check_dns_subdomain,
}


def _validate_deadline(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    seconds = spec["activeDeadlineSeconds"]
    texts = names.check_in_range(seconds, 1, ACTIVE_DEADLINE_SECONDS_MAX)
    return [invalid(f"{at}.activeDeadlineSeconds", seconds, text) for text in texts]


def _label_validator(field: str) -> SpecPartValidator:
    def check(spec: ReadOnlyObject, at: str, rules: PodValidationOptions) -> list[FieldError]:
        value = spec[field]
        return [invalid(f"{at}.{field}", value, text) for text in names.check_dns_label(value)] if value else []

    return check


def _subdomain_validator(field: str) -> SpecPartValidator:
    def check(spec: ReadOnlyObject, at: str, rules: PodValidationOptions) -> list[FieldError]:
        return [invalid(f"{at}.{field}", spec[field], text) for text in names.check_dns_subdomain(spec[field])]

    return check


def _validate_tolerations(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    return options.validate_tolerations(spec["tolerations"], f"{at}.tolerations")


def _validate_host_aliases(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, alias in enumerate(spec["hostAliases"]):
        here = f"{at}.hostAliases[{i}]"
        errors += validate_ip_for_legacy_field(alias.get("ip", ""), f"{here}.ip", strict=options.strict_addresses)
        for j, name in enumerate(alias.get("hostnames", ())):
            errors += [invalid(f"{here}.hostnames[{j}]", name, text) for text in names.check_dns_subdomain(name)]
    return errors


def _validate_preemption_policy(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    policy, here = spec["preemptionPolicy"], f"{at}.preemptionPolicy"
    if policy in _PREEMPTION_POLICIES:
        return []
    return [not_supported(here, policy, _PREEMPTION_POLICIES) if policy else required(here)]


def _validate_overhead(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    indivisible = options.containers.allow_indivisible_huge_pages
    overhead = {"limits": spec["overhead"]}
    return validate_container_resources(overhead, f"{at}.overhead", (), allow_indivisible=indivisible)


def _validate_os(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    return validate_os(spec, at)


def _validate_scheduling_group(spec: ReadOnlyObject, at: str, options: PodValidationOptions) -> list[FieldError]:
    here, name = f"{at}.schedulingGroup.podGroupName", spec["schedulingGroup"].get("podGroupName")
    if name is None:
        return [invalid(here, None, "must specify one of: `podGroupName`")]
    return [invalid(here, name, text) for text in names.check_dns_subdomain(name)]


_PARTS_AFTER_NAMES: Final[dict[str, SpecPartValidator]] = {
    "activeDeadlineSeconds": _validate_deadline,
    "hostname": _label_validator("hostname"),
    "subdomain": _label_validator("subdomain"),
    "tolerations": _validate_tolerations,
    "hostAliases": _validate_host_aliases,
    "priorityClassName": _subdomain_validator("priorityClassName"),
    "runtimeClassName": _subdomain_validator("runtimeClassName"),
    "preemptionPolicy": _validate_preemption_policy,
    "overhead": _validate_overhead,
    "os": _validate_os,
    "schedulingGroup": _validate_scheduling_group,
}


def _validate_file_key_volumes(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    """Require that environment files lie in emptyDir volumes of the pod."""
    errors = []
    volumes: ReadOnlyObject | None = None
    for key, path in _file_key_refs(spec, at):
        if volumes is None:
            volumes = {item.get("name"): item for item in spec.get("volumes", ())}
        name = key.get("volumeName", "")
        volume = volumes.get(name)
        if volume is None:
            errors.append(not_found(f"{path}.volumeName", name))
        elif "emptyDir" not in volume:
            errors.append(invalid(f"{path}.volumeName", name, "referenced volume must be of type emptyDir"))
    return errors


def _file_key_refs(spec: ReadOnlyObject, at: str) -> Iterator[tuple[ReadOnlyObject, str]]:
    for container, path in containers_with_paths(spec, at):
        for i, variable in enumerate(container.get("env", ())):
            key = variable["valueFrom"].get("fileKeyRef") if "valueFrom" in variable else None
            if key is not None:
                yield key, f"{path}.env[{i}].valueFrom.fileKeyRef"
