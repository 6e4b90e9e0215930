"""What is remembered of evictions comes to the same as supposing all of them anew."""

from random import Random

import pytest

from mockkube.scheduler.preemption.candidates import Candidate
from mockkube.scheduler.preemption.dry_run import _DryRunCase

NAME = "default-scheduler"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NODES = 40
COLORS = ("red", "blue", "green")


def selector(color):
    return {"matchLabels": {"color": color}}


def spread(key):
    constraint = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": selector("blue")}]}


def apart(key, color, rule="podAntiAffinity"):
    term = {"topologyKey": key, "labelSelector": selector(color)}
    return {"affinity": {rule: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


WANTS = {
    "nothing special": {},
    "zones evenly": spread(ZONE),
    "hosts evenly": spread(HOST),
    "nobody red near": apart(HOST, "red"),
    "nobody green in the zone": apart(ZONE, "green"),
    "somebody red near": apart(ZONE, "red", "podAffinity"),
}


@pytest.fixture
def scheduler(schedulers, nodes):
    scheduler = schedulers()
    scheduler.nominator._pod_lister = lambda one: one
    for index in range(NODES):
        scheduler.cache.set_node(nodes(f"n{index}", labels={ZONE: f"z{index % 3}", HOST: f"n{index}"}))
    return scheduler


@pytest.fixture
def place(scheduler, pods):
    """Return what puts some pod on some node."""

    def place(random, name):
        wants = random.choice(({}, {}, {}, apart(HOST, random.choice(COLORS))))
        labels = {"color": random.choice(COLORS)} if random.random() < 0.5 else {}
        cpu, priority = random.choice(("1", "2", "500m")), random.choice((0, 1, 5, 9))
        pod = pods(name, cpu, labels=labels, priority=priority, **wants)
        scheduler.cache.assume_pod(pod, f"n{random.randrange(NODES)}")

    return place


@pytest.mark.parametrize("wanted", WANTS)
@pytest.mark.parametrize("seed", range(3))
def test_nodes_are_judged_as_if_nothing_were_remembered(scheduler, pods, place, wanted, seed):
    decider, random, kinds = scheduler.algorithms[NAME], Random(seed), set()
    preemption = decider.framework.profile.plugins["DefaultPreemption"]
    evictions, handle = preemption._dry_run, preemption._handle
    for number in range(60):
        place(random, f"old{number}")
    for number in range(8):
        pod, state = (
            pods(f"p{number}", "3", labels={"color": "blue"}, priority=5, **WANTS[wanted]),
            decider.new_cycle_state(),
        )
        decider.framework.run_pre_filters(state, pod)
        supposed = evictions.start(handle, state, pod)
        for name in (f"n{index}" for index in range(NODES)):
            if name not in supposed.cached:
                supposed.cached[name] = supposed.evaluate(name)
            outcome = supposed.cached[name]
            assert outcome == evictions._dry_run_node(_DryRunCase(handle, state, pod, handle.filters(state)), name)
            kinds.add(type(outcome) if isinstance(outcome, Candidate) else outcome.reasons)
        place(random, f"new{number}")
        scheduler.cache.remove_pod(f"old{number}")
        scheduler.nominator.add_nominated_pod(pod, f"n{random.randrange(NODES)}")
    assert len(kinds) > 2
