"""Options of pod validation: enabled gates, and what the stored pod already uses."""

# upstream 1.36: pkg/api/pod/util.go, GetValidationOptionsFromPodSpecAndMeta

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.persistent_volume_claim_validation import (
    ClaimValidationOptions,
    is_attributes_class_enabled,
)
from mockkube.api.kinds.core.pod.affinity import (
    node_selector_terms,
    pod_affinity_terms,
    required_node_selector_terms,
    validate_affinity_term_selectors,
)
from mockkube.api.kinds.core.pod.containers.container_lists import all_containers
from mockkube.api.kinds.core.pod.containers.containers import ContainerValidationOptions, is_sidecar
from mockkube.api.kinds.core.pod.containers.env import EnvValidationOptions
from mockkube.api.kinds.core.pod.containers.resources import HUGE_PAGES_PREFIX, is_multiple_of_huge_page
from mockkube.api.kinds.core.pod.containers.security import uses_host_sysctls
from mockkube.api.kinds.core.pod.tolerations import validate_tolerations
from mockkube.api.kinds.core.pod.topology_spread import (
    SpreadValidationOptions,
    has_invalid_merged_keys,
    has_invalid_unmerged_keys,
)
from mockkube.api.kinds.core.pod.volumes.projected import has_invalid_token_path
from mockkube.api.kinds.core.pod.volumes.volumes import PodVolumeValidationOptions
from mockkube.api.validation.addresses import STRICT_GATE
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.api.validation.labels import is_invalid_selector
from mockkube.api.validation.node_selector import NodeSelectorOptions, has_invalid_values
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

DELETION_COST_ANNOTATION: Final = "controller.kubernetes.io/pod-deletion-cost"
_INTEGER: Final = re.compile("-[0-9]+|0|[1-9][0-9]*")
# Version since which a gate is locked on. Later versions remove it, so that a look-up by name would say "disabled".
# Before, templates could have image volumes without a reference.
_IMAGE_REQUIRED_SINCE: Final = Version(1, 37)
_LOCKED_SINCE: Final = {
    gate: Version(1, minor)
    for minor, gates in {
        33: (
            "MatchLabelKeysInPodAffinity",
            "NodeInclusionPolicyInPodTopologySpread",
            "RecursiveReadOnlyMounts",
            "SidecarContainers",
        ),
        34: (
            "PodLifecycleSleepAction",
            "PodLifecycleSleepActionAllowZero",
            "RelaxedDNSSearchValidation",
            "RelaxedEnvironmentVariableValidation",
        ),
        35: (
            "DynamicResourceAllocation",
            "InPlacePodVerticalScaling",
            "PodObservedGenerationTracking",
            "SupplementalGroupsPolicy",
        ),
        36: ("ImageVolume", "ProcMountType", "SELinuxChangePolicy", "UserNamespacesSupport"),
    }.items()
    for gate in gates
}


def is_feature_enabled(caps: Capabilities, gate: str) -> bool:
    """Return whether a feature gate is enabled, or locked and later removed."""
    locked = gate in _LOCKED_SINCE and caps.version >= _LOCKED_SINCE[gate] and not caps.has_train(gate)
    return locked or caps.enabled(gate)


@dataclass(frozen=True, slots=True)
class PodValidationOptions:
    """Options of pod validation (upstream: PodValidationOptions)."""

    containers: ContainerValidationOptions = field(default_factory=ContainerValidationOptions)
    volumes: PodVolumeValidationOptions = field(default_factory=PodVolumeValidationOptions)
    spread: SpreadValidationOptions = field(default_factory=SpreadValidationOptions)
    node_selectors: NodeSelectorOptions = field(default_factory=NodeSelectorOptions)
    extensions: ValidationExtensions = NO_EXTENSIONS
    allowed_extensions: frozenset[str] = frozenset()
    is_pod: bool = True
    pod_level_resources: bool = True
    pod_level_resources_resize: bool = True
    relaxed_dns_search: bool = True
    host_network_in_user_namespace: bool = False
    devices_in_user_namespace: bool = False
    only_recursive_selinux_change: bool = True
    allow_invalid_selector: bool = False
    allow_host_sysctls: bool = False
    allow_any_deletion_cost: bool = False
    image_digests: bool = False
    strict_addresses: bool = True

    def validate_tolerations(self, tolerations: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
        """Validate tolerations of the pod."""
        return validate_tolerations(tolerations, at, extensions=self.extensions, allowed=self.allowed_extensions)


def _has_empty_image(volumes: Iterable[ReadOnlyObject]) -> bool:
    return any("image" in volume and not volume["image"].get("reference") for volume in volumes)


# Cached, so that equal capabilities give the identical object: the cache of valid specs compares options by identity.
@lru_cache(maxsize=64)
def pod_validation_options(
    caps: Capabilities, extensions: ValidationExtensions, *, is_pod: bool = True
) -> PodValidationOptions:
    """Return the options for a new pod or template."""
    options = PodValidationOptions(
        containers=ContainerValidationOptions(
            env=EnvValidationOptions(
                is_feature_enabled(caps, "RelaxedEnvironmentVariableValidation"), is_feature_enabled(caps, "EnvFiles")
            ),
            restart_rules=is_feature_enabled(caps, "ContainerRestartRules"),
            restart_all_containers=is_feature_enabled(caps, "RestartAllContainersOnContainerExits"),
            init_resize_policy=is_feature_enabled(caps, "InPlacePodVerticalScaling"),
            allow_zero_sleep=is_feature_enabled(caps, "PodLifecycleSleepActionAllowZero"),
        ),
        volumes=PodVolumeValidationOptions(
            ClaimValidationOptions(attributes_class=is_attributes_class_enabled(caps)),
            allow_empty_image=not is_pod and caps.version < _IMAGE_REQUIRED_SINCE,
        ),
        spread=SpreadValidationOptions(merge_label_keys=_merges_label_keys(caps)),
        is_pod=is_pod,
        pod_level_resources=is_feature_enabled(caps, "PodLevelResources"),
        pod_level_resources_resize=is_feature_enabled(caps, "InPlacePodLevelResourcesVerticalScaling"),
        relaxed_dns_search=is_feature_enabled(caps, "RelaxedDNSSearchValidation"),
        host_network_in_user_namespace=is_feature_enabled(caps, "UserNamespacesHostNetworkSupport"),
        only_recursive_selinux_change=not is_feature_enabled(caps, "SELinuxMount"),
        image_digests=is_feature_enabled(caps, "ImageVolumeWithDigest"),
        strict_addresses=is_feature_enabled(caps, STRICT_GATE),
        allow_any_deletion_cost=not is_feature_enabled(caps, "PodDeletionCost"),
    )
    return _with_extensions(options, caps, extensions, {})


def validate_with_ratcheting(
    check: Callable[[PodValidationOptions], list[FieldError]],
    new: ReadOnlyObject,
    old: ReadOnlyObject,
    options: PodValidationOptions,
    caps: Capabilities,
) -> list[FieldError]:
    """Validate an update; on errors repeat it with options relaxed by what `old` uses."""
    spec = old.get("spec", {})
    errors = check(options)
    # A valid update needs no relaxed options. Label keys of spread constraints are the exception: the stored pod
    # decides which of two rules applies, and neither is weaker than the other.
    if not errors and not any("matchLabelKeys" in item for item in spec.get("topologySpreadConstraints", ())):
        return errors
    return check(_with_extensions(_relax(options, caps, new, old), caps, options.extensions, spec))


def _with_extensions(
    options: PodValidationOptions, caps: Capabilities, extensions: ValidationExtensions, old: ReadOnlyObject
) -> PodValidationOptions:
    allowed = extensions.find_allowed_gates(caps, old.get("tolerations", ()), node_selector_terms(old))
    selectors = NodeSelectorOptions(has_invalid_values(required_node_selector_terms(old)), extensions, allowed)
    return replace(options, extensions=extensions, allowed_extensions=allowed, node_selectors=selectors)


def _merges_label_keys(caps: Capabilities) -> bool:
    """Return whether the server merges matchLabelKeys of spread constraints into selectors."""
    gates = ("MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodTopologySpreadSelectorMerge")
    return all(is_feature_enabled(caps, gate) for gate in gates)


def _relax(
    options: PodValidationOptions, caps: Capabilities, new: ReadOnlyObject, old: ReadOnlyObject
) -> PodValidationOptions:
    """Return options that allow what the stored pod already does."""
    spec = old.get("spec", {})
    search = spec.get("dnsConfig", {}).get("searches", ())
    own_users = spec.get("hostUsers") is False
    return replace(
        options,
        containers=_relax_containers(options.containers, new.get("spec", {}), spec),
        volumes=replace(
            options.volumes,
            allow_any_token_path=has_invalid_token_path(spec.get("volumes", ())),
            allow_empty_image=options.volumes.allow_empty_image or _has_empty_image(spec.get("volumes", ())),
        ),
        spread=_relax_spread(options.spread, caps, spec),
        relaxed_dns_search=options.relaxed_dns_search or any(name == "." or "_" in name for name in search),
        host_network_in_user_namespace=options.host_network_in_user_namespace
        or (own_users and spec.get("hostNetwork", False)),
        devices_in_user_namespace=own_users and any("volumeDevices" in item for item in all_containers(spec)),
        only_recursive_selinux_change=options.only_recursive_selinux_change
        and "seLinuxChangePolicy" not in spec.get("securityContext", {}),
        allow_invalid_selector=any(validate_affinity_term_selectors(term, "") for term in pod_affinity_terms(spec)),
        allow_host_sysctls=uses_host_sysctls(spec),
        allow_any_deletion_cost=options.allow_any_deletion_cost
        or not deletion_cost_is_integer(old.get("metadata", {}).get("annotations", {})),
    )


def _relax_spread(options: SpreadValidationOptions, caps: Capabilities, old: ReadOnlyObject) -> SpreadValidationOptions:
    constraints = old.get("topologySpreadConstraints", ())
    merged = options.merge_label_keys
    if is_feature_enabled(caps, "MatchLabelKeysInPodTopologySpread"):
        # Constraints stored under the other setting of the gate violate the present rule, and are validated by the
        # other one.
        broken = has_invalid_merged_keys if merged else has_invalid_unmerged_keys
        merged = merged != broken(constraints)
    return SpreadValidationOptions(merged, any(is_invalid_selector(item.get("labelSelector")) for item in constraints))


def _relax_containers(
    options: ContainerValidationOptions, new: ReadOnlyObject, old: ReadOnlyObject
) -> ContainerValidationOptions:
    init = old.get("initContainers", ())
    return replace(
        options,
        env=_relax_env(options.env, new, old),
        restart_rules=options.restart_rules or uses_restart_rules(old),
        restart_all_containers=options.restart_all_containers or _uses_restart_all_containers(old),
        init_resize_policy=options.init_resize_policy or any(is_sidecar(c) and "resizePolicy" in c for c in init),
        init_restart_on_resize=any(not is_sidecar(c) and _has_restart_on_resize(c) for c in init),
        allow_zero_sleep=options.allow_zero_sleep or _uses_zero_sleep(old),
        allow_indivisible_huge_pages=_uses_indivisible_huge_pages(old),
    )


def _relax_env(options: EnvValidationOptions, new: ReadOnlyObject, old: ReadOnlyObject) -> EnvValidationOptions:
    relaxed, files = options.relaxed_names, options.allow_file_keys
    if not relaxed:
        # Only a name that is kept excuses itself: new variables must follow the strict rule.
        unchanged = _variable_names(new) & _variable_names(old)
        relaxed = any(
            names.check_env_var_name(name) and not names.check_relaxed_env_var_name(name) for name in unchanged
        )
    if not files:
        files = any("fileKeyRef" in item.get("valueFrom", {}) for c in all_containers(old) for item in c.get("env", ()))
    return EnvValidationOptions(relaxed, files)


def _variable_names(spec: ReadOnlyObject) -> set[str]:
    variables = {item.get("name", "") for c in all_containers(spec) for item in c.get("env", ())}
    return variables | {item.get("prefix", "") for c in all_containers(spec) for item in c.get("envFrom", ())}


def uses_restart_rules(spec: ReadOnlyObject) -> bool:
    """Return whether containers of the pod have restart policies of their own."""
    init = spec.get("initContainers", ())
    return any(c.get("restartPolicy", "Always") != "Always" or "restartPolicyRules" in c for c in init) or any(
        "restartPolicy" in c for c in spec.get("containers") or ()
    )


def _uses_restart_all_containers(spec: ReadOnlyObject) -> bool:
    init = spec.get("initContainers", ())
    if any(is_sidecar(container) and "restartPolicyRules" in container for container in init):
        return True
    return any(
        rule.get("action") == "RestartAllContainers"
        for container in (*init, *(spec.get("containers") or ()))
        for rule in container.get("restartPolicyRules", ())
    )


def _has_restart_on_resize(container: ReadOnlyObject) -> bool:
    return any(policy.get("restartPolicy") == "RestartContainer" for policy in container.get("resizePolicy", ()))


def _uses_zero_sleep(spec: ReadOnlyObject) -> bool:
    handlers = (c.get("lifecycle", {}).get(kind, {}) for c in all_containers(spec) for kind in ("preStop", "postStart"))
    return any("sleep" in handler and not handler["sleep"].get("seconds") for handler in handlers)


def _uses_indivisible_huge_pages(spec: ReadOnlyObject) -> bool:
    amounts: list[Mapping[str, str]] = [spec.get("overhead", {})]
    for container in all_containers(spec):
        resources = container.get("resources", {})
        amounts += [resources.get("limits", {}), resources.get("requests", {})]
    return any(
        name.startswith(HUGE_PAGES_PREFIX) and not is_multiple_of_huge_page(name, amount)
        for part in amounts
        for name, amount in part.items()
    )


def deletion_cost_is_integer(annotations: Mapping[str, str]) -> bool:
    """Return whether the pod deletion cost, if given, is a 32-bit integer without leading zeros."""
    # upstream 1.36: pkg/apis/core/helper/helpers.go, GetDeletionCostFromPodAnnotations
    text = annotations.get(DELETION_COST_ANNOTATION)
    if text is None:
        return True
    return bool(_INTEGER.fullmatch(text)) and -(2**31) <= int(text) < 2**31
