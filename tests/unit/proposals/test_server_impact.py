"""What breaks at an API server: whatever the gate, whatever the kind."""

import pytest

from mockkube.api.catalogue import POD_SPEC_PATHS
from mockkube.proposals.server_impact import find_server_impact, unique_findings

NUMERIC = "TaintTolerationComparisonOperators"
SEMVER = "TaintTolerationNodeAffinitySemverComparisonOperators"
CEL = "TaintTolerationCEL"
GT = {"key": "sla", "operator": "Gt", "value": "900", "effect": "NoExecute"}
REFUSED = 'Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'
OLDER = 'Unsupported value: "Gt": supported values: "Equal", "Exists"'


def told(obj, before, after):
    return [(one.field, one.reason) for one in unique_findings(find_server_impact(obj, before, after))]


def test_a_pod_that_uses_a_gate_cannot_come_again_without_it(pod, view):
    assert told(pod(tolerations=[GT]), view(**{NUMERIC: True}), view()) == [
        ("spec.tolerations[0].operator", f"a new one like it is refused: {REFUSED}")
    ]


def test_at_a_version_before_the_operator_nothing_of_it_can_be_changed(pod, view):
    assert told(pod(tolerations=[GT]), view(**{NUMERIC: True}), view("1.34")) == [
        ("spec.tolerations[0].operator", f"every update except of the status is rejected: {OLDER}")
    ]


@pytest.mark.parametrize("kind", [kind for kind in POD_SPEC_PATHS if kind != "Pod"])
def test_templates_of_every_workload_are_looked_into(workload, view, kind):
    [(field, reason)] = told(workload(kind, tolerations=[GT]), view(**{NUMERIC: True}), view())
    assert field == ".".join((*POD_SPEC_PATHS[kind], "tolerations[0].operator"))
    assert reason == f"new pods of it are refused: {REFUSED}"


def test_what_does_not_use_the_gate_does_not_break(pod, workload, view):
    before, after = view(**{NUMERIC: True}), view()
    plain = {"key": "sla", "operator": "Exists"}
    assert told(pod(tolerations=[plain]), before, after) == []
    assert told(workload("Deployment"), before, after) == []


def test_what_was_wrong_before_is_no_news(pod, view):
    broken = pod(tolerations=[{"key": "no key", "operator": "Exists"}, GT])
    assert [field for field, _ in told(broken, view(**{NUMERIC: True}), view())] == ["spec.tolerations[1].operator"]


def test_a_field_that_the_older_version_does_not_know_is_lost(pod, view):
    lost, left = told(pod(tolerations=[{"expression": "taint.key == 'a'"}]), view(**{CEL: True}), view("1.34"))
    assert lost == ("spec.tolerations[0].expression", "1.34 does not know it: lost with the next write")
    assert left[0] == "spec.tolerations[0].operator"
    assert left[1].startswith("every update except of the status is rejected: ")


def test_a_field_whose_gate_goes_off_is_dropped_from_new_objects(workload, view):
    deployment = workload("Deployment", hostnameOverride="h")
    assert told(deployment, view(), view(HostnameOverride=False)) == [
        (
            "spec.template.spec.hostnameOverride",
            "silently dropped from new objects; stored objects keep it",
        )
    ]


def volume():
    terms = [{"matchExpressions": [{"key": "kernel", "operator": "SemverGt", "values": ["5.10.0"]}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": spec}


def test_volumes_are_looked_into(view):
    assert told(volume(), view(**{SEMVER: True}), view()) == [
        (
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator",
            'a new one like it is refused: Invalid value: "SemverGt": not a valid selector operator',
        )
    ]


def test_an_older_server_lets_nobody_change_the_volume(view):
    [(_, reason)] = told(volume(), view(**{SEMVER: True}), view("1.34"))
    assert reason.startswith("every update except of the status is rejected: ")


def test_claims_are_looked_into(view):
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s", "namespace": "other"}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "dataSourceRef": source,
    }
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": spec}
    assert told(claim, view(CrossNamespaceVolumeDataSource=True), view()) == [
        ("spec.dataSourceRef", "silently dropped from new objects; stored objects keep it")
    ]


def test_a_kind_that_the_older_version_does_not_serve_is_gone(view):
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {}}
    assert told(claim, view(), view("1.33")) == [("", "1.33 does not serve resource.k8s.io/v1 ResourceClaim")]


def test_a_custom_resource_is_passed_over(view):
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert told(obj, view(), view("1.33")) == []


def test_a_finding_names_the_object(pod, view):
    [found] = unique_findings(find_server_impact(pod("web", tolerations=[GT]), view(**{NUMERIC: True}), view()))
    assert (found.component, found.kind, found.namespace, found.name) == ("kube-apiserver", "Pod", "default", "web")
