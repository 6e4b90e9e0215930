import json

import pytest

from mockkube.api.errors import ApiError
from mockkube.apiserver.admission.plugins.pod_toleration_restriction import (
    ALLOWED_TOLERATIONS_ANNOTATION,
    DEFAULT_TOLERATIONS_ANNOTATION,
    PodTolerationRestriction,
)

PLUGIN = PodTolerationRestriction()
A = {"key": "a", "operator": "Exists"}
B = {"key": "b", "operator": "Exists"}
MEMORY = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


def namespace(**lists):
    annotations = {
        {"defaults": DEFAULT_TOLERATIONS_ANNOTATION, "allowed": ALLOWED_TOLERATIONS_ANNOTATION}[name]: json.dumps(value)
        for name, value in lists.items()
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "annotations": annotations}}


def pod(*tolerations, **resources):
    container = {"name": "c", "image": "i", "resources": resources}
    spec = {"containers": [container], "tolerations": list(tolerations)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


async def test_a_new_pod_gets_the_tolerations_of_its_namespace(world):
    await world.put(namespace(defaults=[A]))
    request = world.creation(pod(B))
    PLUGIN.admit(request)
    assert request.new["spec"]["tolerations"] == [B, A]


async def test_a_pod_that_asks_for_resources_stays_under_memory_pressure(world):
    await world.put(namespace())
    request = world.creation(pod(requests={"cpu": "1"}))
    PLUGIN.admit(request)
    assert request.new["spec"]["tolerations"] == [MEMORY]


async def test_what_the_namespace_does_not_allow_is_refused(world):
    await world.put(namespace(allowed=[A]))
    PLUGIN.admit(world.creation(pod(A)))
    with pytest.raises(ApiError, match="conflict with its namespace whitelist"):
        PLUGIN.admit(world.creation(pod(A, B)))
