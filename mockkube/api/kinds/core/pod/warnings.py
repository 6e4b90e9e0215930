"""Warn about deprecated, ambiguous or ineffective fields of pods and templates."""

# upstream 1.36: pkg/api/pod/warnings.go

from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.api.bounded_cache import DigestCache, digest_json
from mockkube.api.fields import quote
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import PREFERRED, REQUIRED
from mockkube.api.kinds.core.pod.containers.container_lists import containers_with_paths
from mockkube.api.kinds.core.pod.containers.profiles import (
    APP_ARMOR_ANNOTATION_PREFIX,
    SECCOMP_CONTAINER_ANNOTATION_PREFIX,
    SECCOMP_POD_ANNOTATION,
    to_app_armor_field,
)
from mockkube.api.kinds.core.pod.volumes.warnings import overlap_warnings, volume_warnings
from mockkube.api.quantities.quantity import parse
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.addresses import get_ip_warnings
from mockkube.api.validation.labels import NULL_SELECTOR_WARNING
from mockkube.api.validation.node_selector import DEPRECATED_LABELS, get_node_selector_term_warnings

# Bound on warnings about ports, whose pairs are quadratic; response headers have room for fewer.
_PORT_WARNINGS_MAX: Final = 1000
_DEPRECATED_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP_WARNING: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APP_ARMOR_WARNING: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_PROFILE_ANNOTATIONS: Final = (
    SECCOMP_POD_ANNOTATION,
    SECCOMP_CONTAINER_ANNOTATION_PREFIX,
    APP_ARMOR_ANNOTATION_PREFIX,
)
_BYTE_RESOURCES: Final = ("memory", "ephemeral-storage")


# Specs without warnings, wherever they stand.
_WITHOUT_WARNINGS: Final[DigestCache[bool]] = DigestCache()


def pod_warnings(meta: ReadOnlyObject, spec: ReadOnlyObject, context: StrategyContext, at: str = "") -> list[str]:
    """Return the warnings about a pod, or about the template at a path."""
    annotations = meta.get("annotations")
    if annotations and any(map(_is_deprecated_annotation, annotations)):
        return _find_warnings(annotations, spec, context, at)
    digest = digest_json(spec)
    if _WITHOUT_WARNINGS.get(digest, context.caps):
        return []
    warnings = _find_warnings({}, spec, context, at)
    if not warnings:
        _WITHOUT_WARNINGS.put(digest, context.caps, True)
    return warnings


def _is_deprecated_annotation(key: str) -> bool:
    """Return whether warnings depend on an annotation with this key."""
    return key in _DEPRECATED_ANNOTATIONS or key.startswith(_PROFILE_ANNOTATIONS)


def _find_warnings(annotations: ReadOnlyObject, spec: ReadOnlyObject, context: StrategyContext, at: str) -> list[str]:
    prefix = f"{at}." if at else ""
    in_spec = f"{prefix}spec"
    warnings = [*_node_label_warnings(spec, in_spec)]
    for key, text in _DEPRECATED_ANNOTATIONS.items():
        if key in annotations:
            warnings.append(f"{prefix}metadata.annotations[{key}]: {text}")
    if "volumes" in spec:
        warnings += volume_warnings(spec["volumes"], f"{in_spec}.volumes", context)
        warnings += overlap_warnings(spec["volumes"])
    warnings += _duplicate_item_warnings(spec, in_spec)
    warnings += _fraction_warnings(spec.get("overhead", {}), f"{in_spec}.overhead")
    if annotations:
        warnings += _profile_warnings(annotations, spec, prefix)
    for container, path in containers_with_paths(spec, in_spec):
        warnings += _container_warnings(container, path, annotations, f"{prefix}metadata.annotations", spec, bool(at))
    warnings += _port_warnings(spec, in_spec)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        warnings.append(f"{in_spec}.terminationGracePeriodSeconds: {text}")
    warnings += _affinity_warnings(spec, in_spec)
    for i, server in enumerate(spec.get("dnsConfig", {}).get("nameservers", ())):
        warnings += get_ip_warnings(server, f"{in_spec}.dnsConfig.nameservers[{i}]")
    for i, alias in enumerate(spec.get("hostAliases", ())):
        warnings += get_ip_warnings(alias.get("ip", ""), f"{in_spec}.hostAliases[{i}].ip")
    return warnings


def _node_label_warnings(spec: ReadOnlyObject, at: str) -> Iterator[str]:
    for key in spec.get("nodeSelector", ()):
        if key in DEPRECATED_LABELS:
            yield f"{at}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}"
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    here = f"{at}.affinity.nodeAffinity"
    for i, term in enumerate(affinity.get(REQUIRED, {}).get("nodeSelectorTerms") or ()):
        yield from get_node_selector_term_warnings(term, f"{here}.{REQUIRED}.nodeSelectorTerms[{i}]")
    for i, term in enumerate(affinity.get(PREFERRED, ())):
        preference = term.get("preference", {})
        yield from get_node_selector_term_warnings(preference, f"{here}.{PREFERRED}[{i}].preference", check_values=True)
    for i, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        key, here = constraint.get("topologyKey", ""), f"{at}.topologySpreadConstraints[{i}]"
        if key in DEPRECATED_LABELS:
            yield f"{here}.topologyKey: {key} is {DEPRECATED_LABELS[key]}"
        if "labelSelector" not in constraint:
            yield f"{here}.labelSelector: {NULL_SELECTOR_WARNING}"


def _duplicate_item_warnings(spec: ReadOnlyObject, at: str) -> Iterator[str]:
    yield from _warn_duplicates(spec.get("hostAliases", ()), "ip", f"{at}.hostAliases")
    yield from _warn_duplicates(spec.get("imagePullSecrets", ()), "name", f"{at}.imagePullSecrets")
    for i, secret in enumerate(spec.get("imagePullSecrets", ())):
        if not secret.get("name"):
            yield f'{at}.imagePullSecrets[{i}].name: invalid empty name ""'


def _warn_duplicates(items: Sequence[ReadOnlyObject], field: str, at: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, item in enumerate(items):
        value = item.get(field, "")
        if value in seen:
            yield f"{at}[{i}].{field}: duplicate {field} {quote(value)}"
        seen.add(value)


def _fraction_warnings(amounts: ReadOnlyObject, at: str) -> Iterator[str]:
    for name in _BYTE_RESOURCES:
        if name in amounts and parse(amounts[name]).milli() % 1000:
            yield format_fraction_warning(amounts[name], f"{at}[{name}]")


def format_fraction_warning(amount: str, at: str) -> str:
    """Return the warning about a fractional byte amount."""
    return f"{at}: fractional byte value {quote(amount)} is invalid, must be an integer"


def _profile_warnings(annotations: ReadOnlyObject, spec: ReadOnlyObject, prefix: str) -> Iterator[str]:
    if SECCOMP_POD_ANNOTATION in annotations and "seccompProfile" not in spec.get("securityContext", {}):
        yield f"{prefix}metadata.annotations[{SECCOMP_POD_ANNOTATION}]: {_SECCOMP_WARNING}"


# hot: per container
def _container_warnings(
    container: ReadOnlyObject,
    at: str,
    annotations: ReadOnlyObject,
    annotations_at: str,
    spec: ReadOnlyObject,
    is_template: bool,
) -> list[str]:
    warnings: list[str] = []
    if annotations:
        warnings += _container_profile_warnings(container, annotations, annotations_at, spec, is_template)
    resources = container.get("resources", {})
    for name in _BYTE_RESOURCES:
        for kind in ("limits", "requests"):
            amount = resources.get(kind, {}).get(name)
            if amount is not None and parse(amount).milli() % 1000:
                warnings.append(format_fraction_warning(amount, f"{at}.resources.{kind}[{name}]"))
    variables = container.get("env", ())
    if len(variables) > 1:
        warnings += _hidden_variable_warnings(variables, f"{at}.env")
    return warnings


def _container_profile_warnings(
    container: ReadOnlyObject, annotations: ReadOnlyObject, at: str, spec: ReadOnlyObject, is_template: bool
) -> Iterator[str]:
    context, name = container.get("securityContext", {}), container.get("name", "")
    key = SECCOMP_CONTAINER_ANNOTATION_PREFIX + name
    if key in annotations and "seccompProfile" not in context:
        yield f"{at}[{key}]: {_SECCOMP_WARNING}"
    key = APP_ARMOR_ANNOTATION_PREFIX + name
    # Pods get the field from the annotation on creation and are warned about by their strategy.
    if is_template and key in annotations and "appArmorProfile" not in context:
        common = spec.get("securityContext", {}).get("appArmorProfile")
        if common is None or common != to_app_armor_field(annotations[key]):
            yield format_app_armor_warning(key, at)


def format_app_armor_warning(key: str, at: str = "metadata.annotations") -> str:
    """Return the warning about an AppArmor annotation."""
    return f"{at}[{key}]: {_APP_ARMOR_WARNING}"


def _hidden_variable_warnings(variables: Sequence[ReadOnlyObject], at: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        # A variable that extends its previous value, like PATH=$(PATH):/bin, is repeated on purpose.
        hides = "valueFrom" in variable or value == reference or reference not in value
        if name in seen and hides:
            yield f"{at}[{i}]: hides previous definition of {quote(name)}, which may be dropped when using apply"
        seen.add(name)


def _port_warnings(spec: ReadOnlyObject, at: str) -> list[str]:
    warnings: list[str] = []
    ports: list[tuple[ReadOnlyObject, str]] = []
    for container, path in containers_with_paths(spec, at):
        ports += [(port, f"{path}.ports[{i}]") for i, port in enumerate(container.get("ports", ()))]
    earlier: dict[tuple[int, str], list[tuple[ReadOnlyObject, str]]] = {}
    for port, path in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            warnings.append(f"{path}: hostIP set without hostPort: {_format_port_struct(port)}")
        others = earlier.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
        for other, other_path in others:
            if len(warnings) >= _PORT_WARNINGS_MAX:
                return warnings
            if kind := _classify_port_clash(port, other):
                warnings.append(f"{path}: {kind} port definition with {other_path}")
        others.append((port, path))
    return [*warnings, *_port_name_warnings(ports)]


def _format_port_struct(port: ReadOnlyObject) -> str:
    shown = {
        "Name": port.get("name", ""),
        "HostPort": port.get("hostPort", 0),
        "ContainerPort": port.get("containerPort", 0),
        "Protocol": port.get("protocol", ""),
        "HostIP": port.get("hostIP", ""),
    }
    # Upstream prints the port with Go's `%+v`.
    return f"{{{' '.join(f'{name}:{value}' for name, value in shown.items())}}}"


def _classify_port_clash(port: ReadOnlyObject, other: ReadOnlyObject) -> str:
    address, host = port.get("hostIP", ""), port.get("hostPort", 0)
    other_address, other_host = other.get("hostIP", ""), other.get("hostPort", 0)
    if (address, host) == (other_address, other_host):
        return "duplicate"
    # One container port may be exposed with and without a host port.
    if not host or not other_host:
        return "overlapping"
    return "dangerously ambiguous" if host == other_host and bool(address) != bool(other_address) else ""


def _port_name_warnings(ports: Sequence[tuple[ReadOnlyObject, str]]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for port, path in ports:
        name = port.get("name")
        if not name:
            continue
        if name in seen:
            first = seen[name]
            uses = f"services and probes that select ports by name will use {first}"
            yield f"{path}: duplicate port name {quote(name)} with {first}, {uses}"
        else:
            seen[name] = path


def _affinity_warnings(spec: ReadOnlyObject, at: str) -> Iterator[str]:
    affinity = spec.get("affinity", {})
    for kind in ("podAffinity", "podAntiAffinity"):
        terms, here = affinity.get(kind, {}), f"{at}.affinity.{kind}"
        for i, term in enumerate(terms.get(REQUIRED, ())):
            if "labelSelector" not in term:
                yield f"{here}.{REQUIRED}[{i}].labelSelector: {NULL_SELECTOR_WARNING}"
        for i, weighted in enumerate(terms.get(PREFERRED, ())):
            if "labelSelector" not in weighted.get("podAffinityTerm", {}):
                yield f"{here}.{PREFERRED}[{i}].podAffinityTerm.labelSelector: {NULL_SELECTOR_WARNING}"
