import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.always_deny import AlwaysDeny


async def test_everything_is_refused(world):
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}
    for request in (world.creation(config_map), world.update(config_map, config_map), world.deletion(config_map)):
        with pytest.raises(Forbidden) as caught:
            AlwaysDeny().admit(request)
        assert caught.value.message == ('configmaps "a" is forbidden: admission control is denying all modifications')
