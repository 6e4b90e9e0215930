import pytest

from mockkube.api.kinds.core.service.service import default_service
from mockkube.features.capabilities import Capabilities


def defaulted(status=None, **spec):
    obj = {"metadata": {"name": "s"}, "spec": spec, "status": status or {"loadBalancer": {}}}
    default_service(obj, Capabilities())
    return obj


def test_a_service_is_for_the_cluster():
    assert defaulted(ports=[{"port": 80, "targetPort": 0}])["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
    }


@pytest.mark.parametrize(
    ("spec", "outside", "inside", "allocates"),
    [
        pytest.param({"type": "NodePort"}, "Cluster", "Cluster", None, id="on every node"),
        pytest.param({"type": "LoadBalancer"}, "Cluster", "Cluster", True, id="behind a load balancer"),
        pytest.param({"type": "ExternalName"}, None, None, None, id="a mere name"),
        pytest.param({"externalIPs": ["10.1.1.1"]}, "Cluster", "Cluster", None, id="at outer addresses"),
        pytest.param(
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "allocateLoadBalancerNodePorts": False},
            "Local",
            "Cluster",
            False,
            id="as was chosen",
        ),
    ],
)
def test_traffic_follows_the_type(spec, outside, inside, allocates):
    filled = defaulted(**spec)["spec"]
    assert filled.get("externalTrafficPolicy") == outside
    assert filled.get("internalTrafficPolicy") == inside
    assert filled.get("allocateLoadBalancerNodePorts") == allocates


@pytest.mark.parametrize(
    ("spec", "config"),
    [
        pytest.param({"sessionAffinity": "ClientIP"}, {"clientIP": {"timeoutSeconds": 10800}}, id="three hours"),
        pytest.param(
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
            {"clientIP": {"timeoutSeconds": 5}},
            id="as was chosen",
        ),
        pytest.param({"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}, None, id="of no use without"),
    ],
)
def test_affinity_has_a_time(spec, config):
    assert defaulted(**spec)["spec"].get("sessionAffinityConfig") == config


@pytest.mark.parametrize("target", ["web", 8080])
def test_a_target_that_was_chosen_stays(target):
    assert defaulted(ports=[{"port": 80, "targetPort": target}])["spec"]["ports"][0]["targetPort"] == target


def test_addresses_of_a_load_balancer_are_virtual():
    status = {"loadBalancer": {"ingress": [{"ip": "10.1.1.1"}, {"hostname": "lb"}, {"ip": "::1", "ipMode": "Proxy"}]}}
    ingress = defaulted(status, type="LoadBalancer")["status"]["loadBalancer"]["ingress"]
    assert [one.get("ipMode") for one in ingress] == ["VIP", None, "Proxy"]
