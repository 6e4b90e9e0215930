"""Sysctls that a kubelet allows without configuration: those that are isolated between pods.

upstream 1.36: pkg/kubelet/sysctl/{safe_sysctls,allowlist}.go
"""

from typing import Final

from mockkube.api.json_objects import ReadOnlyObject

FORBIDDEN_REASON: Final = "SysctlForbidden"
_IPC: Final = "IPC"
_NET: Final = "Net"
# Namespace of the kernel that isolates each safe sysctl.
_SAFE_SYSCTLS: Final = {
    "kernel.shm_rmid_forced": _IPC,
    "net.ipv4.ip_local_port_range": _NET,
    "net.ipv4.tcp_syncookies": _NET,
    "net.ipv4.ping_group_range": _NET,
    "net.ipv4.ip_unprivileged_port_start": _NET,
    "net.ipv4.ip_local_reserved_ports": _NET,
    "net.ipv4.tcp_keepalive_time": _NET,
    "net.ipv4.tcp_fin_timeout": _NET,
    "net.ipv4.tcp_keepalive_intvl": _NET,
    "net.ipv4.tcp_keepalive_probes": _NET,
    "net.ipv4.tcp_rmem": _NET,
    "net.ipv4.tcp_wmem": _NET,
}


def find_forbidden_sysctl(pod: ReadOnlyObject) -> str | None:
    """Return what is wrong with a sysctl of a pod: it is not safe, or the pod uses that namespace of the host."""
    spec = pod["spec"]
    for one in (spec.get("securityContext") or {}).get("sysctls") or ():
        name = normalize_sysctl(one["name"])
        namespace = _SAFE_SYSCTLS.get(name)
        if namespace is None:
            return f'forbidden sysctl: "{name}" not allowlisted'
        if spec.get("hostIPC" if namespace == _IPC else "hostNetwork"):
            return f'forbidden sysctl: "{name}" not allowed with host {namespace} enabled'
    return None


def normalize_sysctl(name: str) -> str:
    """Return a sysctl with dots as separators."""
    first = next((sign for sign in name if sign in "./"), ".")
    # With slashes as separators, dots belong to names, like that of a network interface, and the two are exchanged.
    return name if first == "." else name.translate(str.maketrans("./", "/."))
