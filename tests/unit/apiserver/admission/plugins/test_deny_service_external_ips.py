import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs

PLUGIN = DenyServiceExternalIPs()


def service(*addresses):
    spec = {"ports": [{"port": 80}], "externalIPs": list(addresses)}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "ns"}, "spec": spec}


async def test_new_external_addresses_are_refused(world):
    for request in (world.creation(service("1.2.3.4")), world.update(service("1.2.3.4"), service("5.6.7.8"))):
        with pytest.raises(Forbidden, match="Use of external IPs is denied by admission control"):
            PLUGIN.validate(request)


async def test_those_a_service_has_may_stay_or_go(world):
    PLUGIN.validate(world.update(service("1.2.3.4"), service("1.2.3.4", "5.6.7.8")))
    PLUGIN.validate(world.creation(service()))
