"""What breaks at the scheduler, the controller manager and the kubelets."""

import pytest

from mockkube.proposals.placement_impact import PlacementImpact

NUMERIC = "TaintTolerationComparisonOperators"
SEMVER = "TaintTolerationNodeAffinitySemverComparisonOperators"
CEL = "TaintTolerationCEL"
SCHEDULER, MANAGER, KUBELET = "kube-scheduler", "kube-controller-manager", "kubelet"
GT = {"key": "sla", "operator": "Gt", "value": "900", "effect": "NoExecute"}
FROM, BY = (f"{word} a node with such a NoExecute taint" for word in ("from", "by"))
NODES = {"n1": [{"key": "sla", "value": "950", "effect": "NoExecute"}], "n2": []}


@pytest.fixture
def told(view):
    def ask(component, obj, *, gate=NUMERIC, to=None, nodes=None):
        before, after = view(**{gate: True}), view(to) if to else view()
        return [
            (one.field, one.reason) for one in PlacementImpact(component, before, after, nodes or {}).find_impact(obj)
        ]

    return ask


def terms(operator="SemverGt"):
    return [{"matchExpressions": [{"key": "v", "operator": operator, "values": ["1.2.3"]}]}]


def required(operator="SemverGt"):
    name = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"nodeAffinity": {name: {"nodeSelectorTerms": terms(operator)}}}


@pytest.mark.parametrize(
    ("component", "reason"),
    [
        pytest.param(MANAGER, "evicted immediately from n1, for its taint sla=950:NoExecute", id="controller manager"),
        pytest.param(KUBELET, "refused by n1 when the kubelet restarts, for its taint sla=950:NoExecute", id="kubelet"),
    ],
)
def test_a_running_pod_loses_the_node_whose_taint_it_no_longer_tolerates(told, pod, component, reason):
    running = pod(nodeName="n1", tolerations=[GT])
    assert told(component, running, nodes=NODES) == [("spec.tolerations[0]", f"operator Gt matches nothing: {reason}")]


@pytest.mark.parametrize("component", [SCHEDULER, MANAGER, KUBELET])
def test_a_running_pod_on_a_node_without_such_a_taint_stays(told, pod, component):
    assert told(component, pod(nodeName="n2", tolerations=[GT]), nodes=NODES) == []


def test_another_toleration_may_hold_the_pod(told, pod):
    held = pod(nodeName="n1", tolerations=[GT, {"key": "sla", "operator": "Exists"}])
    assert told(MANAGER, held, nodes=NODES) == []


def test_a_node_that_is_not_known_is_told_of_as_possible(told, pod):
    [(_, reason)] = told(MANAGER, pod(nodeName="n9", tolerations=[GT]), nodes=NODES)
    assert reason.endswith("evicted immediately from a node with such a NoExecute taint")


@pytest.mark.parametrize("component", [MANAGER, KUBELET])
def test_taints_that_evict_nobody_do_not_matter_to_who_evicts(told, pod, component):
    assert told(component, pod(nodeName="n9", tolerations=[{**GT, "effect": "NoSchedule"}])) == []


def test_a_pending_pod_stays_pending_and_the_closed_nodes_are_named(told, pod):
    [(_, reason)] = told(SCHEDULER, pod(tolerations=[GT]), nodes=NODES)
    assert reason.endswith("it stays Pending where only such nodes are left (n1)")


def test_a_preference_only_counts(told, pod):
    [(_, reason)] = told(SCHEDULER, pod(tolerations=[{**GT, "effect": "PreferNoSchedule"}]))
    assert reason.endswith("such taints count against a node")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_does_not_break(told, pod, phase):
    finished = {**pod(nodeName="n1", tolerations=[GT]), "status": {"phase": phase}}
    assert told(MANAGER, finished, nodes=NODES) == []


@pytest.mark.parametrize(
    ("component", "kind", "outcome"),
    [
        pytest.param(SCHEDULER, "Deployment", "its pods stay Pending where only such nodes are left", id="placed"),
        pytest.param(MANAGER, "Job", f"its pods are evicted immediately {FROM}", id="evicted"),
        pytest.param(KUBELET, "StatefulSet", f"its pods are refused {BY}", id="refused"),
        pytest.param(
            MANAGER,
            "DaemonSet",
            "nodes with such a taint get no daemon pod, and with NoExecute lose theirs",
            id="daemons",
        ),
    ],
)
def test_templates_tell_of_their_pods(told, workload, component, kind, outcome):
    assert told(component, workload(kind, tolerations=[GT])) == [
        ("spec.template.spec.tolerations[0]", f"operator Gt matches nothing: {outcome}")
    ]


def test_an_expression_matches_nothing_without_its_gate(told, pod):
    [(_, reason)] = told(SCHEDULER, pod(tolerations=[{"expression": "true"}]), gate=CEL)
    assert reason.startswith("expression matches nothing without TaintTolerationCEL: ")


def test_what_an_older_component_sees_of_an_expression_matches_other_taints(told, pod):
    [(_, reason)] = told(SCHEDULER, pod(tolerations=[{"expression": "true"}]), gate=CEL, to="1.34")
    assert reason.startswith(
        "1.34 does not know expression, and what is left, {}, tolerates every taint without a value"
    )


@pytest.mark.parametrize(
    ("component", "bound", "outcome"),
    [
        pytest.param(SCHEDULER, "", "it stays Pending unless another term fits", id="pending"),
        pytest.param(KUBELET, "n1", "refused by the kubelet, also when it restarts", id="running"),
    ],
)
def test_a_term_that_compares_versions_selects_nothing(told, pod, component, bound, outcome):
    spec = {"nodeName": bound} if bound else {}
    [(field, reason)] = told(component, pod(affinity=required(), **spec), gate=SEMVER)
    assert field.endswith("nodeSelectorTerms[0].matchExpressions[0]")
    assert reason == f"operator SemverGt selects no node: {outcome}"


@pytest.mark.parametrize(
    ("component", "bound"), [(SCHEDULER, "n1"), (KUBELET, ""), (MANAGER, "n1")], ids=["placed", "pending", "manager"]
)
def test_who_does_not_ask_for_the_term_is_not_hurt(told, pod, component, bound):
    spec = {"nodeName": bound} if bound else {}
    assert told(component, pod(affinity=required(), **spec), gate=SEMVER) == []


def test_released_operators_of_affinity_stay(told, pod):
    assert told(SCHEDULER, pod(affinity=required("In")), gate=SEMVER) == []


def test_a_preferred_term_is_ignored(told, pod):
    preferred = [{"weight": 5, "preference": terms()[0]}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    [(field, reason)] = told(SCHEDULER, pod(affinity=affinity), gate=SEMVER)
    assert field.endswith("[0].preference.matchExpressions[0]")
    assert reason.endswith("the preference is ignored")


@pytest.mark.parametrize(("component", "count"), [(SCHEDULER, 1), (MANAGER, 0), (KUBELET, 0)])
def test_a_volume_is_asked_about_when_its_pods_are_placed(told, component, count):
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms()}}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": spec}
    assert len(told(component, volume, gate=SEMVER)) == count


@pytest.mark.parametrize(
    ("component", "outcome"),
    [(SCHEDULER, "it has no effect"), (MANAGER, "the pods it makes lack it"), (KUBELET, "it has no effect")],
)
def test_a_field_that_an_older_component_does_not_know_is_passed_over(told, workload, component, outcome):
    deployment = workload("Deployment", hostnameOverride="h")
    assert told(component, deployment, to="1.33") == [
        ("spec.template.spec.hostnameOverride", f"1.33 does not know it: {outcome}")
    ]


def test_an_operator_that_was_off_before_does_not_break(view, pod):
    placement = PlacementImpact(SCHEDULER, view(), view("1.34"), {})
    assert list(placement.find_impact(pod(tolerations=[GT, {"expression": "true"}]))) == []
