"""A small exploration that reports are made of, played once."""

import pytest

from mockkube.explore.exploration import Exploration, explore_plan
from mockkube.explore.plans.loading import parse
from mockkube.explore.players import SequentialPlayer

GATE = "TaintTolerationComparisonOperators"
PLAN = f"""\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {{name: small, title: A <small> rollout, source: KEP-1, notes: [The KEP is silent about the rest.]}}
spec:
  change:
    kube-apiserver: {{gates: {{{GATE}: true}}}}
    kube-controller-manager: {{gates: {{{GATE}: true}}}}
  nodes:
    - taints: [{{key: sla, value: "950", effect: NoExecute}}]
  workload:
    - apiVersion: apps/v1
      kind: ReplicaSet
      metadata: {{name: web}}
      spec:
        replicas: 1
        selector: {{matchLabels: {{app: web}}}}
        template:
          metadata: {{labels: {{app: web}}}}
          spec:
            terminationGracePeriodSeconds: 0
            containers: [{{name: main, image: i}}]
            tolerations: [{{key: sla, operator: Gt, value: "900", effect: NoExecute}}]
  setup:
    - component: {{name: kubelet, featureGates: {{{GATE}: true}}}}
    - component: {{name: kube-scheduler, featureGates: {{{GATE}: true}}}}
  disturbances:
    - name: a pod goes
      do: [{{delete: {{ref: {{kind: Pod, labels: {{app: web}}}}, wait: false}}}}]
  orders:
    - {{name: as written, phase: up, order: [kube-apiserver], claim: safe}}
    - name: prepared
      phase: down
      order: [kube-apiserver]
      claim: safe
      prepare:
        - patch:
            ref: ReplicaSet/web
            patch:
              spec: {{template: {{spec: {{tolerations: [{{key: sla, operator: Exists, effect: NoExecute}}]}}}}}}
        - delete: {{ref: {{kind: Pod, labels: {{app: web}}}}, wait: false}}
  creationsMax: 4
  seconds: 3
"""


@pytest.fixture(scope="session")
def explored() -> Exploration:
    plan = parse(PLAN)
    return explore_plan(plan, SequentialPlayer(plan))
