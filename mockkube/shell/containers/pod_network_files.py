"""Files of a pod's network: `/etc/hosts` and `/etc/resolv.conf`.

upstream 1.36: pkg/kubelet/kubelet_pods.go (ensureHostsFile), pkg/kubelet/network/dns/dns.go
"""

from collections.abc import Iterable
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.shell.containers.pod_fields import CLUSTER_DOMAIN, Lookup, get_domain, get_hostname
from mockkube.shell.machine.file_system import UNKNOWN

_DNS_NAMESPACE: Final = "kube-system"
_DNS_SERVICE: Final = "kube-dns"
_HEADER: Final = "# Kubernetes-managed hosts file.\n"
_HOST_HEADER: Final = "# Kubernetes-managed hosts file (host network).\n"
_LOCAL_HOSTS: Final = (
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)
_SEARCHES_MAX: Final = 32


def render_hosts(pod: ReadOnlyObject) -> str:
    """Return the content of `/etc/hosts`."""
    spec = pod["spec"]
    if spec.get("hostNetwork"):
        return f"{_HOST_HEADER}{render_node_hosts(pod)}{_render_aliases(spec.get('hostAliases') or ())}"
    hostname, domain = get_hostname(pod), get_domain(pod)
    names = f"{hostname}.{domain}\t{hostname}" if domain else hostname
    addresses = [one["ip"] for one in (pod.get("status") or {}).get("podIPs") or ()] or [UNKNOWN]
    lines = "".join(f"{address}\t{names}\n" for address in addresses)
    return f"{_HEADER}{_LOCAL_HOSTS}{lines}{_render_aliases(spec.get('hostAliases') or ())}"


def render_node_hosts(pod: ReadOnlyObject) -> str:
    """Return the content of `/etc/hosts` of the simulated node of a pod, which lists the node itself."""
    address = (pod.get("status") or {}).get("hostIP")
    return f"{_LOCAL_HOSTS}{address}\t{pod['spec'].get('nodeName', '')}\n" if address else _LOCAL_HOSTS


def _render_aliases(aliases: Iterable[ReadOnlyObject]) -> str:
    lines = "".join(f"{one['ip']}\t{chr(9).join(one.get('hostnames') or ())}\n" for one in aliases)
    return f"\n# Entries added by HostAliases.\n{lines}" if lines else ""


def render_resolv_conf(pod: ReadOnlyObject, lookup: Lookup | None) -> str:
    """Return the content of `/etc/resolv.conf`."""
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    policy = spec.get("dnsPolicy", "ClusterFirst")
    servers: list[str] = []
    searches: list[str] = []
    options: dict[str, str] = {}
    if policy == "Default" or (policy == "ClusterFirst" and spec.get("hostNetwork")):
        # A simulated node resolves names like its gateway, and has no search domains.
        servers = [_host_resolver(pod)]
    elif policy != "None":
        servers = [_cluster_resolver(pod, lookup)]
        searches = [f"{namespace}.svc.{CLUSTER_DOMAIN}", f"svc.{CLUSTER_DOMAIN}", CLUSTER_DOMAIN]
        options = {"ndots": "5"}
    config = spec.get("dnsConfig") or {}
    servers = list(dict.fromkeys((*servers, *(config.get("nameservers") or ()))))
    searches = list(dict.fromkeys((*searches, *(config.get("searches") or ()))))[:_SEARCHES_MAX]
    options |= {one["name"]: one.get("value") or "" for one in config.get("options") or ()}
    lines = [f"search {' '.join(searches)}"] if searches else []
    lines += [f"nameserver {one}" for one in servers]
    shown = [f"{name}:{value}" if value else name for name, value in options.items()]
    lines += [f"options {' '.join(shown)}"] if shown else []
    return "".join(f"{line}\n" for line in lines)


def _host_resolver(pod: ReadOnlyObject) -> str:
    address = (pod.get("status") or {}).get("hostIP") or ""
    return f"{address.rpartition('.')[0]}.1" if "." in address else UNKNOWN


def _cluster_resolver(pod: ReadOnlyObject, lookup: Lookup | None) -> str:
    """Return the address of the cluster's DNS: that of its Service, else the resolver of the node."""
    if lookup is None:
        return UNKNOWN
    service = lookup("Service", _DNS_NAMESPACE, _DNS_SERVICE)
    address = ((service or {}).get("spec") or {}).get("clusterIP")
    return str(address) if address else _host_resolver(pod)
