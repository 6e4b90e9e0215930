"""Checks of the Pod Security Standards `baseline` and `restricted`, by version of the standard."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from mockkube.api.fields import quote
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.pod_security_words import counted, joined, named, setters

# Check lists of levels and versions that are cached.
STANDARDS_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class Finding:
    """Violation of a check, in a word and in detail."""

    reason: str
    detail: str


# Checks the metadata and spec of a pod.
Judge = Callable[[ReadOnlyObject, ReadOnlyObject], Finding | None]


@dataclass(frozen=True, slots=True)
class Check:
    """Check with its history: each function applies from a minor version of the standard on."""

    name: str
    judges: tuple[tuple[int, Judge], ...]
    # Baseline check that this restricted one makes redundant.
    replaces: str = ""

    def judge(self, minor: int) -> Judge | None:
        """Return the function for a version of the standard; None if the check is newer."""
        return next((judge for since, judge in reversed(self.judges) if since <= minor), None)


def containers(spec: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Yield all containers of a pod, in the order in which violations name them."""
    for group in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(group) or ()


def _context(holder: ReadOnlyObject) -> ReadOnlyObject:
    return holder.get("securityContext") or {}


def _bad(spec: ReadOnlyObject, wrong: Callable[[ReadOnlyObject], Any]) -> list[str]:
    """Return the names of containers with a wrong security context."""
    return [container["name"] for container in containers(spec) if wrong(_context(container))]


def _unless_windows(context: Judge) -> Judge:
    def judged(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
        return None if (spec.get("os") or {}).get("name") == "windows" else context(metadata, spec)

    return judged


def _unless_own_users(context: Judge) -> Judge:
    def judged(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
        return None if spec.get("hostUsers") is False else context(metadata, spec)

    return judged


def _privilege_escalation(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    bad = _bad(spec, lambda context: context.get("allowPrivilegeEscalation") is not False)
    detail = f"{named('container', bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Finding("allowPrivilegeEscalation != false", detail) if bad else None


def _app_armor(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    allowed = ("RuntimeDefault", "Localhost")
    found, values = _profiles(spec, "appArmorProfile", allowed)
    prefix = "container.apparmor.security.beta.kubernetes.io/"
    annotations = sorted(
        f"{key}={quote(value)}"
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(prefix) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    every = [*values, *annotations]
    if annotations:
        found.append(counted("annotation", annotations))
    detail = f"{' and '.join(found)} must not set AppArmor profile type to {joined(every)}"
    return Finding(counted("forbidden AppArmor profile", every), detail) if found else None


def _profiles(spec: ReadOnlyObject, name: str, allowed: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return what sets a forbidden profile type, and the forbidden types."""
    types = [(_context(one).get(name) or {}).get("type") for one in (spec, *containers(spec))]
    values = sorted({kind for kind in types if kind is not None and kind not in allowed})
    bad = _bad(spec, lambda context: (context.get(name) or {}).get("type") in values)
    return setters(types[0] in values, bad), values


_DEFAULT_CAPABILITIES: Final = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip


def _added_capabilities(spec: ReadOnlyObject, allowed: Iterable[str]) -> str:
    """Return the violation text for capabilities beyond these; empty if there are none."""

    def beyond(context: ReadOnlyObject) -> list[str]:
        return [one for one in (context.get("capabilities") or {}).get("add") or () if one not in allowed]

    bad = _bad(spec, beyond)
    every = sorted({one for container in containers(spec) for one in beyond(_context(container))})
    detail = f"{named('container', bad)} must not include {joined(every)} in securityContext.capabilities.add"
    return detail if bad else ""


def _capabilities_baseline(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    detail = _added_capabilities(spec, _DEFAULT_CAPABILITIES)
    return Finding("non-default capabilities", detail) if detail else None


def _capabilities_restricted(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    bad = _bad(spec, lambda context: "ALL" not in ((context.get("capabilities") or {}).get("drop") or ()))
    details = [f'{named("container", bad)} must set securityContext.capabilities.drop=["ALL"]'] if bad else []
    added = _added_capabilities(spec, ("NET_BIND_SERVICE",))
    if added:
        details.append(added)
    return Finding("unrestricted capabilities", "; ".join(details)) if details else None


def _host_namespaces(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Finding("host namespaces", ", ".join(shared)) if shared else None


def _host_paths(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    bad = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Finding("hostPath volumes", named("volume", bad)) if bad else None


def _host_ports(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    def host_ports(container: ReadOnlyObject) -> list[str]:
        return [str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")]

    bad = [container["name"] for container in containers(spec) if host_ports(container)]
    ports = sorted({port for container in containers(spec) for port in host_ports(container)})
    uses = "uses" if len(bad) == 1 else "use"
    detail = f"{named('container', bad)} {uses} {counted('hostPort', ports)} {', '.join(ports)}"
    return Finding("hostPort", detail) if bad else None


def _hosts(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    found = {container["name"]: _probed_hosts(container) for container in containers(spec)}
    bad = sorted(name for name, hosts in found.items() if hosts)
    hosts = sorted({host for every in found.values() for host in every})
    uses = "uses" if len(bad) == 1 else "use"
    title = "probe or lifecycle host"
    detail = f"{named('container', bad)} {uses} {counted(title, hosts)} {joined(hosts)}"
    return Finding(title, detail) if bad else None


def _probed_hosts(container: ReadOnlyObject) -> list[str]:
    lifecycle = container.get("lifecycle") or {}
    callers = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    callers += [lifecycle.get(name) for name in ("postStart", "preStop")]
    actions = [(caller or {}).get(how) or {} for caller in callers for how in ("httpGet", "tcpSocket")]
    return [action["host"] for action in actions if action.get("host")]


def _privileged(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    bad = _bad(spec, lambda context: context.get("privileged"))
    detail = f"{named('container', bad)} must not set securityContext.privileged=true"
    return Finding("privileged", detail) if bad else None


def _proc_mount(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    bad = _bad(spec, lambda context: context.get("procMount", "Default") != "Default")
    kinds = sorted({_context(one).get("procMount", "Default") for one in containers(spec)} - {"Default"})
    detail = f"{named('container', bad)} must not set securityContext.procMount to {joined(kinds)}"
    return Finding("procMount", detail) if bad else None


_FREE_VOLUMES: Final = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
))  # fmt: skip


def _restricted_volumes(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    restricted = [volume for volume in spec.get("volumes") or () if _FREE_VOLUMES.isdisjoint(volume)]
    bad = [volume["name"] for volume in restricted]
    kinds = sorted({next((key for key in volume if key != "name"), "unknown") for volume in restricted})
    uses = "uses" if len(bad) == 1 else "use"
    detail = f"{named('volume', bad)} {uses} {counted('restricted volume type', kinds)} {joined(kinds)}"
    return Finding("restricted volume types", detail) if bad else None


def _run_as_non_root(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    whole = _context(spec).get("runAsNonRoot")
    found = setters(whole is False, _bad(spec, lambda context: context.get("runAsNonRoot") is False))
    if found:
        detail = f"{' and '.join(found)} must not set securityContext.runAsNonRoot=false"
        return Finding("runAsNonRoot != true", detail)
    # The pod's setting applies to containers without one of their own.
    bad = [] if whole else _bad(spec, lambda context: context.get("runAsNonRoot") is None)
    detail = f"pod or {named('container', bad)} must set securityContext.runAsNonRoot=true"
    return Finding("runAsNonRoot != true", detail) if bad else None


def _run_as_user(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    found = setters(_context(spec).get("runAsUser") == 0, _bad(spec, lambda context: context.get("runAsUser") == 0))
    return Finding("runAsUser=0", f"{' and '.join(found)} must not set runAsUser=0") if found else None


def _se_linux(more_types: tuple[str, ...]) -> Judge:
    allowed = ("", "container_t", "container_init_t", "container_kvm_t", *more_types)

    def wrong(context: ReadOnlyObject) -> bool:
        options = context.get("seLinuxOptions") or {}
        return bool(options.get("type", "") not in allowed or options.get("user") or options.get("role"))

    def judge(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
        found = setters(wrong(_context(spec)), _bad(spec, wrong))
        every = [_context(one).get("seLinuxOptions") or {} for one in (spec, *containers(spec))]
        types = sorted({options.get("type", "") for options in every} - {*allowed})
        data = [f"{counted('type', types)} {joined(types)}"] if types else []
        data += [f"{name} may not be set" for name in ("user", "role") if any(options.get(name) for options in every)]
        detail = f"{' and '.join(found)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return Finding("seLinuxOptions", detail) if found else None

    return judge


_SECCOMP: Final = ("RuntimeDefault", "Localhost")


def _seccomp_annotations(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
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
    return Finding("seccompProfile", f"forbidden {counted('annotation', bad)} {', '.join(bad)}") if bad else None


def _seccomp_baseline(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    found, values = _profiles(spec, "seccompProfile", _SECCOMP)
    detail = f"{' and '.join(found)} must not set securityContext.seccompProfile.type to {joined(values)}"
    return Finding("seccompProfile", detail) if found else None


def _seccomp_restricted(metadata: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    finding = _seccomp_baseline(metadata, spec)
    # A profile of the pod applies to all containers without one of their own.
    if finding is not None or _context(spec).get("seccompProfile") is not None:
        return finding
    bad = _bad(spec, lambda context: context.get("seccompProfile") is None)
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Finding("seccompProfile", f"pod or {named('container', bad)} {must}") if bad else None


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


def _sysctls(minor: int) -> Judge:
    allowed = [name for since, name in _SYSCTLS if since <= minor]

    def judge(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
        bad = [one["name"] for one in _context(spec).get("sysctls") or () if one["name"] not in allowed]
        return Finding("forbidden sysctls", ", ".join(bad)) if bad else None

    return judge


def _host_process(_: ReadOnlyObject, spec: ReadOnlyObject) -> Finding | None:
    def wrong(context: ReadOnlyObject) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    found = setters(wrong(_context(spec)), _bad(spec, wrong))
    detail = f"{' and '.join(found)} must not set securityContext.windowsOptions.hostProcess=true"
    return Finding("hostProcess", detail) if found else None


# upstream 1.36: pod-security-admission/policy/check_*.go; both tables in the order in which violations are listed
BASELINE: Final = (
    Check("appArmorProfile", ((0, _app_armor),)),
    Check("capabilities_baseline", ((0, _capabilities_baseline),)),
    Check("hostNamespaces", ((0, _host_namespaces),)),
    Check("hostPathVolumes", ((0, _host_paths),)),
    Check("hostPorts", ((0, _host_ports),)),
    Check("hostProbesAndHostLifecycle", ((34, _hosts),)),
    Check("privileged", ((0, _privileged),)),
    Check("procMount", ((0, _proc_mount), (35, _unless_own_users(_proc_mount)))),
    Check("seLinuxOptions", ((0, _se_linux(())), (31, _se_linux(("container_engine_t",))))),
    Check("seccompProfile_baseline", ((0, _seccomp_annotations), (19, _seccomp_baseline))),
    Check("sysctls", tuple((minor, _sysctls(minor)) for minor in (0, 27, 29, 32))),
    Check("windowsHostProcess", ((0, _host_process),)),
)
_ESCALATION: Final = ((8, _privilege_escalation), (25, _unless_windows(_privilege_escalation)))
_CAPABILITIES: Final = ((22, _capabilities_restricted), (25, _unless_windows(_capabilities_restricted)))
_SECCOMP_PROFILES: Final = ((19, _seccomp_restricted), (25, _unless_windows(_seccomp_restricted)))
RESTRICTED: Final = (
    Check("allowPrivilegeEscalation", _ESCALATION),
    Check("capabilities_restricted", _CAPABILITIES, replaces="capabilities_baseline"),
    Check("procMount_restricted", ((35, _proc_mount),), replaces="procMount"),
    Check("restrictedVolumes", ((0, _restricted_volumes),), replaces="hostPathVolumes"),
    Check("runAsNonRoot", ((0, _run_as_non_root), (35, _unless_own_users(_run_as_non_root)))),
    Check("runAsUser", ((23, _run_as_user), (35, _unless_own_users(_run_as_user)))),
    Check("seccompProfile_restricted", _SECCOMP_PROFILES, replaces="seccompProfile_baseline"),
)


@lru_cache(STANDARDS_MAX)
def judges_of(level: str, minor: int) -> tuple[Judge, ...]:
    """Return the checks of a level at a version of the standard, in the order in which violations are listed."""
    strict = (
        {check: context for check in RESTRICTED if (context := check.judge(minor))} if level == "restricted" else {}
    )
    replaced = {check.replaces for check in strict}
    loose = [check.judge(minor) for check in BASELINE if level != "privileged" and check.name not in replaced]
    return tuple(context for context in (*loose, *strict.values()) if context is not None)
