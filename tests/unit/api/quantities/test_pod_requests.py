"""What pods ask for: containers, initialization, sidecars, overhead, the pod as a whole, resizes."""

import pytest

from mockkube.api.quantities.pod_requests import PodResourcesOptions, calculate_nonzero_requests, calculate_pod_requests
from mockkube.api.quantities.resources import Resources

RULES = PodResourcesOptions()
MEBI = 1024 * 1024


def asks(name="c", *, sidecar=False, **amounts):
    container = {"name": name, "resources": {"requests": amounts} if amounts else {}}
    return {**container, "restartPolicy": "Always"} if sidecar else container


def pod(*containers, init=(), status=None, **spec):
    return {"spec": {"containers": list(containers), "initContainers": list(init), **spec}, "status": status or {}}


@pytest.mark.parametrize(
    ("given", "cpu_milli", "memory"),
    [
        pytest.param(pod(asks(cpu="1", memory="1Gi"), asks(cpu="500m")), 1500, 1024 * MEBI, id="containers add up"),
        pytest.param(pod(asks(cpu="1"), init=[asks(cpu="3")]), 3000, 0, id="the greediest initialization counts"),
        pytest.param(
            pod(asks(cpu="1"), init=[asks("s", sidecar=True, cpu="1"), asks(cpu="2")]),
            3000,
            0,
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            pod(asks(cpu="1"), init=[asks(cpu="2"), asks("s", sidecar=True, cpu="1")]),
            2000,
            0,
            id="a later sidecar is not there yet",
        ),
        pytest.param(pod(asks(cpu="1"), overhead={"cpu": "100m", "memory": "5Mi"}), 1100, 5 * MEBI, id="overhead"),
        pytest.param(
            pod(asks(cpu="1", memory="1Mi"), resources={"requests": {"cpu": "4"}}), 4000, MEBI, id="pod level replaces"
        ),
        pytest.param(pod(asks(cpu="400u"), asks(cpu="400u")), 1, 0, id="the sum is rounded up, not its parts"),
    ],
)
def test_requests_of_a_pod(given, cpu_milli, memory):
    found = calculate_pod_requests(given, RULES)
    assert (found.cpu_milli, found.memory) == (cpu_milli, memory)


def test_pod_level_requests_do_not_count_without_the_gate():
    given = pod(asks(cpu="1"), resources={"requests": {"cpu": "4"}})
    assert calculate_pod_requests(given, PodResourcesOptions(use_pod_level=False)).cpu_milli == 1000


RESIZING = {
    "containerStatuses": [
        {"name": "c", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}},
    ]
}


@pytest.mark.parametrize(
    ("asked", "status", "rules", "cpu_milli"),
    [
        pytest.param("1", RESIZING, RULES, 3000, id="what is in use counts while it shrinks"),
        pytest.param("5", RESIZING, RULES, 5000, id="what is wanted counts while it grows"),
        pytest.param(
            "5",
            {**RESIZING, "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]},
            RULES,
            3000,
            id="what cannot be had does not count",
        ),
        pytest.param("1", RESIZING, PodResourcesOptions(use_status=False), 1000, id="without the gate the spec alone"),
    ],
)
def test_a_resize_counts_the_greatest_amount(asked, status, rules, cpu_milli):
    assert calculate_pod_requests(pod(asks(cpu=asked), status=status), rules).cpu_milli == cpu_milli


@pytest.mark.parametrize(
    ("given", "cpu_milli", "memory"),
    [
        pytest.param(pod(asks(), asks(cpu="1")), 1100, 400 * MEBI, id="each container counts a little"),
        pytest.param(pod(asks(cpu="0")), 0, 200 * MEBI, id="an explicit zero stays"),
        pytest.param(
            pod(asks(), asks(), resources={"requests": {"cpu": "2"}}), 2000, 400 * MEBI, id="unless the pod states it"
        ),
    ],
)
def test_a_little_is_counted_for_who_asks_for_nothing(given, cpu_milli, memory):
    assert calculate_nonzero_requests(given, RULES) == Resources(cpu_milli=cpu_milli, memory=memory)
