"""Objects of the example: a Deployment whose toleration needs a gate in several components, and its rollout plan."""

from typing import Any, Final

from mockkube.api.json_objects import Object

GATE: Final = "TaintTolerationComparisonOperators"
VERSION: Final = "1.36"
NODES: Final = 2
# KEP-5471 names the first two only.
ROLLOUT: Final = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
LAST: Final = ROLLOUT[-1]
BEFORE: Final = "kubelet"
APP: Final = "inference"
NAMESPACE: Final = "default"
TAINT: Final = {"key": "sla", "value": "950", "effect": "NoExecute"}
TOLERATION: Final = {"key": "sla", "operator": "Gt", "value": "900", "effect": "NoExecute"}


def make_deployment(replicas: int) -> Object:
    """Return the Deployment."""
    labels = {"app": APP}
    pod = {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "registry.example/inference:1"}],
        "tolerations": [TOLERATION],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": APP, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def make_plan_document() -> dict[str, Any]:
    """Return the rollout plan of which all orders are explored."""
    gates = {GATE: True}
    return {
        "apiVersion": "mockkube.dev/v1alpha1",
        "kind": "RolloutPlan",
        "metadata": {"name": "demo", "title": "Gt and Lt in tolerations, in three components", "kep": 5471},
        "spec": {
            "version": VERSION,
            "change": {component: {"gates": gates} for component in ROLLOUT},
            "nodes": [{"taints": [TAINT]}],
            "workload": [make_deployment(1)],
            "setup": [{"component": {"name": BEFORE, "featureGates": gates}}],
            "seconds": 2,
            "orders": [
                {
                    "name": "as the KEP says",
                    "phase": "up",
                    "order": list(ROLLOUT[:2]),
                    "claim": "safe",
                    "source": "KEP-5471, Upgrade / Downgrade Strategy",
                }
            ],
        },
    }
