import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.always_pull_images import AlwaysPullImages

PLUGIN = AlwaysPullImages()


def pod(image="i", volumes=()):
    container = {"name": "c", "image": image, "imagePullPolicy": "Never"}
    spec = {"containers": [container], "initContainers": [{**container, "name": "i"}], "volumes": list(volumes)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


async def test_every_image_is_pulled(world):
    request = world.creation(pod(volumes=[{"name": "v", "image": {"reference": "r", "pullPolicy": "Never"}}]))
    PLUGIN.admit(request)
    PLUGIN.validate(request)
    spec = request.new["spec"]
    policies = [one["imagePullPolicy"] for one in (*spec["containers"], *spec["initContainers"])]
    assert [*policies, spec["volumes"][0]["image"]["pullPolicy"]] == ["Always"] * 3


async def test_another_policy_is_refused(world):
    with pytest.raises(Forbidden) as caught:
        PLUGIN.validate(world.creation(pod()))
    assert caught.value.message == (
        'pods "p" is forbidden: spec.initContainers[0].imagePullPolicy: Unsupported value: "Never": '
        'supported values: "Always"'
    )


async def test_an_update_without_a_new_image_is_left_alone(world):
    request = world.update(pod(), pod())
    PLUGIN.admit(request)
    assert request.new["spec"]["containers"][0]["imagePullPolicy"] == "Never"
    request = world.update(pod("j"), pod())
    PLUGIN.admit(request)
    assert request.new["spec"]["containers"][0]["imagePullPolicy"] == "Always"
