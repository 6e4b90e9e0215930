import pytest

from mockkube.api.kinds.discovery import endpoint_slice
from mockkube.api.kinds.networking import ingress_class, network_policy
from mockkube.features.capabilities import Capabilities

CAPS = Capabilities()


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        pytest.param({}, ["Ingress"], id="no rules"),
        pytest.param({"egress": [{}]}, ["Ingress", "Egress"], id="a rule for what goes out"),
        pytest.param({"policyTypes": ["Egress"]}, ["Egress"], id="as was chosen"),
    ],
)
def test_a_policy_judges_what_it_has_rules_for(spec, types):
    obj = {"metadata": {}, "spec": spec}
    network_policy.default_network_policy(obj, CAPS)
    assert obj["spec"]["policyTypes"] == types


@pytest.mark.parametrize("direction", ["ingress", "egress"])
def test_ports_of_a_policy_speak_tcp(direction):
    ports = [{"port": 80}, {"port": 53, "protocol": "UDP"}]
    network_policy.default_network_policy({"metadata": {}, "spec": {direction: [{"ports": ports}, {}]}}, CAPS)
    assert [port["protocol"] for port in ports] == ["TCP", "UDP"]


@pytest.mark.parametrize(
    ("parameters", "scope"),
    [({"name": "p", "scope": None}, "Cluster"), ({"name": "p", "scope": "Namespace"}, "Namespace")],
)
def test_parameters_of_an_ingress_class_are_of_the_cluster(parameters, scope):
    ingress_class.default_ingress_class({"metadata": {}, "spec": {"parameters": parameters}}, CAPS)
    assert parameters["scope"] == scope


def test_ports_of_a_slice_are_named_and_speak_tcp():
    obj = {"metadata": {}, "endpoints": None, "ports": [{"port": 1}, {"name": "dns", "protocol": "UDP"}]}
    endpoint_slice.default_endpoint_slice(obj, CAPS)
    assert obj["ports"] == [{"port": 1, "name": "", "protocol": "TCP"}, {"name": "dns", "protocol": "UDP"}]


def test_a_slice_without_ports_has_none():
    obj = {"metadata": {}, "ports": None}
    endpoint_slice.default_endpoint_slice(obj, CAPS)
    assert obj["ports"] is None
