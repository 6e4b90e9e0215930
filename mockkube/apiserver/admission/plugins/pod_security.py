"""PodSecurity: enforce the Pod Security Standard that the labels of a namespace demand."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from mockkube.api.catalogue import KINDS
from mockkube.api.errors import Invalid
from mockkube.api.fields import FieldError, invalid, map_entry_path
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.admission.plugins.pod_security_checks import Violation, checks_for, containers
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass

# Pods checked when the labels of a namespace become stricter; there are no warnings for more.
PODS_CHECKED_MAX: Final = 3000
LEVELS: Final = ("privileged", "baseline", "restricted")
_LABEL_PREFIX: Final = "pod-security.kubernetes.io/"
_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)")
_IGNORED_SUBRESOURCES: Final = frozenset(
    ("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status")
)
_TEMPLATE_PATHS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    (kind.group, kind.plural): kind.pod_spec[:-1] for kind in KINDS if len(kind.pod_spec) > 1
}
"""Path to the pod template by group and plural."""
_CHECKED: Final = frozenset((*_TEMPLATE_PATHS, ("", "pods"), ("", "namespaces")))


@dataclass(frozen=True, slots=True)
class PodSecurityStandard:
    """Level of the Pod Security Standards at a version; None is the latest."""

    level: str = "privileged"
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"

    def find_violations(self, pod: ReadOnlyObject, caps: Capabilities) -> list[Violation]:
        """Return the violations of a pod, as a server with these capabilities sees them."""
        # A version newer than the server is treated as the latest.
        newest = caps.version.minor
        minor = newest if self.minor is None else min(self.minor, newest)
        # upstream 1.34: the gate of 1.33 and 1.34 relaxes the standard of every version.
        checks = checks_for(
            self.level, minor, relaxes_user_namespaces=caps.enabled("UserNamespacesPodSecurityStandards")
        )
        judged = (judge(pod.get("metadata") or {}, pod["spec"]) for judge in checks)
        return [finding for finding in judged if finding is not None]


@dataclass(frozen=True, slots=True)
class NamespacePolicy:
    """Standards that the labels of a namespace demand."""

    enforce: PodSecurityStandard
    warn: PodSecurityStandard
    errors: tuple[FieldError, ...] = ()

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> "NamespacePolicy":
        """Parse the labels; an invalid `enforce` level counts as the strictest one and is an error."""
        # upstream 1.36: pod-security-admission/api/helpers.go, PolicyToEvaluate
        if _LABEL_PREFIX not in " ".join(labels):
            return UNRESTRICTED
        errors: list[FieldError] = []
        enforce = _parse_standard(labels, "enforce", errors)
        # There is no audit log, but invalid labels are errors all the same.
        _parse_standard(labels, "audit", errors)
        warn = _parse_standard(labels, "warn", errors)
        stricter = LEVELS.index(enforce.level) > LEVELS.index(warn.level)
        if f"{_LABEL_PREFIX}warn" not in labels and labels.get(f"{_LABEL_PREFIX}enforce") in LEVELS and stricter:
            minor = warn.minor if f"{_LABEL_PREFIX}warn-version" in labels else enforce.minor
            # upstream: without a `warn` label the enforced level also produces warnings, for pod templates.
            warn = PodSecurityStandard(enforce.level, minor)
        return cls(enforce, warn, tuple(errors))


# Policy of a namespace without labels: nothing is forbidden.
UNRESTRICTED: Final = NamespacePolicy(PodSecurityStandard(), PodSecurityStandard())


def _parse_standard(labels: Mapping[str, str], mode: str, errors: list[FieldError]) -> PodSecurityStandard:
    level = labels.get(_LABEL_PREFIX + mode, "privileged")
    if level not in LEVELS:
        detail = f"must be one of {', '.join(LEVELS)}"
        errors.append(invalid(map_entry_path("metadata.labels", _LABEL_PREFIX + mode), level, detail))
        level = "restricted" if mode == "enforce" else "privileged"
    version = labels.get(f"{_LABEL_PREFIX}{mode}-version", "latest")
    match = _VERSION.fullmatch(version)
    if version != "latest" and match is None:
        at = map_entry_path("metadata.labels", f"{_LABEL_PREFIX}{mode}-version")
        errors.append(invalid(at, version, 'must be "latest" or "v1.x"'))
    return PodSecurityStandard(level, int(match[1]) if match else None)


class PodSecurity(AdmissionPlugin):
    """Rejects pods that violate the enforced standard; warns about those that violate the warn level."""

    # upstream 1.36: pod-security-admission/admission/admission.go
    name = "PodSecurity"

    def validate(self, request: AdmissionAttributes) -> None:
        """Check pods, pod templates, and the labels of namespaces."""
        storage_resource = request.resource.storage_resource
        kind, subresource = (storage_resource.group, storage_resource.plural), request.scope.subresource
        if kind == ("", "pods") and subresource not in _IGNORED_SUBRESOURCES:
            _validate_pod(request)
        elif kind == ("", "namespaces") and not subresource:
            _validate_namespace(request)
        elif kind in _TEMPLATE_PATHS and not subresource:
            _warn_about_template(request, _TEMPLATE_PATHS[kind])

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether the kind is checked, by what the labels of its namespace demand."""
        kind = request.resource.storage_resource.kind
        return (kind.group, kind.plural) in _CHECKED


def _namespace_policy(request: AdmissionAttributes) -> NamespacePolicy:
    cached = request.find_resource("", "namespaces").get_cached("", request.scope.namespace)
    return NamespacePolicy.from_labels(cached.labels if cached is not None else {})


def _get_capabilities(request: AdmissionAttributes) -> Capabilities:
    return request.resource.dependencies.capabilities


def _validate_pod(request: AdmissionAttributes) -> None:
    policy = _namespace_policy(request)
    if policy is UNRESTRICTED:
        return
    if request.old is not None and not _is_significant_update(request.new["spec"], request.old["spec"]):
        return
    findings = policy.enforce.find_violations(request.new, _get_capabilities(request))
    if findings:
        raise new_forbidden(request, f'violates PodSecurity "{policy.enforce}": {_format_violations(findings)}')
    _warn(request, policy.warn, request.new)


def _warn(request: AdmissionAttributes, standard: PodSecurityStandard, pod: ReadOnlyObject) -> None:
    findings = standard.find_violations(pod, _get_capabilities(request))
    if findings:
        request.scope.warn([f'would violate PodSecurity "{standard}": {_format_violations(findings)}'])


def _format_violations(findings: list[Violation]) -> str:
    return ", ".join(f"{one.reason} ({one.detail})" if one.detail else one.reason for one in findings)


def _is_significant_update(spec: ReadOnlyObject, before: ReadOnlyObject) -> bool:
    """Return whether an update adds containers or changes images."""
    # Anything else that matters is immutable. Ephemeral containers can only be added, which the images show.
    for group in ("containers", "initContainers"):
        if len(spec.get(group) or ()) != len(before.get(group) or ()):
            return True
    images = {container["name"]: container.get("image") for container in containers(before)}
    return any(
        container["name"] not in images or images[container["name"]] != container.get("image")
        for container in containers(spec)
    )


def _warn_about_template(request: AdmissionAttributes, path: tuple[str, ...]) -> None:
    template: ReadOnlyObject = request.new
    for name in path:
        template = template.get(name) or {}
    if "spec" in template:
        _warn(request, _namespace_policy(request).warn, template)


def _validate_namespace(request: AdmissionAttributes) -> None:
    metadata = request.new["metadata"]
    policy = NamespacePolicy.from_labels(metadata.get("labels") or {})
    before = NamespacePolicy.from_labels(
        (request.old["metadata"].get("labels") or {}) if request.old is not None else {}
    )
    if policy.errors and (request.old is None or policy.errors != before.errors):
        raise Invalid("", "Namespace", metadata["name"], policy.errors)
    new, old = policy.enforce, before.enforce
    relaxed = new.minor == old.minor and LEVELS.index(new.level) <= LEVELS.index(old.level)
    if request.old is not None and new != old and new.level != "privileged" and not relaxed:
        request.scope.warn(_warnings_about_pods(request, metadata["name"], new))


def _warnings_about_pods(request: AdmissionAttributes, namespace: str, standard: PodSecurityStandard) -> list[str]:
    """Return warnings about existing pods that violate the new level."""
    pods = request.find_resource("", "pods")
    loaded = _order_by_controller(cached.load() for cached in pods.collection.range(pods.prefix(namespace)))
    failing: dict[str, list[str]] = {}
    for pod in loaded[:PODS_CHECKED_MAX]:
        findings = standard.find_violations(pod, _get_capabilities(request))
        if findings:
            failing.setdefault(", ".join(one.reason for one in findings), []).append(pod["metadata"]["name"])
    warnings = []
    if len(loaded) > PODS_CHECKED_MAX:
        checked = f"the first {PODS_CHECKED_MAX} of {len(loaded)} existing pods"
        warnings.append(f"new PodSecurity enforce level only checked against {checked}")
    if failing:
        title = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{standard}"'
        warnings.append(title)
    return warnings + sorted(f"{_format_pod_names(names)}: {why}" for why, names in failing.items())


def _order_by_controller(pods: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Return the pods, with one of each controller before the others."""
    # Pods of one controller are alike, so with a limit this order finds more distinct violations.
    seen: set[str] = set()
    first: list[ReadOnlyObject] = []
    rest: list[ReadOnlyObject] = []
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        owner = next((one["uid"] for one in owners if one.get("controller")), "")
        (rest if owner in seen else first).append(pod)
        if owner:
            seen.add(owner)
    return first + rest


def _format_pod_names(names: list[str]) -> str:
    match len(names):
        case 1:
            return names[0]
        case 2:
            return f"{min(names)} (and 1 other pod)"
        case more:
            return f"{min(names)} (and {more - 1} other pods)"
