"""Runbook: commands of an upgrade in a safe order, ready to paste, with what to watch after each."""

from collections.abc import Iterator
from itertools import count

from mockkube.features.components import API_SERVER, KUBELET
from mockkube.features.versions import Version
from mockkube.rehearse.rehearsal import Rehearsal
from mockkube.rehearse.upgrade_orders import UpgradeStep

_WATCH_PODS = "kubectl get pods -A --field-selector=status.phase!=Running,status.phase!=Succeeded"


def render_runbook(rehearsal: Rehearsal) -> str:
    """Return the runbook as a shell script; each part is pasted by hand."""
    return "\n".join([*_render(rehearsal), ""])


def _render(rehearsal: Rehearsal) -> Iterator[str]:
    yield f"# Upgrade from Kubernetes {rehearsal.before} to {rehearsal.after}"
    if rehearsal.safe_orders:
        way_back = "the way back, too" if rehearsal.safe_orders[0].is_reversible else "but not the way back"
        yield f"# This order was rehearsed, and is safe; {way_back}."
    elif rehearsal.results:
        yield "# No rehearsed order was safe: see the report before you begin."
    number = count(1)
    if breaks := rehearsal.breaks:
        yield ""
        yield f"# {next(number)}. Before the upgrade"
        for finding in breaks:
            yield f"#    {finding.text}: {finding.describe_objects()}"
            if finding.remedy:
                yield f"#    -> {finding.remedy}"
    yield ""
    yield f"# {next(number)}. Save the state"
    yield "ETCDCTL_API=3 etcdctl snapshot save before-upgrade.db"
    yield "kubectl get pods -A -o wide > pods-before.txt"
    if any(step.component != KUBELET for step in rehearsal.recommended):
        yield ""
        yield "# With kubeadm, 'kubeadm upgrade apply' does API server, controller manager and scheduler in one step."
    for step in rehearsal.recommended:
        yield ""
        yield f"# {next(number)}. {step}"
        yield from _render_kubelets(step) if step.component == KUBELET else _render_component(step, rehearsal)
    yield ""
    yield "# Afterwards"
    yield "kubectl get nodes"
    yield _WATCH_PODS
    yield ""
    yield "# The way back: the same steps from the last to the first, each to the version before it."


def _render_component(step: UpgradeStep, rehearsal: Rehearsal) -> Iterator[str]:
    binary, _, number = step.component.partition(".")
    servers = len({one.component for one in rehearsal.recommended if one.component.partition(".")[0] == API_SERVER})
    changed = int(number or 0) + 1 if binary == API_SERVER else max(servers, 1)
    server = f" (server {changed})" if number else ""
    nodes = "each node" if binary != API_SERVER and servers > 1 else "the node"
    manifest = f"/etc/kubernetes/manifests/{binary}.yaml"
    gates = ",".join(f"{gate}={str(on).lower()}" for gate, on in sorted(rehearsal.gates.get(binary, {}).items()))
    yield f"# on {nodes} of the control plane{server}"
    yield f"sudo sed -i -E 's#(image: .*/{binary}):v.*#\\1:v{step.version}.0#' {manifest}"
    if gates and step.version == rehearsal.after:
        yield f"sudo sed -i 's#- {binary}$#&\\n    - --feature-gates={gates}#' {manifest}"
    images = (
        f"kubectl -n kube-system get pods -l component={binary} -o jsonpath='{{.items[*].spec.containers[0].image}}'"
    )
    yield f"until [ $({images} | grep -o ':v{step.version}.0' | wc -l) -ge {changed} ]; do sleep 5; done"
    yield f"kubectl -n kube-system wait --for=condition=Ready pod -l component={binary} --timeout=5m"
    if binary == API_SERVER:
        yield "# watch: it answers, and nobody asks for APIs that go away"
        yield "kubectl get --raw '/readyz?verbose' | tail -1"
        yield "kubectl get --raw /metrics | grep ^apiserver_requested_deprecated_apis"
    else:
        yield "# watch: it holds its Lease, and no pod ends or stays pending"
        yield f"kubectl -n kube-system get lease {binary} -o jsonpath='{{.spec.holderIdentity}}{{\"\\n\"}}'"
        yield _WATCH_PODS


def _render_kubelets(step: UpgradeStep) -> Iterator[str]:
    yield f"for node in {' '.join(step.nodes)}; do"
    yield '  kubectl drain "$node" --ignore-daemonsets --delete-emptydir-data --timeout=5m || break'
    install = f"sudo apt-get install -y kubelet={_package(step.version)} && sudo systemctl restart kubelet"
    yield f"  ssh \"$node\" '{install}' || break"
    version = "kubectl get node \"$node\" -o jsonpath='{.status.nodeInfo.kubeletVersion}'"
    yield f"  until {version} | grep -q '^v{step.version.major}[.]{step.version.minor}[.]'; do sleep 5; done"
    yield '  kubectl wait --for=condition=Ready "node/$node" --timeout=5m && kubectl uncordon "$node" || break'
    yield "done"
    yield "# watch: budgets that allow nothing stop a drain; pods that stay pending found no node"
    yield "kubectl get pdb -A"
    yield _WATCH_PODS


def _package(version: Version) -> str:
    return f'"{version}.*"'
