"""Gates of three components in every combination: what was recorded from real components of 1.36, KEP-5471."""

import pytest

from mockkube.explore.path_runner import PathRunner
from mockkube.explore.plans.loading import parse
from mockkube.explore.plans.orders import ChangeMove, DisturbanceMove
from mockkube.explore.plans.plan import Direction

GATE = "TaintTolerationComparisonOperators"
PLAN = f"""\
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {{name: matrix}}
spec:
  change:
    kube-apiserver: &on {{gates: {{{GATE}: true}}}}
    kube-scheduler: *on
    kube-controller-manager: *on
    kubelet: *on
  nodes:
    - taints: [{{key: sla, value: "950", effect: NoSchedule}}]
    - taints: [{{key: sla, value: "800", effect: NoSchedule}}]
  workload:
    - apiVersion: v1
      kind: Pod
      metadata: {{name: running}}
      spec: &covered
        terminationGracePeriodSeconds: 0
        nodeSelector: {{kubernetes.io/hostname: node-1}}
        containers: [{{name: main, image: i}}]
        tolerations: [{{key: sla, operator: Gt, value: "900"}}]
    - apiVersion: v1
      kind: Pod
      metadata: {{name: waiting}}
      spec:
        terminationGracePeriodSeconds: 0
        nodeSelector: {{kubernetes.io/hostname: node-2}}
        containers: [{{name: main, image: i}}]
        tolerations: [{{key: sla, operator: Gt, value: "900"}}]
  disturbances:
    - name: the taint of the running pod becomes NoExecute
      when: once
      do: [taint: "node-1 sla=950:NoExecute"]
    - name: the other node becomes good enough
      when: once
      do: [taint: "node-2 sla=950:NoSchedule"]
    - name: a new pod is made
      when: once
      do:
        - create:
            apiVersion: v1
            kind: Pod
            metadata: {{name: new}}
            spec: *covered
  seconds: 2
"""
UP = ("kubelet", "kube-controller-manager", "kube-scheduler", "kube-apiserver")


@pytest.mark.parametrize("server", [True, False], ids=["server on", "server off"])
@pytest.mark.parametrize("scheduler", [True, False], ids=["scheduler on", "scheduler off"])
@pytest.mark.parametrize("controllers", [True, False], ids=["controllers on", "controllers off"])
async def test_each_component_decides_for_itself(*, server: bool, scheduler: bool, controllers: bool) -> None:
    on = {"kube-apiserver": server, "kube-scheduler": scheduler, "kube-controller-manager": controllers}
    plan = parse(PLAN)
    evicting, fitting, making = (DisturbanceMove(Direction.DOWN, one.name) for one in plan.disturbances)
    async with PathRunner(plan) as journey:
        for component in UP:
            await journey.make_move(ChangeMove(Direction.UP, component))
        for component in (name for name, stays in on.items() if not stays):
            await journey.make_move(ChangeMove(Direction.DOWN, component))
        refused = await _refused(journey, making)
        evicted = (await journey.make_move(evicting)).harm.evicted
        bound = (await journey.make_move(fitting)).harm.stuck == (not refused and not scheduler)
    assert refused is not server
    assert evicted == (0 if controllers else 1 + (server and scheduler))
    assert bound is scheduler


async def _refused(journey: PathRunner, making: DisturbanceMove) -> bool:
    await journey.make_move(making)
    return any("supported values" in text for text in journey.records[-1].refused)
