import pytest

from mockkube.api.errors import Forbidden, Invalid
from mockkube.apiserver.admission.plugins.pod_security import PodSecurity

PLUGIN = PodSecurity()
PREFIX = "pod-security.kubernetes.io/"


def namespace(**labels):
    labels = {PREFIX + mode.replace("_", "-"): value for mode, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": labels}}


def pod(name="p", container=None, **spec):
    containers = [{"name": "c", "image": "i", **(container or {})}]
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


PRIVILEGED = {"securityContext": {"privileged": True}}
WHY = 'privileged (container "c" must not set securityContext.privileged=true)'


async def test_a_pod_below_the_enforced_level_is_refused(world):
    await world.put(namespace(enforce="baseline"))
    with pytest.raises(Forbidden) as caught:
        PLUGIN.validate(world.creation(pod(container=PRIVILEGED)))
    assert caught.value.message == f'pods "p" is forbidden: violates PodSecurity "baseline:latest": {WHY}'


async def test_a_pod_below_the_level_warned_of_is_admitted_with_a_warning(world):
    await world.put(namespace(warn="baseline", warn_version="v1.30"))
    request = world.creation(pod(container=PRIVILEGED))
    PLUGIN.validate(request)
    assert request.scope.warnings == [f'would violate PodSecurity "baseline:v1.30": {WHY}']


async def test_what_makes_pods_is_warned_of_by_the_enforced_level(world):
    await world.put(namespace(enforce="baseline"))
    selector = {"matchLabels": {"a": "b"}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(container=PRIVILEGED)["spec"]}
    request = world.creation(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "ns"},
            "spec": {"selector": selector, "template": template},
        }
    )
    PLUGIN.validate(request)
    assert request.scope.warnings == [f'would violate PodSecurity "baseline:latest": {WHY}']


async def test_an_update_without_a_new_image_is_not_judged(world):
    await world.put(namespace(enforce="baseline"))
    PLUGIN.validate(world.update(pod(container=PRIVILEGED), pod(container=PRIVILEGED)))
    with pytest.raises(Forbidden):
        PLUGIN.validate(world.update(pod(container={**PRIVILEGED, "image": "j"}), pod(container=PRIVILEGED)))


async def test_labels_that_make_no_sense_are_refused(world):
    with pytest.raises(Invalid) as caught:
        PLUGIN.validate(world.creation(namespace(enforce="strict", warn_version="1.30")))
    assert caught.value.message == (
        'Namespace "ns" is invalid: ['
        'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, '
        "baseline, restricted, "
        'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.30": must be "latest" or "v1.x"]'
    )


async def test_labels_that_made_no_sense_before_may_stay(world):
    PLUGIN.validate(world.update(namespace(enforce="strict"), namespace(enforce="strict")))


async def test_a_stricter_level_is_tried_on_the_pods_that_are_there(world):
    await world.put(*(pod(name, container=PRIVILEGED) for name in ("b", "a", "c")), pod("fine"))
    request = world.update(namespace(enforce="baseline"), namespace())
    PLUGIN.validate(request)
    assert request.scope.warnings == [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): privileged",
    ]


async def test_a_level_that_is_relaxed_is_not_tried(world):
    await world.put(pod(container=PRIVILEGED))
    request = world.update(namespace(enforce="baseline"), namespace(enforce="restricted"))
    PLUGIN.validate(request)
    assert request.scope.warnings == []
