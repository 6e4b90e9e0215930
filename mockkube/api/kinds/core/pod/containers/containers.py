"""Validate containers of a pod: regular, init and ephemeral ones."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateContainers and what follows it

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Final

from mockkube.api import names
from mockkube.api.fields import (
    FieldError,
    TypedString,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.env import EnvValidationOptions, validate_env, validate_env_from
from mockkube.api.kinds.core.pod.containers.mounts import Volumes, validate_volume_devices, validate_volume_mounts
from mockkube.api.kinds.core.pod.containers.probes import HandlerValidationContext, validate_lifecycle, validate_probes
from mockkube.api.kinds.core.pod.containers.resources import validate_container_resources
from mockkube.api.kinds.core.pod.containers.security import validate_security_context
from mockkube.api.validation.internal_form import to_internal_form
from mockkube.lazy_dataclasses import dataclass

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
_EPHEMERAL_DETAIL: Final = "cannot be set for an Ephemeral Container"
_EPHEMERAL_FORBIDDEN_FIELDS: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
_SIDECAR_ONLY_DETAIL: Final = "may not be set for init containers without restartPolicy=Always"


@dataclass(frozen=True, slots=True)
class ContainerValidationOptions:
    """Validation options that follow from the gates and the stored pod."""

    env: EnvValidationOptions = field(default_factory=EnvValidationOptions)
    restart_rules: bool = True
    restart_all_containers: bool = True
    init_resize_policy: bool = True
    init_restart_on_resize: bool = False
    allow_zero_sleep: bool = True
    allow_indivisible_huge_pages: bool = False


@dataclass(frozen=True, slots=True)
class ContainerValidationContext:
    """The pod around the containers, as far as their validation depends on it."""

    options: ContainerValidationOptions
    volumes: Volumes
    claim_names: Collection[str]
    handler_context: HandlerValidationContext
    restart_policy: str
    host_users: bool


def validate_containers(
    containers: Sequence[ReadOnlyObject], at: str, context: ContainerValidationContext
) -> list[FieldError]:
    """Validate the regular containers; a pod needs at least one."""
    if not containers:
        return [required(at)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, container in enumerate(containers):
        here = f"{at}[{i}]"
        errors += _validate_container(container, here, context)
        errors += _validate_unique_name(container, here, seen)
        if "lifecycle" in container:
            errors += validate_lifecycle(container["lifecycle"], f"{here}.lifecycle", context.handler_context)
        errors += validate_probes(container, here, context.handler_context)
        if context.options.restart_rules:
            errors += _validate_container_restart(container, here, context.options)
        elif "restartPolicy" in container:
            errors.append(forbidden(f"{here}.restartPolicy", "may not be set for non-init containers"))
    return errors + _validate_host_ports(containers, at)


def _validate_unique_name(container: ReadOnlyObject, at: str, seen: set[str]) -> list[FieldError]:
    name = container.get("name", "")
    if name in seen:
        return [duplicate(f"{at}.name", name)]
    seen.add(name)
    return []


def validate_init_containers(
    containers: Sequence[ReadOnlyObject],
    at: str,
    context: ContainerValidationContext,
    regular: Sequence[ReadOnlyObject],
) -> list[FieldError]:
    """Validate the init containers; only sidecars may have probes and lifecycle handlers."""
    errors: list[FieldError] = []
    seen = {container.get("name", "") for container in regular}
    for i, container in enumerate(containers):
        here = f"{at}[{i}]"
        errors += _validate_container(container, here, context)
        errors += _validate_init_restart_policy(container, here, context.options)
        # A missing name is reported as required; it is also a duplicate only if a regular container lacks its name,
        # too.
        if container.get("name") or "" in seen:
            errors += _validate_unique_name(container, here, seen)
        # Init containers run one after the other, so the same host port in two of them is no conflict.
        errors += _validate_host_ports((container,), at)
        errors += _validate_init_handlers(container, here, context)
        errors += _validate_init_resize(container, here, context.options)
    return errors


def is_sidecar(container: ReadOnlyObject) -> bool:
    """Return whether an init container keeps running beside the regular ones."""
    return container.get("restartPolicy") == "Always"


def _validate_init_restart_policy(
    container: ReadOnlyObject, at: str, options: ContainerValidationOptions
) -> list[FieldError]:
    policy, restart_rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is None:
        text = "must specify restartPolicy when restart rules are used"
        return [required(f"{at}.restartPolicy", text)] if restart_rules else []
    if not options.restart_rules:
        return [] if policy == "Always" else [not_supported(f"{at}.restartPolicy", policy, ("Always",))]
    if policy != "Always" or options.restart_all_containers:
        return _validate_container_restart(container, at, options)
    text = "restartPolicyRules are not allowed for init containers with restart policy Always"
    return [forbidden(f"{at}.restartPolicyRules", text)] if restart_rules else []


def _validate_init_handlers(
    container: ReadOnlyObject, at: str, context: ContainerValidationContext
) -> list[FieldError]:
    if not is_sidecar(container):
        kinds = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
        return [forbidden(f"{at}.{kind}", _SIDECAR_ONLY_DETAIL) for kind in kinds if kind in container]
    errors: list[FieldError] = []
    if "lifecycle" in container:
        errors += validate_lifecycle(container["lifecycle"], f"{at}.lifecycle", context.handler_context)
    return errors + validate_probes(container, at, context.handler_context)


def _validate_init_resize(container: ReadOnlyObject, at: str, options: ContainerValidationOptions) -> list[FieldError]:
    policies = container.get("resizePolicy", ())
    errors = []
    if policies and not options.init_resize_policy:
        shown = to_internal_form("[]ContainerResizePolicy", policies)
        errors.append(invalid(f"{at}.resizePolicy", shown, "must not be set for init containers"))
    if is_sidecar(container) or options.init_restart_on_resize:
        return errors
    text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
    return errors + [
        invalid(f"{at}.resizePolicy[{i}].restartPolicy", "RestartContainer", text)
        for i, policy in enumerate(policies)
        if policy.get("restartPolicy") == "RestartContainer"
    ]


def validate_ephemeral_containers(
    containers: Sequence[ReadOnlyObject], at: str, context: ContainerValidationContext, others: Collection[str]
) -> list[FieldError]:
    """Validate the ephemeral containers; `others` are the names of all other containers."""
    errors: list[FieldError] = []
    seen = set(others)
    for i, container in enumerate(containers):
        here = f"{at}[{i}]"
        errors += _validate_container(container, here, context)
        errors += validate_trimmed_image(container, here)
        errors += _validate_unique_name(container, here, seen)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.append(not_found(f"{here}.targetContainerName", target))
        errors += [
            forbidden(f"{here}.{name}", _EPHEMERAL_DETAIL)
            for name in _EPHEMERAL_FORBIDDEN_FIELDS
            # `resources` is a struct in Go and so always present: it counts only if it is not empty.
            if container.get(name) or (name != "resources" and name in container)
        ]
        for j, mount in enumerate(container.get("volumeMounts", ())):
            paths = [name for name in ("subPath", "subPathExpr") if mount.get(name)]
            errors += [forbidden(f"{here}.volumeMounts[{j}].{name}", _EPHEMERAL_DETAIL) for name in paths]
    return errors


def validate_trimmed_image(container: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject whitespace around an image name; templates may have it."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    return [invalid(f"{at}.image", image, "must not have leading or trailing whitespace")]


# hot: per container
def _validate_container(container: ReadOnlyObject, at: str, context: ContainerValidationContext) -> list[FieldError]:
    """Validate the fields that all types of containers share."""
    errors: list[FieldError] = []
    name = container.get("name")
    if name:
        errors += [invalid(f"{at}.name", name, text) for text in names.check_dns_label(name)]
    else:
        errors.append(required(f"{at}.name"))
    if not container.get("image"):
        errors.append(required(f"{at}.image"))
    policy = container.get("terminationMessagePolicy")
    if policy not in _MESSAGE_POLICIES:
        errors.append(_unsupported_or_missing(policy, f"{at}.terminationMessagePolicy", _MESSAGE_POLICIES))
    if "ports" in container:
        errors += _validate_ports(container["ports"], f"{at}.ports")
    if "env" in container:
        errors += validate_env(container["env"], f"{at}.env", context.options.env)
    if "envFrom" in container:
        errors += validate_env_from(container["envFrom"], f"{at}.envFrom", context.options.env)
    if "volumeMounts" in container:
        errors += validate_volume_mounts(container["volumeMounts"], f"{at}.volumeMounts", container, context.volumes)
    if "volumeDevices" in container:
        errors += validate_volume_devices(container["volumeDevices"], f"{at}.volumeDevices", container, context.volumes)
    errors += validate_pull_policy(container.get("imagePullPolicy"), f"{at}.imagePullPolicy")
    if resources := container.get("resources"):
        indivisible = context.options.allow_indivisible_huge_pages
        errors += validate_container_resources(
            resources, f"{at}.resources", context.claim_names, allow_indivisible=indivisible
        )
    if "resizePolicy" in container:
        errors += _validate_resize_policy(container["resizePolicy"], f"{at}.resizePolicy", context.restart_policy)
    if security_context := container.get("securityContext"):
        errors += validate_security_context(security_context, f"{at}.securityContext", host_users=context.host_users)
    return errors


def _unsupported_or_missing(value: str | None, at: str, known: Sequence[str]) -> FieldError:
    return not_supported(at, value, known) if value else required(at)


def validate_pull_policy(policy: str | None, at: str) -> list[FieldError]:
    """Validate imagePullPolicy."""
    return [] if policy in _PULL_POLICIES else [_unsupported_or_missing(policy, at, _PULL_POLICIES)]


def _validate_ports(ports: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, port in enumerate(ports):
        here = f"{at}[{i}]"
        if name := port.get("name"):
            errors += _validate_port_name(name, f"{here}.name", seen)
        number, host = port.get("containerPort"), port.get("hostPort")
        if number:
            errors += [invalid(f"{here}.containerPort", number, text) for text in names.check_port_number(number)]
        else:
            errors.append(required(f"{here}.containerPort"))
        if host:
            errors += [invalid(f"{here}.hostPort", host, text) for text in names.check_port_number(host)]
        protocol = port.get("protocol")
        if protocol not in _PROTOCOLS:
            errors.append(_unsupported_or_missing(protocol, f"{here}.protocol", _PROTOCOLS))
    return errors


def _validate_port_name(name: str, at: str, seen: set[str]) -> list[FieldError]:
    if texts := names.check_port_name(name):
        return [invalid(at, name, text) for text in texts]
    if name in seen:
        return [duplicate(at, name)]
    seen.add(name)
    return []


def _validate_host_ports(containers: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports", ())):
            if number := port.get("hostPort"):
                # Host IPs are compared as texts: 0.0.0.0 does not conflict with a specific address, though it would on
                # the node.
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{number}"
                if key in seen:
                    errors.append(duplicate(f"{at}[{i}].ports[{j}].hostPort", key))
                seen.add(key)
    return errors


def _validate_resize_policy(policies: Sequence[ReadOnlyObject], at: str, pod_restart: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            errors.append(duplicate(f"{at}[{i}]", name))
        seen.add(name)
        for value, known in ((name, ("cpu", "memory")), (restart, ("NotRequired", "RestartContainer"))):
            if value not in known:
                errors.append(_unsupported_or_missing(value, at, known))
        # A container that never restarts cannot be resized by a restart.
        if pod_restart == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(at, TypedString(restart), text))
    return errors


def _validate_container_restart(
    container: ReadOnlyObject, at: str, options: ContainerValidationOptions
) -> list[FieldError]:
    policy, restart_rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    errors: list[FieldError] = []
    if policy is None:
        if not restart_rules:
            return []
        errors.append(required(f"{at}.restartPolicy", "must specify restartPolicy when restart rules are used"))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(f"{at}.restartPolicy", policy, _RESTART_POLICIES))
    if len(restart_rules) > _RULES_MAX:
        errors.append(too_many(f"{at}.restartPolicyRules", len(restart_rules), _RULES_MAX))
    actions = ("Restart", "RestartAllContainers") if options.restart_all_containers else ("Restart",)
    for i, rule in enumerate(restart_rules):
        errors += _validate_restart_rule(rule, f"{at}.restartPolicyRules[{i}]", actions)
    return errors


def _validate_restart_rule(rule: ReadOnlyObject, at: str, actions: Sequence[str]) -> list[FieldError]:
    errors = []
    if rule.get("action") not in actions:
        errors.append(not_supported(f"{at}.action", rule.get("action", ""), actions))
    codes = rule.get("exitCodes")
    if codes is None:
        return [*errors, required(f"{at}.exitCodes", "must be specified")]
    if codes.get("operator") not in ("In", "NotIn"):
        errors.append(not_supported(f"{at}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn")))
    if len(codes.get("values", ())) > _EXIT_CODES_MAX:
        errors.append(too_many(f"{at}.exitCodes.values", len(codes["values"]), _EXIT_CODES_MAX))
    return errors
