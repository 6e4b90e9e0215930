"""Checks of the Pod Security Standards `baseline` and `restricted`, by version of the standard."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from mockkube.api.fields import quote
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

# Check lists of levels and versions that are cached.
CHECK_LISTS_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class Violation:
    """Violation of a check, in a word and in detail."""

    reason: str
    detail: str


# Checks the metadata and spec of a pod.
CheckFunction = Callable[[ReadOnlyObject, ReadOnlyObject], Violation | None]


@dataclass(frozen=True, slots=True)
class PodSecurityCheck:
    """Check with its history: each function applies from a minor version of the standard on."""

    name: str
    functions: tuple[tuple[int, CheckFunction], ...]
    # Baseline check that this restricted one makes redundant.
    replaces: str = ""

    def function_for(self, minor: int) -> CheckFunction | None:
        """Return the function for a version of the standard; None if the check is newer."""
        return next((judge for since, judge in reversed(self.functions) if since <= minor), None)


def containers(spec: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Yield all containers of a pod, in the order in which violations name them."""
    for group in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(group) or ()


def _security_context(holder: ReadOnlyObject) -> ReadOnlyObject:
    return holder.get("securityContext") or {}


def _containers_where(spec: ReadOnlyObject, wrong: Callable[[ReadOnlyObject], Any]) -> list[str]:
    """Return the names of containers with a wrong security context."""
    return [container["name"] for container in containers(spec) if wrong(_security_context(container))]


def _skip_windows(check: CheckFunction) -> CheckFunction:
    def check_unless_windows(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
        return None if (spec.get("os") or {}).get("name") == "windows" else check(metadata, spec)

    return check_unless_windows


def _skip_user_namespaces(check: CheckFunction) -> CheckFunction:
    def check_unless_user_namespace(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
        return None if spec.get("hostUsers") is False else check(metadata, spec)

    return check_unless_user_namespace


def _check_privilege_escalation(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    bad = _containers_where(spec, lambda context: context.get("allowPrivilegeEscalation") is not False)
    detail = f"{format_named('container', bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if bad else None


def _check_app_armor(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    allowed = ("RuntimeDefault", "Localhost")
    found, values = _find_profiles(spec, "appArmorProfile", allowed)
    prefix = "container.apparmor.security.beta.kubernetes.io/"
    annotations = sorted(
        f"{key}={quote(value)}"
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(prefix) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    every = [*values, *annotations]
    if annotations:
        found.append(pluralize("annotation", annotations))
    detail = f"{' and '.join(found)} must not set AppArmor profile type to {join_quoted(every)}"
    return Violation(pluralize("forbidden AppArmor profile", every), detail) if found else None


def _find_profiles(spec: ReadOnlyObject, name: str, allowed: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return what sets a forbidden profile type, and the forbidden types."""
    types = [(_security_context(one).get(name) or {}).get("type") for one in (spec, *containers(spec))]
    values = sorted({kind for kind in types if kind is not None and kind not in allowed})
    bad = _containers_where(spec, lambda context: (context.get(name) or {}).get("type") in values)
    return format_setters(types[0] in values, bad), values


_DEFAULT_CAPABILITIES: Final = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip


def _capability_violation(spec: ReadOnlyObject, allowed: Iterable[str]) -> str:
    """Return the violation text for capabilities beyond these; empty if there are none."""

    def find_forbidden(context: ReadOnlyObject) -> list[str]:
        return [one for one in (context.get("capabilities") or {}).get("add") or () if one not in allowed]

    bad = _containers_where(spec, find_forbidden)
    every = sorted({one for container in containers(spec) for one in find_forbidden(_security_context(container))})
    detail = (
        f"{format_named('container', bad)} must not include {join_quoted(every)} in securityContext.capabilities.add"
    )
    return detail if bad else ""


def _check_capabilities_baseline(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    detail = _capability_violation(spec, _DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", detail) if detail else None


def _check_capabilities_restricted(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    bad = _containers_where(spec, lambda context: "ALL" not in ((context.get("capabilities") or {}).get("drop") or ()))
    details = [f'{format_named("container", bad)} must set securityContext.capabilities.drop=["ALL"]'] if bad else []
    added = _capability_violation(spec, ("NET_BIND_SERVICE",))
    if added:
        details.append(added)
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _check_host_namespaces(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def _check_host_paths(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    bad = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", format_named("volume", bad)) if bad else None


def _check_host_ports(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    def host_ports(container: ReadOnlyObject) -> list[str]:
        return [str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")]

    bad = [container["name"] for container in containers(spec) if host_ports(container)]
    ports = sorted({port for container in containers(spec) for port in host_ports(container)})
    uses = "uses" if len(bad) == 1 else "use"
    detail = f"{format_named('container', bad)} {uses} {pluralize('hostPort', ports)} {', '.join(ports)}"
    return Violation("hostPort", detail) if bad else None


def _check_probe_hosts(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    found = {container["name"]: _find_probe_hosts(container) for container in containers(spec)}
    bad = sorted(name for name, hosts in found.items() if hosts)
    hosts = sorted({host for every in found.values() for host in every})
    uses = "uses" if len(bad) == 1 else "use"
    title = "probe or lifecycle host"
    detail = f"{format_named('container', bad)} {uses} {pluralize(title, hosts)} {join_quoted(hosts)}"
    return Violation(title, detail) if bad else None


def _find_probe_hosts(container: ReadOnlyObject) -> list[str]:
    lifecycle = container.get("lifecycle") or {}
    callers = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    callers += [lifecycle.get(name) for name in ("postStart", "preStop")]
    actions = [(caller or {}).get(how) or {} for caller in callers for how in ("httpGet", "tcpSocket")]
    return [action["host"] for action in actions if action.get("host")]


def _check_privileged(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    bad = _containers_where(spec, lambda context: context.get("privileged"))
    detail = f"{format_named('container', bad)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if bad else None


def _check_proc_mount(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    bad = _containers_where(spec, lambda context: context.get("procMount", "Default") != "Default")
    kinds = sorted({_security_context(one).get("procMount", "Default") for one in containers(spec)} - {"Default"})
    detail = f"{format_named('container', bad)} must not set securityContext.procMount to {join_quoted(kinds)}"
    return Violation("procMount", detail) if bad else None


_UNRESTRICTED_VOLUMES: Final = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
))  # fmt: skip


def _check_volume_types(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    restricted = [volume for volume in spec.get("volumes") or () if _UNRESTRICTED_VOLUMES.isdisjoint(volume)]
    bad = [volume["name"] for volume in restricted]
    kinds = sorted({next((key for key in volume if key != "name"), "unknown") for volume in restricted})
    uses = "uses" if len(bad) == 1 else "use"
    detail = f"{format_named('volume', bad)} {uses} {pluralize('restricted volume type', kinds)} {join_quoted(kinds)}"
    return Violation("restricted volume types", detail) if bad else None


def _check_run_as_non_root(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    pod_setting = _security_context(spec).get("runAsNonRoot")
    found = format_setters(
        pod_setting is False, _containers_where(spec, lambda context: context.get("runAsNonRoot") is False)
    )
    if found:
        detail = f"{' and '.join(found)} must not set securityContext.runAsNonRoot=false"
        return Violation("runAsNonRoot != true", detail)
    # The pod's setting applies to containers without one of their own.
    bad = [] if pod_setting else _containers_where(spec, lambda context: context.get("runAsNonRoot") is None)
    detail = f"pod or {format_named('container', bad)} must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", detail) if bad else None


def _check_run_as_user(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    found = format_setters(
        _security_context(spec).get("runAsUser") == 0,
        _containers_where(spec, lambda context: context.get("runAsUser") == 0),
    )
    return Violation("runAsUser=0", f"{' and '.join(found)} must not set runAsUser=0") if found else None


def _make_se_linux_check(more_types: tuple[str, ...]) -> CheckFunction:
    allowed = ("", "container_t", "container_init_t", "container_kvm_t", *more_types)

    def is_forbidden(context: ReadOnlyObject) -> bool:
        options = context.get("seLinuxOptions") or {}
        return bool(options.get("type", "") not in allowed or options.get("user") or options.get("role"))

    def check(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
        found = format_setters(is_forbidden(_security_context(spec)), _containers_where(spec, is_forbidden))
        every = [_security_context(one).get("seLinuxOptions") or {} for one in (spec, *containers(spec))]
        types = sorted({options.get("type", "") for options in every} - {*allowed})
        data = [f"{pluralize('type', types)} {join_quoted(types)}"] if types else []
        data += [f"{name} may not be set" for name in ("user", "role") if any(options.get(name) for options in every)]
        detail = f"{' and '.join(found)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return Violation("seLinuxOptions", detail) if found else None

    return check


_SECCOMP: Final = ("RuntimeDefault", "Localhost")


def _check_seccomp_annotations(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    annotations = metadata.get("annotations") or {}
    keys = ["seccomp.security.alpha.kubernetes.io/pod"]
    keys += [f"container.seccomp.security.alpha.kubernetes.io/{one['name']}" for one in containers(spec)]
    bad = sorted({
        f"{key}={quote(annotations[key])}"
        for key in keys
        if key in annotations
        and annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    })  # fmt: skip
    return Violation("seccompProfile", f"forbidden {pluralize('annotation', bad)} {', '.join(bad)}") if bad else None


def _check_seccomp_baseline(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    found, values = _find_profiles(spec, "seccompProfile", _SECCOMP)
    detail = f"{' and '.join(found)} must not set securityContext.seccompProfile.type to {join_quoted(values)}"
    return Violation("seccompProfile", detail) if found else None


def _check_seccomp_restricted(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    finding = _check_seccomp_baseline(metadata, spec)
    # A profile of the pod applies to all containers without one of their own.
    if finding is not None or _security_context(spec).get("seccompProfile") is not None:
        return finding
    bad = _containers_where(spec, lambda context: context.get("seccompProfile") is None)
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {format_named('container', bad)} {must}") if bad else None


_SYSCTLS: Final = (
    (0, "kernel.shm_rmid_forced"),
    (0, "net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.tcp_syncookies"),
    (0, "net.ipv4.ping_group_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_keepalive_time"),
    (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
)


def _make_sysctls_check(minor: int) -> CheckFunction:
    allowed = [name for since, name in _SYSCTLS if since <= minor]

    def check(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
        bad = [one["name"] for one in _security_context(spec).get("sysctls") or () if one["name"] not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def _check_host_process(_: ReadOnlyObject, spec: ReadOnlyObject) -> Violation | None:
    def is_host_process(context: ReadOnlyObject) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    found = format_setters(is_host_process(_security_context(spec)), _containers_where(spec, is_host_process))
    detail = f"{' and '.join(found)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail) if found else None


# upstream 1.36: pod-security-admission/policy/check_*.go; both tables in the order in which violations are listed
BASELINE: Final = (
    PodSecurityCheck("appArmorProfile", ((0, _check_app_armor),)),
    PodSecurityCheck("capabilities_baseline", ((0, _check_capabilities_baseline),)),
    PodSecurityCheck("hostNamespaces", ((0, _check_host_namespaces),)),
    PodSecurityCheck("hostPathVolumes", ((0, _check_host_paths),)),
    PodSecurityCheck("hostPorts", ((0, _check_host_ports),)),
    PodSecurityCheck("hostProbesAndHostLifecycle", ((34, _check_probe_hosts),)),
    PodSecurityCheck("privileged", ((0, _check_privileged),)),
    PodSecurityCheck("procMount", ((0, _check_proc_mount), (35, _skip_user_namespaces(_check_proc_mount)))),
    PodSecurityCheck(
        "seLinuxOptions", ((0, _make_se_linux_check(())), (31, _make_se_linux_check(("container_engine_t",))))
    ),
    PodSecurityCheck("seccompProfile_baseline", ((0, _check_seccomp_annotations), (19, _check_seccomp_baseline))),
    PodSecurityCheck("sysctls", tuple((minor, _make_sysctls_check(minor)) for minor in (0, 27, 29, 32))),
    PodSecurityCheck("windowsHostProcess", ((0, _check_host_process),)),
)
_ESCALATION: Final = ((8, _check_privilege_escalation), (25, _skip_windows(_check_privilege_escalation)))
_CAPABILITIES: Final = ((22, _check_capabilities_restricted), (25, _skip_windows(_check_capabilities_restricted)))
_SECCOMP_PROFILES: Final = ((19, _check_seccomp_restricted), (25, _skip_windows(_check_seccomp_restricted)))
RESTRICTED: Final = (
    PodSecurityCheck("allowPrivilegeEscalation", _ESCALATION),
    PodSecurityCheck("capabilities_restricted", _CAPABILITIES, replaces="capabilities_baseline"),
    PodSecurityCheck("procMount_restricted", ((35, _check_proc_mount),), replaces="procMount"),
    PodSecurityCheck("restrictedVolumes", ((0, _check_volume_types),), replaces="hostPathVolumes"),
    PodSecurityCheck(
        "runAsNonRoot", ((0, _check_run_as_non_root), (35, _skip_user_namespaces(_check_run_as_non_root)))
    ),
    PodSecurityCheck("runAsUser", ((23, _check_run_as_user), (35, _skip_user_namespaces(_check_run_as_user)))),
    PodSecurityCheck("seccompProfile_restricted", _SECCOMP_PROFILES, replaces="seccompProfile_baseline"),
)
_RELAXED_IN_USER_NAMESPACES: Final = ("procMount", "runAsNonRoot", "runAsUser")


@lru_cache(CHECK_LISTS_MAX)
def checks_for(level: str, minor: int, *, relaxes_user_namespaces: bool = False) -> tuple[CheckFunction, ...]:
    """Return the checks of a level at a version of the standard, in the order in which violations are listed.

    `relaxes_user_namespaces`: those that need not hold in a user namespace are left out there at every version.
    """

    def find_function(check: PodSecurityCheck) -> CheckFunction | None:
        function = check.function_for(minor)
        if function is None or not relaxes_user_namespaces or check.name not in _RELAXED_IN_USER_NAMESPACES:
            return function
        return _skip_user_namespaces(function)

    strict = (
        {check: function for check in RESTRICTED if (function := find_function(check))} if level == "restricted" else {}
    )
    replaced = {check.replaces for check in strict}
    loose = [find_function(check) for check in BASELINE if level != "privileged" and check.name not in replaced]
    return tuple(function for function in (*loose, *strict.values()) if function is not None)


def join_quoted(items: Sequence[str]) -> str:
    """Return the items, each in quotes."""
    return ", ".join(f'"{item}"' for item in items)


def pluralize(noun: str, items: Sequence[str]) -> str:
    """Return the noun, in the plural unless there is exactly one item."""
    return noun if len(items) == 1 else f"{noun}s"


def format_named(noun: str, items: Sequence[str]) -> str:
    """Return noun and items: `container "a"`, `containers "a", "b"`."""
    return f"{pluralize(noun, items)} {join_quoted(items)}"


def format_setters(whole: bool, containers: Sequence[str]) -> list[str]:
    """Return phrases for what sets a field: the pod, and containers."""
    return ["pod"] * whole + ([format_named("container", containers)] if containers else [])
