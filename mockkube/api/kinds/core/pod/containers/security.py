"""Validate security contexts of containers and pods, sysctls, and fields a pod's OS forbids."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidateSecurityContext, validatePodSpecSecurityContext

import re
from collections.abc import Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.container_lists import containers_with_paths
from mockkube.api.kinds.core.pod.containers.profiles import validate_app_armor_profile, validate_seccomp_profile
from mockkube.api.kinds.core.pod.containers.windows import validate_windows_options
from mockkube.api.validation.internal_form import to_internal_form

_PROC_MOUNTS: Final = ("Default", "Unmasked")
_FS_GROUP_CHANGE_POLICIES: Final = ("Always", "OnRootMismatch")
_SUPPLEMENTAL_GROUPS_POLICIES: Final = ("Merge", "Strict")
_SELINUX_CHANGE_POLICIES: Final = ("MountOption", "Recursive")
_SYSCTL: Final = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_RE: Final = re.compile(_SYSCTL)
_SYSCTL_LENGTH_MAX: Final = 253
_IPC_SYSCTLS: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)
_WINDOWS_DETAIL: Final = "cannot be set for a windows pod"


def validate_security_context(context: ReadOnlyObject, at: str, *, host_users: bool) -> list[FieldError]:
    """Validate a container's security context; `host_users` is false in a user namespace."""
    errors = _validate_unix_ids(context, at, ("runAsUser", "runAsGroup"))
    if "procMount" in context:
        errors += _validate_proc_mount(context["procMount"], f"{at}.procMount", host_users)
    if "seccompProfile" in context:
        errors += validate_seccomp_profile(context["seccompProfile"], f"{at}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        errors += _validate_privilege_escalation(context, at)
    if "windowsOptions" in context:
        errors += validate_windows_options(context["windowsOptions"], f"{at}.windowsOptions")
    if "appArmorProfile" in context:
        errors += validate_app_armor_profile(context["appArmorProfile"], f"{at}.appArmorProfile")
    return errors


def _validate_unix_ids(context: ReadOnlyObject, at: str, fields: Sequence[str]) -> list[FieldError]:
    return [
        invalid(f"{at}.{name}", context[name], text)
        for name in fields
        if name in context
        for text in names.check_unix_id(context[name])
    ]


def _validate_proc_mount(kind: str, at: str, host_users: bool) -> list[FieldError]:
    if kind not in _PROC_MOUNTS:
        return [not_supported(at, kind, _PROC_MOUNTS)]
    # An unmasked /proc is safe only where root in the container is not root on the host.
    text = "`hostUsers` must be false to use `Unmasked`"
    return [invalid(at, kind, text)] if host_users and kind == "Unmasked" else []


def _validate_privilege_escalation(context: ReadOnlyObject, at: str) -> list[FieldError]:
    # Both imply privilege escalation in the kernel, whatever no_new_privs says.
    texts = ["`privileged` to true"] if context.get("privileged") else []
    added = context.get("capabilities", {}).get("add", ())
    texts += ["`capabilities.Add` CAP_SYS_ADMIN" for name in added if name == "CAP_SYS_ADMIN"]
    shown = to_internal_form("SecurityContext", context)
    return [invalid(at, shown, f"cannot set `allowPrivilegeEscalation` to false and {text}") for text in texts]


def validate_pod_security_context(
    spec: ReadOnlyObject, at: str, *, only_recursive_labels: bool, allow_host_sysctls: bool
) -> list[FieldError]:
    """Validate the security context of a pod; `at` is its path."""
    context = spec.get("securityContext", {})
    errors = _validate_unix_ids(context, at, ("fsGroup", "runAsUser", "runAsGroup")) if context else []
    for i, group in enumerate(context.get("supplementalGroups", ())):
        errors += [invalid(f"{at}.supplementalGroups[{i}]", group, text) for text in names.check_unix_id(group)]
    # A pod has one process namespace: the host's or one shared by its containers.
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{at}.shareProcessNamespace", True, text))
    if "sysctls" in context:
        errors += _validate_sysctls(spec, f"{at}.sysctls", allow_host_sysctls)
    if context.get("fsGroupChangePolicy", "Always") not in _FS_GROUP_CHANGE_POLICIES:
        errors.append(
            not_supported(f"{at}.fsGroupChangePolicy", context["fsGroupChangePolicy"], _FS_GROUP_CHANGE_POLICIES)
        )
    if "seccompProfile" in context:
        errors += validate_seccomp_profile(context["seccompProfile"], f"{at}.seccompProfile")
    if "windowsOptions" in context:
        errors += validate_windows_options(context["windowsOptions"], f"{at}.windowsOptions")
    if "appArmorProfile" in context:
        errors += validate_app_armor_profile(context["appArmorProfile"], f"{at}.appArmorProfile")
    if context.get("supplementalGroupsPolicy", "Merge") not in _SUPPLEMENTAL_GROUPS_POLICIES:
        policy = context["supplementalGroupsPolicy"]
        errors.append(not_supported(f"{at}.supplementalGroupsPolicy", policy, _SUPPLEMENTAL_GROUPS_POLICIES))
    known = ("Recursive",) if only_recursive_labels else _SELINUX_CHANGE_POLICIES
    if context.get("seLinuxChangePolicy", "Recursive") not in known:
        errors.append(not_supported(f"{at}.seLinuxChangePolicy", context["seLinuxChangePolicy"], known))
    return errors


def _validate_sysctls(spec: ReadOnlyObject, at: str, allow_host_sysctls: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, sysctl in enumerate(spec["securityContext"]["sysctls"]):
        here, name = f"{at}[{i}].name", sysctl.get("name", "")
        if not name:
            errors.append(required(here))
        elif names.byte_length(name) > _SYSCTL_LENGTH_MAX or not _SYSCTL_RE.fullmatch(name):
            text = f"must have at most {_SYSCTL_LENGTH_MAX} characters and match regex ^{_SYSCTL}$"
            errors.append(invalid(here, name, text))
        elif name in seen:
            errors.append(duplicate(here, name))
        seen.add(name)
        if not allow_host_sysctls and (text := _find_host_sysctl_error(name, spec)):
            errors.append(invalid(here, name, text))
    return errors


def _find_host_sysctl_error(name: str, spec: ReadOnlyObject) -> str:
    """Return why a sysctl is not allowed: it would change a namespace shared with the host."""
    # upstream 1.36: component-helpers/node/util/sysctl/namespace.go
    # A trailing `*` covers a group of sysctls, so the part before it is compared.
    plain = _normalize_sysctl(name).partition("*")[0]
    if spec.get("hostNetwork") and plain.startswith("net."):
        return "may not be specified when 'hostNetwork' is true"
    if spec.get("hostIPC") and (plain in _IPC_SYSCTLS or plain.startswith("fs.mqueue.")):
        return "may not be specified when 'hostIPC' is true"
    return ""


def _normalize_sysctl(name: str) -> str:
    """Return a sysctl name with dots; slashes and dots swap if the first separator is a slash."""
    separators = [letter for letter in name if letter in "./"]
    return name.translate(str.maketrans("./", "/.")) if separators[:1] == ["/"] else name


def uses_host_sysctls(spec: ReadOnlyObject) -> bool:
    """Return whether a stored pod sets sysctls of a namespace shared with the host."""
    sysctls = spec.get("securityContext", {}).get("sysctls", ())
    return any(_find_host_sysctl_error(sysctl.get("name", ""), spec) for sysctl in sysctls)


_WINDOWS_FORBIDDEN_POD_FIELDS: Final = (
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)
_WINDOWS_FORBIDDEN_CONTAINER_FIELDS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def validate_os(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate `spec.os` and reject fields that the operating system does not support."""
    name = spec["os"].get("name", "")
    match name:
        case "linux":
            return _validate_linux(spec, at)
        case "windows":
            return _validate_windows(spec, at)
        case "":
            return [required(f"{at}.os.name")]
        case _:
            return [not_supported(f"{at}.os", name, ("linux", "windows"))]


def _validate_linux(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    text = "windows options cannot be set for a linux pod"
    paths = [(spec, at), *containers_with_paths(spec, at)]
    return [
        forbidden(f"{path}.securityContext.windowsOptions", text)
        for holder, path in paths
        if "windowsOptions" in holder.get("securityContext", {})
    ]


def _validate_windows(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    context = spec.get("securityContext", {})
    errors = [
        forbidden(f"{at}.{path}", _WINDOWS_DETAIL)
        for path in _WINDOWS_FORBIDDEN_POD_FIELDS
        if (path.removeprefix("securityContext.") in context if "." in path else path in spec)
    ]
    for container, path in containers_with_paths(spec, at):
        container_context = container.get("securityContext", {})
        errors += [
            forbidden(f"{path}.securityContext.{name}", _WINDOWS_DETAIL)
            for name in _WINDOWS_FORBIDDEN_CONTAINER_FIELDS
            if name in container_context
        ]
    return errors
