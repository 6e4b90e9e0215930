import pytest

from mockkube.api.kinds.core.service.allocation import (
    NodePortRequest,
    init_ip_families_for_create,
    init_ip_families_for_update,
    needs_health_check_port,
    needs_node_ports,
    required_cluster_ips,
    required_node_ports,
)


def service(**spec):
    return {"metadata": {}, "spec": {"type": "ClusterIP", **spec}}


def test_a_new_service_gets_the_first_family_and_one_address():
    svc = service(selector={"a": "b"})
    assert init_ip_families_for_create(svc, ("IPv4",)) == []
    assert svc["spec"]["ipFamilies"] == ["IPv4"]
    assert svc["spec"]["ipFamilyPolicy"] == "SingleStack"
    assert required_cluster_ips(svc) == {"IPv4": ""}


def test_the_family_follows_from_the_address():
    svc = service(clusterIP="fd00::1")
    assert init_ip_families_for_create(svc, ("IPv4", "IPv6")) == []
    assert svc["spec"]["ipFamilies"] == ["IPv6"]
    assert required_cluster_ips(svc) == {"IPv6": "fd00::1"}


def test_a_headless_service_without_selector_is_for_both_families():
    svc = service(clusterIP="None")
    assert init_ip_families_for_create(svc, ("IPv4",)) == []
    assert svc["spec"]["ipFamilyPolicy"] == "RequireDualStack"
    assert svc["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    assert required_cluster_ips(svc) == {}


def test_two_families_need_a_cluster_of_two():
    svc = service(ipFamilyPolicy="RequireDualStack")
    (error,) = init_ip_families_for_create(svc, ("IPv4",))
    assert error.detail == "this cluster is not configured for dual-stack services"
    svc = service(ipFamilyPolicy="PreferDualStack")
    assert init_ip_families_for_create(svc, ("IPv4", "IPv6")) == []
    assert required_cluster_ips(svc) == {"IPv4": "", "IPv6": ""}


def test_an_update_takes_over_what_was_allocated():
    old = service(
        type="NodePort",
        clusterIP="10.0.0.1",
        clusterIPs=["10.0.0.1"],
        ipFamilies=["IPv4"],
        ipFamilyPolicy="SingleStack",
        ports=[{"name": "a", "port": 80, "nodePort": 30000}],
    )
    new = service(type="NodePort", ports=[{"name": "a", "port": 81}, {"name": "b", "port": 82}])
    assert init_ip_families_for_update(new, old, ("IPv4",)) == []
    assert new["spec"]["clusterIPs"] == ["10.0.0.1"]
    assert new["spec"]["ports"][0]["nodePort"] == 30000
    assert required_node_ports(new, old) == [NodePortRequest(1, 0)]
    assert required_cluster_ips(new, old) == {}


def test_the_second_address_goes_with_its_family():
    old = service(
        clusterIP="10.0.0.1",
        clusterIPs=["10.0.0.1", "fd00::1"],
        ipFamilies=["IPv4", "IPv6"],
        ipFamilyPolicy="PreferDualStack",
    )
    new = service(
        clusterIP="10.0.0.1",
        clusterIPs=["10.0.0.1", "fd00::1"],
        ipFamilies=["IPv4", "IPv6"],
        ipFamilyPolicy="SingleStack",
    )
    assert init_ip_families_for_update(new, old, ("IPv4", "IPv6")) == []
    assert new["spec"]["clusterIPs"] == ["10.0.0.1"]
    assert new["spec"]["ipFamilies"] == ["IPv4"]


@pytest.mark.parametrize(
    ("ports", "wanted"),
    [
        pytest.param([{"port": 80}], [NodePortRequest(0, 0)], id="any"),
        pytest.param([{"port": 80, "nodePort": 30000}], [NodePortRequest(0, 30000)], id="asked for"),
        pytest.param(
            [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP"}],
            [NodePortRequest(0, 0), NodePortRequest(1, 0, shared_with_index=0)],
            id="shared by protocols",
        ),
        pytest.param(
            [{"port": 80}, {"port": 80, "nodePort": 30000}], [NodePortRequest(0, 30000)], id="asked for by the second"
        ),
    ],
)
def test_ports_of_the_same_number_share_a_node_port(ports, wanted):
    assert required_node_ports(service(type="NodePort", ports=ports)) == wanted


def test_a_load_balancer_may_do_without_node_ports():
    svc = service(type="LoadBalancer", allocateLoadBalancerNodePorts=False, ports=[{"port": 80}])
    assert not needs_node_ports(svc)
    assert required_node_ports(svc) == []


def test_local_traffic_is_checked_on_a_port_of_its_own():
    assert needs_health_check_port(service(type="LoadBalancer", externalTrafficPolicy="Local"))
    assert not needs_health_check_port(service(type="NodePort", externalTrafficPolicy="Local"))
