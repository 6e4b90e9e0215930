"""Kubeconfigs of the controller's processes: each has a user of its own, so that its requests can be told apart."""

from pathlib import Path
from typing import Final

from mockkube.client.identity import MASTERS
from mockkube.cluster.cluster import RunningCluster
from mockkube.cluster.state.atomic_files import write_atomically
from mockkube.cluster.state.certificates import Certificates, issue_client_certificate
from mockkube.cluster.state.kubeconfig import KubeconfigEntries, render_kubeconfig
from mockkube.perturb.workload import ProcessSpec
from mockkube.runtime.clock import Clock

_CERTIFICATES: Final = "certificates"


def write_kubeconfig(running: RunningCluster, spec: ProcessSpec, clock: Clock) -> Path:
    """Write the kubeconfig of a process, whose user may do everything; return its path."""
    directory = running.kubeconfig.parent
    certificates = Certificates(directory / _CERTIFICATES)
    client = issue_client_certificate(certificates, spec.user, (MASTERS,), now=clock.now())
    entries = KubeconfigEntries(running.name, running.url, certificates, client=client)
    path = directory / f"kubeconfig-{spec.name}"
    write_atomically(path, render_kubeconfig(entries))
    return path
